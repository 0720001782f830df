#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scrub_test.py FURROW PUT_FILES SCHEMA_DIRECTORY: furrow scrub, its state file and its exit codes."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import report_schemas

FURROW = sys.argv.pop(1)
PUT_FILES = sys.argv.pop(1)
SCHEMAS = pathlib.Path(sys.argv.pop(1))


class ScrubTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="furrow-scrub-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FURROW_")}
        self.env["XDG_STATE_HOME"] = str(self.root / "state")
        self.uri = f"furrow://dir:{self.root / 'zones'}"
        self.expect(0, "mkfs", self.uri, "--zones=20", "--zone-size=4MiB")
        subprocess.run([PUT_FILES, self.uri], check=True)

    def expect(self, code, *words, message=""):
        done = subprocess.run([FURROW, *words], capture_output=True, stdin=subprocess.DEVNULL, env=self.env, check=False)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(code, done.returncode, f"{words}: {out}{err}")
        self.assertIn(message, err)
        return out

    def scrub(self, code, *words, message=""):
        report = json.loads(self.expect(code, "scrub", self.uri, "--format=json", *words, message=message))
        report_schemas.check(report, "scrub", SCHEMAS)
        return report

    def state(self):
        (path,) = (self.root / "state" / "furrow").iterdir()
        self.assertRegex(path.name, "^scrub-[0-9a-f-]{36}.json$")
        state = json.loads(path.read_text())
        report_schemas.check(state, "scrub", SCHEMAS)
        return state

    def flip(self, path, offset):
        stat = json.loads(self.expect(0, "stat", self.uri, path, "--format=json"))
        for extent in stat["extents"]:
            skip = offset - extent["file_offset_bytes"]
            if 0 <= skip < extent["length_bytes"]:
                with open(self.root / "zones" / "zones" / f"{extent['zone']:06}", "r+b") as zone:
                    zone.seek(extent["zone_offset_bytes"] + skip)
                    byte = zone.read(1)[0]
                    zone.seek(-1, os.SEEK_CUR)
                    zone.write(bytes([byte ^ 1]))
                return extent["zone"]
        raise AssertionError(f"{path} has no byte {offset}")

    def test_a_clean_device(self):
        report = self.scrub(0)
        self.assertTrue(report["finished"])
        self.assertEqual([], report["damages"])
        self.assertGreater(report["read_bytes"], 3000000)
        self.assertEqual(report, self.state())
        self.assertIn("no damage", self.expect(0, "scrub", self.uri))

    def test_damage_is_exit_5_with_its_place(self):
        zone = self.flip("/db/000001.sst", 1234567)
        report = self.scrub(5, message="1 damaged part")
        (damage,) = report["damages"]
        self.assertEqual(("/db/000001.sst", "data", zone), (damage["path"], damage["part"], damage["zone"]))
        self.assertLessEqual(damage["file_offset_bytes"], 1234567)
        self.assertLess(1234567, damage["file_offset_bytes"] + damage["length_bytes"])
        out = self.expect(5, "scrub", self.uri)
        self.assertIn("DAMAGED /db/000001.sst: data, 65,536 bytes at ", out)
        self.flip("/db/000001.sst", 1234567)
        self.scrub(0)  # the one before had finished, so this is a new one

    def test_interrupted_and_gone_on_with(self):
        state = self.root / "here.json"
        words = [FURROW, "scrub", self.uri, "--rate=1M", f"--state={state}", "--format=json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env) as scrub:
            for _ in range(600):
                if state.exists() and json.loads(state.read_text())["read_bytes"] > 0:
                    break
                time.sleep(0.05)
            scrub.send_signal(signal.SIGINT)
            out, err = scrub.communicate(timeout=60)
        self.assertEqual(130, scrub.returncode, err)
        first = json.loads(out)
        report_schemas.check(first, "scrub", SCHEMAS)
        self.assertFalse(first["finished"])
        self.assertEqual(first, json.loads(state.read_text()))
        whole = self.scrub(0, "--rate=0")  # with a state of its own
        rest = self.scrub(0, "--rate=0", f"--state={state}", message="going on where an earlier scrub stopped")
        self.assertTrue(rest["finished"])
        self.assertEqual(first["started_unix_seconds"], rest["started_unix_seconds"])
        self.assertEqual(whole["files"], rest["files"])
        self.assertLess(rest["read_bytes"], whole["read_bytes"] + 2 * 1048576 + 65536)

    def test_a_state_that_cannot_be_used(self):
        state = self.root / "here.json"
        state.write_text("{}")
        self.expect(2, "scrub", self.uri, f"--state={state}", message="--restart")
        self.scrub(0, f"--state={state}", "--restart")
        other = json.loads(state.read_text())
        other["finished"] = False
        other["uuid"] = "00112233-4455-4677-8899-aabbccddeeff"
        state.write_text(json.dumps(other))
        self.expect(2, "scrub", self.uri, f"--state={state}", message="another file system")
        self.expect(3, "scrub", f"furrow://dir:{self.root}/none", message="none")

    def test_beside_a_mount(self):
        with subprocess.Popen([PUT_FILES, "--hold", self.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            self.assertEqual(b"mounted\n", holder.stdout.readline())
            self.assertTrue(self.scrub(0)["finished"])
            holder.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
