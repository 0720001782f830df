#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""command_test.py FURROW PUT_FILES SCHEMA_DIRECTORY: the furrow command on real (emulated) devices: exit codes, messages, reports.

Whatever only looks, or refuses, must leave its target identical to the byte.
"""

import base64
import hashlib
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import report_schemas

FURROW = sys.argv.pop(1)
PUT_FILES = sys.argv.pop(1)
SCHEMAS = pathlib.Path(sys.argv.pop(1))
SHAPE = ["--zones=20", "--zone-size=4MiB"]
READING = ["info", "df", "ls", "zones", "map"]


def fingerprint(path):
    """Names, kinds, sizes and contents of all that is below `path`."""
    found = hashlib.sha256()
    for entry in [path, *sorted(path.rglob("*"))]:
        if not entry.exists():
            continue
        found.update(f"{entry.relative_to(path)} {entry.stat().st_mode:o} {entry.stat().st_mtime_ns}\n".encode())
        if entry.is_file():
            found.update(entry.read_bytes())
    return found.hexdigest()


def table_bytes():
    return bytes(i * 31 % 251 for i in range(251)) * (3000000 // 251 + 1)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="furrow-command-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.device = self.root / "zones"
        self.uri = f"furrow://dir:{self.device}"

    def run_furrow(self, *words, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("FURROW_", "LC_", "COLUMNS"))}
        env.update({"LANG": "C.UTF-8", **environment})
        return subprocess.run([FURROW, *words], capture_output=True, stdin=subprocess.DEVNULL, env=env, check=False)

    def expect(self, code, *words, message="", **environment):
        """Runs the command; an error has nothing on standard output, and names what `message` says."""
        done = self.run_furrow(*words, **environment)
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr.decode(errors='replace')}")
        if code != 0:
            self.assertEqual(b"", done.stdout)
            self.assertIn("furrow", done.stderr.decode())
        self.assertIn(message, done.stderr.decode(errors="replace"))
        return done

    def expect_untouched(self, code, *words, message="", **environment):
        before = fingerprint(self.root)
        done = self.expect(code, *words, message=message, **environment)
        self.assertEqual(before, fingerprint(self.root), f"{words} changed its target")
        return done

    def mkfs(self, *flags):
        return self.expect(0, "mkfs", self.uri, *SHAPE, *flags)

    def put_files(self):
        subprocess.run([PUT_FILES, self.uri], check=True)

    def json_of(self, name, *words):
        report = json.loads(self.expect_untouched(0, name, *words, "--format=json").stdout)
        report_schemas.check(report, name, SCHEMAS)
        return report


class UsageTest(CommandTest):
    def test_words_that_are_wrong(self):
        for words, message in [
            ([], "mkfs"),
            (["zone"], "did you mean 'zones'?"),
            (["df"], "FURROW_URI"),
            (["df", "dir:/x"], "furrow://"),
            (["df", "furrow://tape:x"], "tape"),
            (["df", self.uri, "--zones=3"], "'furrow mkfs'"),
            (["df", self.uri, "--format=xml"], "text or json"),
            (["df", self.uri + "?buffer=much"], "buffer"),
            (["df", self.uri + "?colour=red"], "colour"),
            (["stat", self.uri], "PATH"),
            (["help", "nothing"], "nothing"),
        ]:
            with self.subTest(words=words):
                self.expect_untouched(2, *words, message=message)

    def test_help_and_version(self):
        for words in (["help"], ["--help"], ["help", "mkfs"], ["df", "--help"], ["--version"], ["version"]):
            with self.subTest(words=words):
                done = self.expect_untouched(0, *words)
                self.assertNotEqual(b"", done.stdout)
                self.assertEqual(b"", done.stderr)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FURROW, "help"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn(b"standard output", done.stderr)


class TargetTest(CommandTest):
    def test_nothing_there(self):
        for command in [*READING, "check"]:
            with self.subTest(command=command):
                self.expect_untouched(3, command, self.uri, message="mkfs")

    def test_a_directory_that_is_no_furrow(self):
        self.device.mkdir()
        (self.device / "file").write_text("mine")
        for command in [*READING, "check"]:
            with self.subTest(command=command):
                self.expect_untouched(3, command, self.uri, message=str(self.device))

    def test_a_file(self):
        self.device.write_text("mine")
        self.expect_untouched(3, "df", self.uri, message="not a directory")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_no_permission(self):
        self.mkfs()
        self.device.chmod(0)
        self.addCleanup(self.device.chmod, 0o700)
        self.expect(3, "df", self.uri, message=str(self.device))

    def test_a_damaged_geometry(self):
        self.mkfs()
        geometry = self.device / "furrow.geometry"
        geometry.write_bytes(geometry.read_bytes().replace(b"4194304", b"4194305"))
        self.expect_untouched(5, "df", self.uri, message="furrow.geometry")

    def test_damaged_superblocks(self):
        self.mkfs()
        for zone in ("000000", "000001"):
            path = self.device / "zones" / zone
            path.write_bytes(b"\xaa" * max(8192, path.stat().st_size))
        done = self.run_furrow("df", self.uri)
        self.assertIn(done.returncode, (3, 5), done.stderr)

    def test_a_missing_zone_file(self):
        self.mkfs()
        (self.device / "zones" / "000007").unlink()
        self.expect_untouched(5, "df", self.uri, message="000007")

    def test_files_that_are_not_there(self):
        self.mkfs()
        for command in ("ls", "stat", "cat"):
            with self.subTest(command=command):
                self.expect_untouched(3, command, self.uri, "/nothing", message="nothing")


class MkfsTest(CommandTest):
    def test_makes_a_device_and_says_its_plan(self):
        done = self.mkfs("--label=bench", "--zone-capacity=3MiB", "--max-open=5", "--max-active=6")
        self.assertEqual(b"", done.stdout)
        self.assertIn(b"20 of 4 MiB", done.stderr)
        info = self.json_of("info", self.uri)
        self.assertEqual("bench", info["label"])
        self.assertEqual(20, info["zone_count"])
        self.assertEqual(4 << 20, info["zone_size_bytes"])
        self.assertEqual(3 << 20, info["zone_capacity_bytes"])
        self.assertEqual(5, info["max_open_zones"])
        self.assertEqual(6, info["max_active_zones"])
        self.put_files()
        after = self.json_of("info", self.uri)
        self.assertTrue(after["clean"])
        self.assertGreater(after["mount_epoch"], info["mount_epoch"])

    def test_refuses_what_cannot_work(self):
        for flags, message in [
            (["--zones=0"], "1 to 1,000,000"),
            (["--zones=5"], "at least"),
            (["--zones=20", "--zone-size=5000"], "multiple"),
            (["--zones=20", "--zone-size=8EiB"], "64MiB"),
            (["--zones=20", "--zone-size=2TiB"], "1 TiB"),
            (["--zones=20", "--zone-size=4MiB", "--zone-capacity=5MiB"], "at most the zone size"),
            (["--zones=20", "--block-size=1000"], "power of two"),
            (["--zones=20", "--max-active=3"], "at least 4"),
            (["--zones=20", "--max-open=9", "--max-active=8"], "active"),
            (["--zones=20", "--label=" + 65 * "x"], "64 bytes"),
        ]:
            with self.subTest(flags=flags):
                self.expect_untouched(2, "mkfs", self.uri, *flags, message=message)

    def test_refuses_other_kinds(self):
        self.expect(2, "mkfs", "furrow://mem:x", message="process")
        self.expect(2, "mkfs", "furrow://dev:nothing", "--zones=20", message="--zones")

    def test_leaves_foreign_files_alone(self):
        self.device.mkdir()
        (self.device / "file").write_text("mine")
        for flags in ([], ["--force", "--yes"]):
            with self.subTest(flags=flags):
                self.expect_untouched(2, "mkfs", self.uri, *SHAPE, *flags, message="file")

    def test_needs_a_parent(self):
        self.expect_untouched(3, "mkfs", f"furrow://dir:{self.root}/a/b", *SHAPE, message="parent")

    def test_a_second_time(self):
        self.mkfs()
        self.expect_untouched(4, "mkfs", self.uri, *SHAPE, message="--force")
        self.expect_untouched(4, "mkfs", self.uri, *SHAPE, "--yes", message="--force")
        self.expect_untouched(2, "mkfs", self.uri, *SHAPE, "--force", message="--yes")
        before = self.json_of("info", self.uri)["uuid"]
        self.mkfs("--force", "--yes")
        self.assertNotEqual(before, self.json_of("info", self.uri)["uuid"])

    def test_a_damaged_one_counts_as_one(self):
        self.mkfs()
        geometry = self.device / "furrow.geometry"
        geometry.write_bytes(geometry.read_bytes().replace(b"4194304", b"4194305"))
        self.expect_untouched(4, "mkfs", self.uri, *SHAPE, message="--force")

    def test_dry_run(self):
        self.expect_untouched(0, "mkfs", self.uri, *SHAPE, "--dry-run", message="nothing was written")
        self.mkfs()
        self.expect_untouched(4, "mkfs", self.uri, *SHAPE, "--dry-run", message="--force")
        self.expect_untouched(0, "mkfs", self.uri, *SHAPE, "--dry-run", "--force", message="ALL ITS DATA IS LOST")

    def on_a_terminal(self, answer):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "wb", buffering=0) as keyboard:
            process = subprocess.Popen([FURROW, "mkfs", self.uri, *SHAPE, "--force"], stdin=theirs, stderr=subprocess.PIPE)
            os.close(theirs)
            keyboard.write(answer)
            _, err = process.communicate(timeout=60)
        return process.returncode, err.decode()

    def test_asks_on_a_terminal(self):
        self.mkfs()
        before = fingerprint(self.root)
        code, err = self.on_a_terminal(b"no\n")
        self.assertEqual(1, code)
        self.assertIn("Destroy all data", err)
        self.assertEqual(before, fingerprint(self.root))
        code, err = self.on_a_terminal(b"yes\n")
        self.assertEqual(0, code, err)
        self.assertNotEqual(before, fingerprint(self.root))

    def test_never_below_a_mount(self):
        self.mkfs()
        with subprocess.Popen([PUT_FILES, "--hold", self.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            self.assertEqual(b"mounted\n", holder.stdout.readline())
            self.expect(4, "mkfs", self.uri, *SHAPE, "--force", "--yes", message=str(holder.pid))
            holder.communicate(timeout=60)
        self.assertEqual(0, holder.returncode)
        self.expect_untouched(0, "df", self.uri)


class ReportTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.mkfs()
        self.put_files()

    def test_reading_changes_nothing(self):
        for words in [*[[c] for c in READING], ["ls", "/db", "-l"], ["zones", "--files", "--all"], ["stat", "/db/000001.sst"],
                      ["cat", "/db/000001.sst"]]:
            with self.subTest(words=words):
                done = self.expect_untouched(0, words[0], self.uri, *words[1:])
                self.assertNotEqual(b"", done.stdout)
                self.assertEqual(b"", done.stderr)

    def test_cat_gives_the_bytes(self):
        self.assertEqual(table_bytes()[:3000000], self.expect(0, "cat", self.uri, "/db/000001.sst").stdout)
        self.assertEqual(10000 * b"w", self.expect(0, "cat", self.uri, "/db/000002.log").stdout)
        self.assertEqual(b"MANIFEST-000001\n", self.expect(0, "cat", self.uri, "db/CURRENT").stdout)
        self.assertEqual(b"odd", self.expect(0, "cat", self.uri, b'/db/a\n"b" \xc3\xbc\xff').stdout)

    def test_default_uri(self):
        self.assertEqual(b"MANIFEST-000001\n", self.expect(0, "cat", "/db/CURRENT", FURROW_URI=self.uri).stdout)

    def test_df_adds_up(self):
        df = self.json_of("df", self.uri)
        parts = df["live_bytes"] + df["stale_bytes"] + df["unusable_bytes"] + df["free_bytes"]
        self.assertEqual(df["capacity_bytes"], parts)
        self.assertEqual(20 * (4 << 20), df["capacity_bytes"])
        self.assertGreaterEqual(df["live_bytes"], 3010019)
        self.assertLess(df["writable_bytes"], df["free_bytes"])
        self.assertEqual(3010019, df["host_bytes_written"])
        self.assertEqual(0, df["staged_bytes"])
        self.assertEqual(4, df["files"])
        terms = ("padding_bytes_written", "metadata_bytes_written", "gc_bytes_copied", "finish_padding_bytes", "sync_padding_bytes")
        wanted = df["host_bytes_written"] - df["absorbed_bytes"] - df["staged_bytes"]
        self.assertEqual(df["device_bytes_written"], wanted + sum(df[t] for t in terms))
        self.assertAlmostEqual(df["write_factor"], (df["device_bytes_written"] - df["sync_padding_bytes"]) / wanted)

    def test_zones_and_files_agree(self):
        zones = self.json_of("zones", self.uri)["zones"]
        self.assertEqual(list(range(20)), [z["zone"] for z in zones])
        self.assertEqual([z * (4 << 20) for z in range(20)], [z["start_bytes"] for z in zones])
        for z in zones:
            self.assertLessEqual(z["live_bytes"] + z["stale_bytes"], z["capacity_bytes"])
        stat = self.json_of("stat", self.uri, "/db/000001.sst")
        self.assertEqual(3000000, stat["size_bytes"])
        self.assertEqual(3000000, sum(e["length_bytes"] for e in stat["extents"]))
        holders = {z["zone"] for z in zones for f in z["files"] if f["path"] == "/db/000001.sst"}
        self.assertEqual({e["zone"] for e in stat["extents"]}, holders)
        for zone in holders:
            self.assertEqual("bulk", zones[zone]["role"])
        live = self.json_of("df", self.uri)["live_bytes"]
        self.assertEqual(live, sum(z["live_bytes"] for z in zones))
        self.assertEqual(live, sum(c["live_bytes"] for c in self.json_of("map", self.uri)["cells"]))

    def test_listing(self):
        files = self.json_of("ls", self.uri, "-R")["files"]
        paths = [f["path"] for f in files]
        self.assertEqual(["/db", "/db/000001.sst", "/db/000002.log", "/db/CURRENT", '/db/a\n"b" \u00fc\ufffd'], paths)
        text = self.expect(0, "ls", self.uri, "/db").stdout.decode()
        self.assertEqual('000001.sst\n000002.log\nCURRENT\na\\n"b" \u00fc\\xff\n', text)
        self.assertEqual("000001.sst\n", self.expect(0, "ls", self.uri, "/db/000001.sst").stdout.decode())

    def test_stat_of_a_directory(self):
        self.assertTrue(self.json_of("stat", self.uri, "/db")["is_directory"])
        self.expect(0, "stat", self.uri, "/db")
        self.assertNotEqual(0, self.run_furrow("cat", self.uri, "/db").returncode)

    def test_drawing(self):
        plain = self.expect(0, "map", self.uri).stdout
        self.assertNotIn(b"\x1b", plain)
        self.assertIn("█".encode(), self.expect(0, "df", self.uri).stdout)
        self.assertIn(b"\x1b[", self.expect(0, "map", self.uri, "--color=always", NO_COLOR="1").stdout)
        for done in (self.expect(0, "df", self.uri, "--ascii"), self.expect(0, "map", self.uri, LANG="C")):
            done.stdout.decode("ascii")
        for line in self.expect(0, "zones", self.uri, "--width=60").stdout.decode().splitlines():
            self.assertLessEqual(len(line), 60)

    def test_zone_filters(self):
        text = self.expect(0, "zones", self.uri, "--role=superblock").stdout.decode().splitlines()
        self.assertGreaterEqual(len(text), 2)
        for line in text[1:]:
            self.assertIn("superblock", line)


class LiveTest(CommandTest):
    """Commands beside a process that has the device mounted."""

    def setUp(self):
        super().setUp()
        self.mkfs()
        self.put_files()
        self.holder = subprocess.Popen([PUT_FILES, "--hold", self.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end_holder)
        self.assertEqual(b"mounted\n", self.holder.stdout.readline())

    def end_holder(self):
        self.holder.stdin.close()
        self.holder.wait(timeout=60)
        self.holder.stdout.close()

    def source_of(self, name, *words):
        report = json.loads(self.expect(0, name, self.uri, *words, "--format=json").stdout)
        report_schemas.check(report, name, SCHEMAS)
        return report["source"]

    def test_the_mount_is_asked_and_named(self):
        who = f"live: answered by process {self.holder.pid} (put_files)\n".encode()
        for words in [*[[c] for c in READING], ["stat", "/db/000001.sst"], ["ls", "/db", "-l"], ["zones", "--files"]]:
            with self.subTest(words=words):
                done = self.expect(0, words[0], self.uri, *words[1:])
                self.assertEqual(who, done.stderr)
                self.assertNotEqual(b"", done.stdout)
                done = self.expect(0, words[0], self.uri, *[w for w in words[1:] if w not in ("-l", "--files")], "--format=json")
                self.assertEqual(b"", done.stderr)
                self.assertEqual("live", json.loads(done.stdout)["source"])
                report_schemas.check(json.loads(done.stdout), words[0], SCHEMAS)

    def test_what_is_not_on_the_device_is_seen(self):
        stat = json.loads(self.expect(0, "stat", self.uri, "/held/000009.log", "--format=json").stdout)
        self.assertEqual(12, stat["size_bytes"])
        self.assertEqual(0, stat["durable_bytes"])
        df = json.loads(self.expect(0, "df", self.uri, "--format=json").stdout)
        self.assertEqual(5, df["files"])
        self.assertEqual(12, df["staged_bytes"])
        info = json.loads(self.expect(0, "info", self.uri, "--format=json").stdout)
        self.assertFalse(info["clean"])
        self.assertEqual(2, info["mount_epoch"])
        self.assertIn(b"mounted, 2 read-write mounts so far", self.expect(0, "info", self.uri).stdout)
        self.expect(3, "stat", self.uri, "/held/missing", message="missing")
        self.expect(3, "ls", self.uri, "/nowhere", message="nowhere")

    def test_files_are_read_from_the_device(self):
        done = self.expect(0, "cat", self.uri, "/db/000001.sst")
        self.assertEqual(table_bytes()[:3000000], done.stdout)
        self.assertNotIn(b"live", done.stderr)

    def test_after_the_mount_the_device_is_read(self):
        self.assertEqual("live", self.source_of("df"))
        self.end_holder()
        for command in READING:
            self.assertEqual("device", self.source_of(command))

    def test_a_killed_mount_leaves_nothing_in_the_way(self):
        self.holder.kill()
        self.holder.wait()
        self.assertEqual("device", self.source_of("df"))
        self.put_files()

    def test_a_stopped_mount_is_named_and_the_device_read(self):
        self.holder.send_signal(signal.SIGSTOP)
        self.addCleanup(self.holder.send_signal, signal.SIGCONT)
        done = self.expect(0, "df", self.uri, message=f"process {self.holder.pid} (put_files) did not answer in time")
        self.assertIn(b"the device is read instead", done.stderr)
        self.assertNotIn(b"live:", done.stderr)
        self.assertNotEqual(b"", done.stdout)

    def test_many_ask_at_once(self):
        asking = [subprocess.Popen([FURROW, "zones", self.uri, "--format=json"], stdout=subprocess.PIPE) for _ in range(8)]
        for process in asking:
            out, _ = process.communicate(timeout=120)
            self.assertEqual(0, process.returncode)
            self.assertEqual(20, len(json.loads(out)["zones"]))


class StrangerTest(CommandTest):
    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_a_stranger_who_took_the_name_is_not_believed(self):
        self.mkfs()
        identity = (self.device / "furrow.geometry").stat()
        ready, tell = os.pipe()
        stranger = os.fork()
        if stranger == 0:
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(f"\0furrow/1/dir:{identity.st_dev}:{identity.st_ino}")
                listener.listen()
                os.write(tell, b"x")
                signal.pause()
        self.addCleanup(os.waitpid, stranger, 0)
        self.addCleanup(os.kill, stranger, signal.SIGKILL)
        os.read(ready, 1)
        done = self.expect_untouched(0, "df", self.uri, message="it is not asked")
        self.assertIn(f"process {stranger}".encode(), done.stderr)
        # Nor can it keep the device from being mounted.
        done = subprocess.run([PUT_FILES, self.uri], check=True, capture_output=True)
        self.assertIn(b"without a control socket", done.stderr)


class LogTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.mkfs("--label=two words")
        self.put_files()

    def log(self, code, *words, message=""):
        """The lines of `furrow log`, which obey their schema and leave the device as it is."""
        before = fingerprint(self.root)
        done = self.run_furrow("log", self.uri, *words)
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertEqual(before, fingerprint(self.root))
        self.assertIn(message, done.stderr.decode())
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        for line in lines:
            report_schemas.check(line, "log", SCHEMAS)
        return lines

    def change(self, zone, at, content):
        with open(self.device / "zones" / f"{zone:06}", "r+b") as file:
            file.seek(at)
            file.write(content)

    @staticmethod
    def only(lines, kind):
        return [line for line in lines if line["type"] == kind]

    def test_shows_all_of_it(self):
        lines = self.log(0)
        self.assertEqual("superblock", lines[0]["type"])
        info = self.json_of("info", self.uri)
        for key in ("label", "uuid", "mount_epoch", "format_version", "created_seconds", "clean", "zone_count"):
            self.assertEqual(info[key], lines[0][key])
        end = lines[-1]
        self.assertEqual(("end", "clean", 0), (end["type"], end["end"], end["problems"]))
        records = self.only(lines, "record")
        self.assertEqual(list(range(1, len(records) + 1)), [r["sequence"] for r in records])
        self.assertEqual(len(records), sum(g["records"] for g in self.only(lines, "group")))
        self.assertEqual(len(records), end["records"])
        names = {r["name"]: r["file"] for r in records if r["record"] == "create_file"}
        self.assertLessEqual({"000001.sst", "000002.log", "CURRENT"}, set(names))
        stat = self.json_of("stat", self.uri, "/db/000001.sst")
        placed = [r["extents"] for r in records if r["record"] == "extents" and r["file"] == names["000001.sst"]]
        want = [(e["file_offset_bytes"], e["length_bytes"], e["zone"], e["zone_offset_bytes"]) for e in stat["extents"]]
        have = [(e["file_offset_bytes"], e["length_bytes"], e["zone"], e["zone_offset_bytes"]) for x in placed for e in x]
        self.assertEqual(want, have)
        content = [r for r in records if r["record"] == "content" and r["file"] == names["CURRENT"]][-1]
        self.assertEqual(b"MANIFEST-000001\n", base64.b64decode(content["content_base64"]))
        checkpoint = self.only(lines, "checkpoint_end")[0]
        self.assertEqual(checkpoint["objects"], len(self.only(lines, "object")))

    def test_text_says_the_same(self):
        text = self.expect_untouched(0, "log", self.uri, "--format=text").stdout.decode().splitlines()
        lines = self.log(0)
        self.assertEqual([line["type"] for line in lines], [line.split()[0] for line in text])
        self.assertIn('label="two words"', text[0])
        self.assertIn('name="a\\n\\"b\\" \u00fc\\xff"', "\n".join(text))

    def test_selections(self):
        for flag, kinds in (("--groups", {"group"}), ("--records", {"record"}),
                            ("--checkpoint", {"chunk", "object", "checkpoint_end"})):
            with self.subTest(flag=flag):
                self.assertEqual(kinds | {"superblock", "end"}, {line["type"] for line in self.log(0, flag)})
        lines = self.log(0, "--records", "--from-sequence=5", "--limit=3")
        self.assertEqual([5, 6, 7], [r["sequence"] for r in self.only(lines, "record")])
        self.assertEqual("stopped", lines[-1]["end"])
        lines = self.log(0, "--from-sequence=5")
        self.assertEqual([], self.only(lines, "object"))
        self.assertEqual(5, self.only(lines, "record")[0]["sequence"])
        self.assertEqual("clean", lines[-1]["end"])

    def test_a_torn_tail(self):
        end = self.log(0)[-1]
        self.change(end["zone"], end["zone_offset_bytes"], b"half a group")
        torn = self.log(0)[-1]
        self.assertEqual("torn", torn["end"])
        self.assertIn(str(end["zone_offset_bytes"]), torn["detail"])
        self.assertEqual(end["records"], torn["records"])

    def test_damage_is_passed(self):
        whole = self.log(0)
        group = [g for g in self.only(whole, "group") if g["kind"] == "records"][1]
        self.change(group["zone"], group["zone_offset_bytes"] + 80, b"\xff\xff")
        lines = self.log(5, message="furrow check")
        problem = self.only(lines, "problem")[0]
        self.assertEqual(("missing_group", group["group"]), (problem["problem"], problem["group"]))
        self.assertEqual(group["zone_offset_bytes"], problem["zone_offset_bytes"])
        self.assertEqual(group["group"] + 1, problem["next_group"])
        self.assertEqual("damaged", lines[-1]["end"])
        lost = range(group["first_sequence"], group["first_sequence"] + group["records"])
        kept = [r for r in self.only(whole, "record") if r["sequence"] not in lost]
        self.assertEqual([r["sequence"] for r in kept], [r["sequence"] for r in self.only(lines, "record")])
        for r in self.only(lines, "record"):
            self.assertEqual(r["sequence"] > lost[-1], r.get("behind_damage", False))
        self.assertIn("BEHIND_DAMAGE", self.run_furrow("log", self.uri, "--format=text").stdout.decode())

    def test_beside_a_writer(self):
        with subprocess.Popen([PUT_FILES, "--hold", self.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            self.assertEqual(b"mounted\n", holder.stdout.readline())
            lines = self.log(0)
            self.assertFalse(lines[0]["clean"])
            self.assertEqual("end", lines[-1]["type"])
            holder.communicate(timeout=60)

    def test_targets_that_are_none(self):
        self.expect(3, "log", f"furrow://dir:{self.root}/nothing", message="mkfs")
        (self.root / "plain").mkdir()
        (self.root / "plain" / "file").write_text("mine")
        self.expect_untouched(3, "log", f"furrow://dir:{self.root}/plain", message="mkfs")
        self.expect_untouched(2, "log", self.uri + "?colour=red", message="colour")
        self.expect_untouched(2, "log", self.uri, "--format=json", message="jsonl")
        for zone in (0, 1):
            self.change(zone, 4096, bytes(100))
            self.change(zone, 8192, bytes(100))
            self.change(zone, 12288, bytes(100))
            self.change(zone, 16384, bytes(100))
        self.expect_untouched(5, "log", self.uri, message="superblock")


class CheckTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.mkfs()
        self.put_files()

    def check(self, code, *flags):
        """The report, and that nothing was changed."""
        before = fingerprint(self.root)
        done = self.run_furrow("check", self.uri, "--format=json", *flags)
        self.assertEqual(code, done.returncode, done.stderr.decode())
        self.assertEqual(before, fingerprint(self.root))
        report = json.loads(done.stdout)
        report_schemas.check(report, "check", SCHEMAS)
        self.assertEqual(code == 0, report["consistent"])
        return report

    def flip(self, zone, at):
        with open(self.device / "zones" / f"{zone:06}", "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 16]))

    def test_whole(self):
        report = self.check(0, "--deep")
        self.assertEqual((0, 0, 0), (report["errors"], report["warnings"], report["notes"]))
        self.assertEqual(4, report["checked"]["files"])
        self.assertGreater(report["checked"]["verified_bytes"], 3000000)
        self.assertTrue(report["unmounted_in_order"])
        text = self.expect_untouched(0, "check", self.uri).stdout.decode()
        self.assertIn("consistent: 0 errors", text)
        self.assertIn("--deep", text)

    def test_a_flipped_bit_in_a_file(self):
        stat = self.json_of("stat", self.uri, "/db/000001.sst")
        extent = stat["extents"][0]
        self.flip(extent["zone"], extent["zone_offset_bytes"] + 70000)
        self.check(0)  # the files' bytes are not read
        report = self.check(5, "--deep")
        finding = report["findings"][0]
        self.assertEqual(("error", "data", "/db/000001.sst"), (finding["severity"], finding["structure"], finding["path"]))
        self.assertEqual((65536, 65536), (finding["file_offset_bytes"], finding["length_bytes"]))
        self.assertEqual(extent["zone"], finding["zone"])
        done = self.run_furrow("check", "--deep", self.uri)
        self.assertIn(b"error: data: zone", done.stdout)
        self.assertIn(b"INCONSISTENT: 1 error", done.stdout)
        self.assertNotIn(b"%", done.stderr)  # no bar: not a terminal

    def test_damaged_metadata_names_the_place_and_the_ways_out(self):
        lines = [json.loads(line) for line in self.run_furrow("log", self.uri).stdout.splitlines()]
        group = [g for g in lines if g["type"] == "group" and g["kind"] == "records"][1]
        self.flip(group["zone"], group["zone_offset_bytes"] + 90)
        report = self.check(5, "--deep")
        self.assertFalse(report["mountable"])
        finding = report["findings"][0]
        self.assertEqual(("journal", group["zone"], group["zone_offset_bytes"]),
                         (finding["structure"], finding["zone"], finding["zone_offset_bytes"]))
        self.assertIn(f"group {group['group']}", report["why_not_mountable"])
        self.assertGreater(report["checked"]["frames"], 0)
        self.assertGreater(report["checked"]["summaries"], 0)
        text = self.run_furrow("check", self.uri).stdout.decode()
        self.assertIn("cannot be mounted", text)
        self.assertIn("two ways out", text)

    def test_bytes_behind_a_journal_closed_in_order(self):
        end = json.loads(self.run_furrow("log", self.uri).stdout.splitlines()[-1])
        self.flip(end["zone"], end["zone_offset_bytes"] + 5000)
        report = self.check(5)
        self.assertTrue(report["mountable"])
        self.assertEqual(("error", "journal"), (report["findings"][0]["severity"], report["findings"][0]["structure"]))

    def test_after_a_killed_process(self):
        subprocess.run([PUT_FILES, "--kill", self.uri], check=False)
        report = self.check(0, "--deep")
        self.assertFalse(report["unmounted_in_order"])
        self.expect(0, "settle", self.uri)
        self.check(0, "--deep")

    def test_no_superblocks_at_all(self):
        for zone in (0, 1):
            path = self.device / "zones" / f"{zone:06}"
            path.write_bytes(bytes(path.stat().st_size))
        report = self.check(5)
        self.assertEqual("superblock", report["findings"][0]["structure"])
        self.assertGreater(report["checked"]["frames"], 0)

    def test_beside_a_writer(self):
        with subprocess.Popen([PUT_FILES, "--hold", self.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            self.assertEqual(b"mounted\n", holder.stdout.readline())
            self.expect_untouched(4, "check", self.uri, message=f"process {holder.pid}")
            holder.communicate(timeout=60)
        self.check(0)

    def test_progress_on_a_terminal(self):
        main, terminal = pty.openpty()
        done = subprocess.run([FURROW, "check", "--deep", self.uri], stdout=subprocess.DEVNULL, stderr=terminal, check=False)
        os.close(terminal)
        shown = os.read(main, 65536)
        os.close(main)
        self.assertEqual(0, done.returncode)
        self.assertIn(b"100 %", shown)
        self.assertIn(b"#", shown)


if __name__ == "__main__":
    unittest.main()
