#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""repair_test.py FURROW PUT_FILES SCHEMA_DIRECTORY: furrow check --repair on devices whose metadata is gone."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import report_schemas

FURROW = sys.argv.pop(1)
PUT_FILES = sys.argv.pop(1)
SCHEMAS = pathlib.Path(sys.argv.pop(1))
SUPERBLOCK, JOURNAL = 1, 2  # roles in zone headers


class RepairTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="furrow-repair-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.device = self.root / "device"
        self.uri = f"furrow://dir:{self.device}"
        self.expect(0, "mkfs", self.uri, "--zones=20", "--zone-size=4MiB")
        subprocess.run([PUT_FILES, self.uri], check=True, capture_output=True)

    def furrow(self, *words, answer=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FURROW_")}
        given = {"input": answer} if answer is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run([FURROW, *words], capture_output=True, env=env, check=False, **given)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def expect(self, code, *words, message=""):
        got, out, err = self.furrow(*words)
        self.assertEqual(code, got, f"{words}: {out}{err}")
        self.assertIn(message, err)
        return out

    def zero(self, *roles):
        zeroed = 0
        for path in (self.device / "zones").iterdir():
            data = path.read_bytes()
            if data[:8] == b"FURZONE1" and data[40] in roles:
                path.write_bytes(bytes(len(data)))
                zeroed += 1
        self.assertGreater(zeroed, 0)

    def snapshot(self):
        return {p.name: p.read_bytes() for p in (self.device / "zones").iterdir()}

    def files(self):
        report = json.loads(self.expect(0, "ls", "-R", "--format=json", self.uri))
        return {f["path"]: f["size_bytes"] for f in report["files"] if not f["is_directory"]}

    def test_whole_metadata_is_left_alone(self):
        before = self.snapshot()
        self.assertIn("nothing to do", self.expect(0, "check", "--repair", self.uri))
        self.assertEqual(before, self.snapshot())

    def test_a_dry_run_writes_nothing(self):
        self.zero(SUPERBLOCK, JOURNAL)
        before = self.snapshot()
        out = self.expect(0, "check", "--repair", "--dry-run", self.uri, message="nothing was written")
        self.assertIn("rebuild by scan", out)
        self.assertEqual(before, self.snapshot())
        self.expect(3, "info", self.uri)

    def test_it_asks_and_takes_only_yes(self):
        self.zero(SUPERBLOCK, JOURNAL)
        before = self.snapshot()
        self.expect(2, "check", "--repair", self.uri, message="--yes")
        self.assertEqual(before, self.snapshot())

    def test_superblocks_alone_cost_no_name(self):
        expected = self.files()
        self.assertTrue(expected)
        self.zero(SUPERBLOCK)
        out = self.expect(0, "check", "--repair", "--yes", self.uri, message="repaired")
        self.assertIn("return to a checkpoint", out)
        self.assertEqual(expected, self.files())

    def test_scan_gives_a_report_by_its_schema(self):
        sizes = sorted(size for path, size in self.files().items() if path.endswith(".sst"))
        self.zero(SUPERBLOCK, JOURNAL)
        report = json.loads(self.expect(0, "check", "--repair=scan", "--yes", "--format=json", self.uri))
        report_schemas.check(report, "repair", SCHEMAS)
        self.assertEqual(("scan", True, True), (report["way"], report["needed"], report["done"]))
        found = self.files()
        self.assertEqual(sizes, sorted(size for path, size in found.items() if path.endswith(".sst")))
        self.assertEqual(found, {f["path"]: f["size_bytes"] for f in report["files"]})
        report = json.loads(self.expect(0, "check", "--repair", "--format=json", self.uri))
        report_schemas.check(report, "repair", SCHEMAS)
        self.assertFalse(report["needed"])

    def test_a_mounted_device_is_refused_and_named(self):
        holder = subprocess.Popen([PUT_FILES, "--hold", self.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(b"mounted\n", holder.stdout.readline())
            self.expect(4, "check", "--repair", "--yes", self.uri, message=str(holder.pid))
        finally:
            holder.communicate()

    def test_files_of_a_process_that_died_come_back_as_synced(self):
        subprocess.run([PUT_FILES, "--kill", self.uri], check=False, capture_output=True)
        self.zero(SUPERBLOCK, JOURNAL)
        self.expect(0, "check", "--repair", "--yes", self.uri)
        self.assertIn(3000000, self.files().values())
        self.expect(0, "settle", self.uri)  # mounts it, with a stage there that is not its own
        self.assertIn(3000000, self.files().values())

    def test_what_cannot_be_done_is_said(self):
        self.zero(SUPERBLOCK, JOURNAL)
        self.expect(3, "check", "--repair=previous", "--yes", self.uri, message="no checkpoint is whole")
        self.expect(3, "check", "--repair", "--uuid=00000000-0000-0000-0000-000000000000", self.uri, message="no zone")
        self.expect(2, "check", "--repair=sideways", self.uri, message="previous")
        self.expect(3, "check", "--repair", f"furrow://dir:{self.root}/none")


if __name__ == "__main__":
    unittest.main()
