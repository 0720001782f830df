#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""settle_test.py FURROW PUT_FILES SCHEMA_DIRECTORY: furrow settle, after processes that were killed."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import report_schemas

FURROW = sys.argv.pop(1)
PUT_FILES = sys.argv.pop(1)
SCHEMAS = pathlib.Path(sys.argv.pop(1))
NOBODY = 65534


class SettleTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="furrow-settle-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.root.chmod(0o777)  # for the tests with another user
        self.stages = self.root / "stages"
        self.stages.mkdir()
        self.stages.chmod(0o1777)

    def furrow(self, *words, user=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FURROW_")}
        done = subprocess.run([FURROW, *words], capture_output=True, stdin=subprocess.DEVNULL, env=env, check=False, user=user)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def expect(self, code, *words, message="", user=None):
        got, out, err = self.furrow(*words, user=user)
        self.assertEqual(code, got, f"{words}: {out}{err}")
        self.assertIn(message, err)
        return out

    def make(self, name, user=None):
        uri = f"furrow://dir:{self.root / name}"
        self.expect(0, "mkfs", uri, "--zones=20", "--zone-size=4MiB", user=user)
        return uri

    def with_stage_dir(self, uri):
        return f"{uri}?stage_dir={self.stages}"

    def put_and_die(self, uri, user=None):
        done = subprocess.run([PUT_FILES, "--kill", self.with_stage_dir(uri)], capture_output=True, check=False, user=user)
        self.assertEqual(-signal.SIGKILL, done.returncode, done.stderr)

    def left(self):
        return sorted(self.stages.iterdir())

    def settle_all(self, code, *words, user=None):
        out = self.expect(code, "settle", "--all", f"--stage-dir={self.stages}", "--format=json", *words, user=user)
        report = json.loads(out)
        report_schemas.check(report, "settle", SCHEMAS)
        return report

    def expect_files(self, uri, user=None):
        """All that returned before the process died is on the device itself: there is no stage any more."""
        self.assertEqual([], self.left())
        self.assertEqual(20000 * "u", self.expect(0, "cat", uri, "/db/000003.log", user=user))
        self.assertEqual(10000 * "w", self.expect(0, "cat", uri, "/db/000002.log", user=user))
        self.assertEqual("MANIFEST-000001\n", self.expect(0, "cat", uri, "/db/CURRENT", user=user))

    def test_words_that_are_wrong(self):
        uri = self.make("zones")
        for words, message in (
            ([], "--all"),
            ([uri, "--all"], "leave the URI out"),
            (["furrow://tape:x"], "tape"),
            (["furrow://mem:x"], "nothing to settle"),
            ([uri + "?colour=red"], "colour"),
        ):
            with self.subTest(words=words):
                self.assertEqual("", self.expect(2, "settle", *words, message=message))

    def test_nothing_there(self):
        self.assertEqual("", self.expect(3, "settle", f"furrow://dir:{self.root}/none", message="none"))
        self.assertEqual("", self.expect(3, "settle", "--all", f"--stage-dir={self.root}/none", message="none"))
        (self.root / "empty").mkdir()
        self.expect(3, "settle", f"furrow://dir:{self.root}/empty")

    def test_nothing_staged(self):
        uri = self.make("zones")
        out = self.expect(0, "settle", self.with_stage_dir(uri))
        self.assertIn("no stage of it", out)
        self.assertEqual("nothing is staged here\n", self.expect(0, "settle", "--all", f"--stage-dir={self.stages}"))
        self.assertEqual("", self.expect(0, "settle", "--all", "--quiet", f"--stage-dir={self.stages}"))

    def test_one_device(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        self.assertEqual(1, len(self.left()))
        report = json.loads(self.expect(0, "settle", self.with_stage_dir(uri), "--format=json"))
        report_schemas.check(report, "settle", SCHEMAS)
        (stage,) = report["stages"]
        self.assertEqual((uri, "settled", ""), (stage["uri"], stage["result"], stage["message"]))
        self.assertGreaterEqual(stage["staged_bytes"], 20000)
        self.assertGreater(stage["record_bytes"], 0)
        self.expect_files(uri)

    def test_all_devices(self):
        uris = [self.make(name) for name in ("one", "two", "three")]
        for uri in uris:
            self.put_and_die(uri)
        report = self.settle_all(0)
        self.assertEqual(sorted(uris), sorted(s["uri"] for s in report["stages"]))
        self.assertEqual(["settled"] * 3, [s["result"] for s in report["stages"]])
        for uri in uris:
            self.expect_files(uri)

    def test_a_living_process_is_left_alone(self):
        uri = self.make("zones")
        other = self.make("other")
        self.put_and_die(other)
        words = [PUT_FILES, "--hold", self.with_stage_dir(uri)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            self.assertEqual(b"mounted\n", holder.stdout.readline())
            self.assertEqual("", self.expect(4, "settle", self.with_stage_dir(uri), message=str(holder.pid)))
            report = self.settle_all(0)
            results = {s["uri"]: s["result"] for s in report["stages"]}
            self.assertEqual({uri: "in_use", other: "settled"}, results)
            holder.communicate(timeout=60)
        self.assertEqual(0, holder.returncode)
        self.expect_files(other)

    def test_a_device_that_is_gone(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        shutil.rmtree(self.root / "zones")
        report = self.settle_all(0)
        self.assertEqual("left", report["stages"][0]["result"])
        self.assertEqual(0, report["removed_stages"])
        self.assertEqual(1, len(self.left()))
        self.assertEqual(1, self.settle_all(0, "--keep-gone=0")["removed_stages"])
        self.assertEqual([], self.left())

    def test_a_device_that_was_moved(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        (self.root / "zones").rename(self.root / "elsewhere")
        self.assertEqual("left", self.settle_all(0)["stages"][0]["result"])
        moved = f"furrow://dir:{self.root}/elsewhere"
        self.expect(0, "settle", self.with_stage_dir(moved))
        self.expect_files(moved)

    def test_a_copied_device(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        shutil.copytree(self.root / "zones", self.root / "copy")
        copy = f"furrow://dir:{self.root}/copy"
        self.expect(0, "settle", self.with_stage_dir(copy))
        self.assertEqual(1, len(self.left()))
        self.assertEqual("settled", self.settle_all(0)["stages"][0]["result"])
        self.expect_files(uri)

    def test_damage(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        good = self.make("good")
        self.put_and_die(good)
        (stage,) = [p for p in self.left() if str(self.root / "zones").encode() in p.read_bytes()[:4096]]
        with open(stage, "r+b") as file:
            data = file.read(8 << 20)
            file.seek(data.index(1000 * b"u"))
            file.write(b"X")
        report = self.settle_all(1)
        results = {s["uri"]: s["result"] for s in report["stages"]}
        self.assertEqual({uri: "failed", good: "settled"}, results)
        self.assertEqual([stage], self.left())
        self.expect(5, "settle", self.with_stage_dir(uri))
        self.expect(0, "settle", self.with_stage_dir(uri), "--drop-damaged")
        self.assertEqual([], self.left())
        self.assertEqual(10000 * "w", self.expect(0, "cat", uri, "/db/000002.log"))

    def test_a_damaged_header(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        (stage,) = self.left()
        with open(stage, "r+b") as file:
            file.seek(100)
            file.write(b"damage")
        self.assertEqual(["failed"], [s["result"] for s in self.settle_all(1)["stages"]])
        self.assertEqual("", self.expect(5, "settle", self.with_stage_dir(uri), message="--drop-damaged"))
        self.assertEqual([stage], self.left())
        self.expect(0, "settle", self.with_stage_dir(uri), "--drop-damaged", message="given up")
        self.assertEqual([], self.left())
        self.assertEqual(10000 * "w", self.expect(0, "cat", uri, "/db/000002.log"))

    def test_what_is_no_stage(self):
        (self.stages / "furrow-stage-planted").write_text("no stage")
        (self.stages / "furrow-stage-planted").chmod(0o600)
        report = self.settle_all(1)
        self.assertEqual(["failed"], [s["result"] for s in report["stages"]])
        self.assertEqual(1, len(self.left()))

    @unittest.skipUnless(os.geteuid() == 0, "only root can act for others")
    def test_as_root_for_another_user(self):
        uri = self.make("zones", user=NOBODY)
        self.put_and_die(uri, user=NOBODY)
        mine = self.make("mine")
        self.put_and_die(mine)
        report = self.settle_all(0)
        self.assertEqual({(uri, NOBODY), (mine, 0)}, {(s["uri"], s["user"]) for s in report["stages"]})
        self.assertEqual({"settled"}, {s["result"] for s in report["stages"]})
        for path in [self.root / "zones", *(self.root / "zones").rglob("*")]:
            self.assertEqual(NOBODY, path.stat().st_uid, path)
        self.expect_files(uri, user=NOBODY)
        self.expect_files(mine)

    @unittest.skipUnless(os.geteuid() == 0, "only root can act for others")
    def test_others_stages_are_left_alone_without_root(self):
        uri = self.make("zones")
        self.put_and_die(uri)
        self.assertEqual([], self.settle_all(0, user=NOBODY)["stages"])
        self.assertEqual(1, len(self.left()))


if __name__ == "__main__":
    unittest.main()
