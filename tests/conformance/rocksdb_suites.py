#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one of RocksDB's test programs, in shards side by side, each on a fresh Furrow device.

A program that crashes does not take its shard along: the case that was running counts as failed, and the rest is run
again without it. rocksdb-suites.sh calls this; its head says what counts.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

CASE = re.compile(r"^\[ +(RUN|OK|FAILED) +\] ([\w/]+\.[\w/]+)")
CASE_LIMIT = 900  # seconds of a whole shard; the slowest suite takes five minutes


class Shard:
    """One share of a program's cases, on a device of its own."""

    def __init__(self, options, index):
        self.options = options
        self.home = pathlib.Path(options.scratch) / str(index)
        self.home.mkdir(parents=True)
        self.index = index
        self.passed, self.failed, self.skipped = set(), {}, set()

    def environment(self):
        env = dict(os.environ, GTEST_TOTAL_SHARDS=str(self.options.jobs), GTEST_SHARD_INDEX=str(self.index))
        # A path that is on the host, too: some cases ask its file system for it, whichever they use then.
        place = self.home / "tmp"
        place.mkdir(exist_ok=True)
        env["TEST_TMPDIR"] = str(place)
        if not self.options.library:
            return env
        device = self.home / "device"
        uri = f"furrow://dir:{device}"
        subprocess.run([self.options.furrow, "mkfs", uri, "--zones=512", "--zone-size=16MiB", "--yes", "--force"],
                       check=True, capture_output=True)
        env.update(LD_PRELOAD=self.options.library, FURROW_CALLS_FILE=str(self.home / "calls"))
        if self.options.way == "uri":
            env["TEST_FS_URI"] = uri
        else:
            env.update(FURROW_DEFAULT_URI=uri, FURROW_DEFAULT_PREFIX=str(place))
        return env

    def run_once(self, leave_out):
        """One run of the program; the name of the case that it died in, or None."""
        log = self.home / f"log.{len(leave_out)}"
        report = self.home / f"report.{len(leave_out)}.xml"
        command = [self.options.program, f"--gtest_output=xml:{report}"]
        if leave_out:
            command.append("--gtest_filter=*-" + ":".join(sorted(leave_out)))
        with open(log, "wb") as out:
            try:
                code = subprocess.run(command, env=self.environment(), stdout=out, stderr=subprocess.STDOUT,
                                      timeout=CASE_LIMIT, check=False).returncode
            except subprocess.TimeoutExpired:
                code = "timeout"
        if report.exists():
            self.read_report(report)
            return None
        return self.read_crash(log, code)

    def read_report(self, report):
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            failure = case.find("failure")
            if failure is not None:
                self.failed[name] = (failure.get("message") or "").strip().split("\n")[0]
            elif case.get("status") == "run":
                self.passed.add(name)
            else:
                self.skipped.add(name)

    def read_crash(self, log, code):
        running = None
        for line in log.read_text(errors="replace").splitlines():
            match = CASE.match(line)
            if not match:
                continue
            state, name = match.groups()
            running = name if state == "RUN" else None
            if state == "OK":
                self.passed.add(name)
            elif state == "FAILED":
                self.failed.setdefault(name, f"see {log}")
        if running:
            self.failed[running] = f"the program ended in it ({code})"
        else:
            self.failed[f"shard.{self.index}"] = f"the program ended outside of a case ({code}), see {log}"
        return running

    def run(self):
        gone = set()
        while True:
            dead = self.run_once(gone)
            if dead is None:
                return self
            # Those that have run already are not run again.
            gone |= {dead} | self.passed | set(self.failed)

    def calls(self):
        file = self.home / "calls"
        return sum(int(line.split()[1]) for line in file.read_text().splitlines()) if file.exists() else 0


def read_exceptions(path, suite):
    """Case -> reason, of the lines "SUITE CASE REASON..."."""
    found = {}
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and not line.startswith("#") and words[0] == suite:
            found[words[1]] = words[2]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name in ("way", "library", "furrow", "scratch", "except", "fs"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    suite = os.path.basename(options.program)
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        shards = list(pool.map(lambda i: Shard(options, i).run(), range(options.jobs)))
    passed = sum(len(s.passed) for s in shards)
    skipped = sum(len(s.skipped) for s in shards)
    failed = {name: why for s in shards for name, why in s.failed.items()}
    calls = sum(s.calls() for s in shards)
    exceptions = read_exceptions(getattr(options, "except"), suite) if options.fs == "furrow" else {}
    bad = {name: why for name, why in failed.items() if name not in exceptions}
    print(f"{suite}: {passed} passed, {len(failed)} failed, {skipped} skipped, {calls} calls through Furrow, "
          f"{time.monotonic() - began:.0f} s")
    for name, why in sorted(failed.items()):
        print(f"  {name}: {exceptions.get(name, 'FAILED: ' + why)}")
    if options.fs == "furrow" and calls == 0:
        print(f"  {suite}: no call went through Furrow: nothing was tested")
        return 1
    if passed == 0:
        print(f"  {suite}: no case passed")
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
