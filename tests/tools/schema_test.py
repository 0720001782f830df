#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema_test.py MADE_UP_REPORTS SCHEMA_DIRECTORY: JSON reports of made-up snapshots obey their schemas."""

import json
import pathlib
import subprocess
import sys
import unittest

import report_schemas

PROGRAM = sys.argv.pop(1)
SCHEMAS = pathlib.Path(sys.argv.pop(1))


class SchemaTest(unittest.TestCase):
    def report(self, name):
        return json.loads(subprocess.run([PROGRAM, name], check=True, capture_output=True).stdout)

    def test_each_report_obeys_its_schema(self):
        paths = sorted(SCHEMAS.glob("*.schema.json"))
        self.assertEqual(11, len(paths))
        for path in paths:
            name = path.name.split(".")[0]
            if name == "log":
                continue
            with self.subTest(report=name):
                report_schemas.check(self.report(name), name, SCHEMAS)

    def log_lines(self):
        text = subprocess.run([PROGRAM, "log"], check=True, capture_output=True).stdout.decode()
        return [json.loads(line) for line in text.splitlines()]

    def test_each_line_of_a_log_obeys_its_schema(self):
        lines = self.log_lines()
        self.assertEqual(8, len({line["type"] for line in lines}))
        self.assertEqual(14, len({line["record"] for line in lines if line["type"] == "record"}))
        self.assertEqual(5, len({line["object"] for line in lines if line["type"] == "object"}))
        for line in lines:
            with self.subTest(line=line):
                report_schemas.check(line, "log", SCHEMAS)

    def test_each_missing_key_of_a_log_is_found(self):
        for line in self.log_lines():
            for key in line:
                if key in ("detail", "next_group", "next_zone", "next_zone_offset_bytes", "behind_damage"):
                    continue
                if line["type"] == "end" and key in ("zone", "zone_offset_bytes"):
                    continue
                with self.subTest(type=line["type"], key=key), self.assertRaises(report_schemas.SchemaError):
                    report_schemas.check({k: v for k, v in line.items() if k != key}, "log", SCHEMAS)

    def test_a_wrong_report_is_found(self):
        report = self.report("df")
        del report["writable_bytes"]
        with self.assertRaises(report_schemas.SchemaError):
            report_schemas.check(report, "df", SCHEMAS)
        report = self.report("zones")
        report["zones"][0]["live_bytes"] = 1.5
        with self.assertRaises(report_schemas.SchemaError):
            report_schemas.check(report, "zones", SCHEMAS)

    def test_an_undescribed_key_is_found(self):
        report = self.report("zones")
        report["zones"][0]["surprise"] = 1
        with self.assertRaises(report_schemas.SchemaError):
            report_schemas.check(report, "zones", SCHEMAS)


if __name__ == "__main__":
    unittest.main()
