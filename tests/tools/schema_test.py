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
        self.assertEqual(7, len(paths))
        for path in paths:
            name = path.name.split(".")[0]
            with self.subTest(report=name):
                report_schemas.check(self.report(name), name, SCHEMAS)

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
