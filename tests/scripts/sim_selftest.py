# SPDX-License-Identifier: Apache-2.0
"""Runs the crash simulator with each planted bug, and with none; see sim-selftest.sh. Exit 1 if a bug is not found in time
or by something else than a violation that fits, or if the run without bugs fails."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SIMULATOR = "furrow_sim"
TESTS = ("volume_crash_test", "cached_journal_test", "concurrent_sim_test", "shared_zone_test", "stage_epoch_test")
CLEAN_LIMIT = 300  # seconds, of the run without bugs
CLEAN_STATES = 2000  # of the simulator

LOST_BYTES = r"has \d+ bytes; (?:possible|synced were)|beyond the write pointer|checksum|is damaged|is shorter than"
WRONG_NAMES = r"names found:"
# What a bug may look like: the first line of the violation, or the second, must match. Anything else is an accident.
BUGS = {
    "unflushed-record": LOST_BYTES,
    "early-reset": LOST_BYTES,
    "failed-copy": LOST_BYTES,
    "torn-tail": r"mount: .*journal group \d+ is damaged or missing",
    "lost-frame": LOST_BYTES,
    "record-order": WRONG_NAMES,
    "flush-retry": LOST_BYTES,
    "wrong-stage": r"the stage of mount \d+ was replayed as that of the last",
}


def environment(bug):
    """With a bug the tests go on from seed to seed until they find it; without one they do what they always do."""
    if not bug:
        return dict(os.environ, FURROW_PLANT="")
    return dict(os.environ, FURROW_PLANT=bug, FURROW_SIM_STATES="1000000", FURROW_CRASH_STATES="1000000")


class Test:
    """A test program at work, its output in a file."""

    def __init__(self, folder, name, bug, arguments=("--gtest_fail_fast", "--gtest_color=no")):
        self.name = name
        self.output = tempfile.TemporaryFile()
        command = [os.path.join(folder, name), *arguments]
        self.process = subprocess.Popen(command, stdout=self.output, stderr=subprocess.STDOUT,
                                        env=environment(bug), start_new_session=True)

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def failed(self):
        """Has it found something, or ended with an error?"""
        return self.process.poll() not in (None, 0)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.output.close()

    def states(self):
        counts = re.findall(r"^(\d+) (?:states|crashes)$", self.text(), re.MULTILINE)
        return sum(map(int, counts)) if counts else None

    def violation(self):
        """Its text, or None."""
        found = re.search(r'violation(?:\(\))?\n\s+Which is: "(.*)"', self.text())
        return found.group(1).replace("\\n", "\n") if found else None

    def repeat(self):
        found = re.search(r"((?:FURROW_\w+=\S+ )+)repeats it", self.text())
        return (found.group(1) if found else "") + self.name


class Simulator(Test):
    """The simulator with all its workloads, which keeps its result in a file and goes on behind a violation."""

    def __init__(self, folder, bug, limit):
        self.folder = tempfile.TemporaryDirectory()
        self.result = os.path.join(self.folder.name, "result.json")
        super().__init__(folder, SIMULATOR, bug, [f"--json={self.result}", *limit])

    def report(self):
        if not os.path.exists(self.result):
            return {}
        with open(self.result, encoding="utf-8") as file:
            return json.load(file)

    def failed(self):
        return bool(self.report().get("violations")) or super().failed()

    def stop(self):
        super().stop()
        self.folder.cleanup()

    def states(self):
        return self.report().get("states")

    def violation(self):
        violations = self.report().get("violations")
        return violations[0]["text"] if violations else None

    def repeat(self):
        return self.report()["violations"][0]["repeat"]


def start(folder, bug, limit):
    return [Simulator(folder, bug, limit)] + [Test(folder, name, bug) for name in TESTS]


def wait_for_failure(runs, limit):
    """The first that has found something, or ended with an error; None: all have succeeded, or the time is over."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        for run in runs:
            if run.failed():
                return run
        if all(run.process.poll() == 0 for run in runs):
            return None
        time.sleep(0.05)
    return None


def fitting_line(bug, violation):
    """The line that says what is wrong, if the bug explains it; the first one may tell when it happened."""
    for line in violation.split("\n")[:2]:
        if re.search(BUGS[bug], line):
            return line
    return None


def hunt(folder, bug, limit):
    began = time.monotonic()
    runs = start(folder, bug, ["--states=0", f"--minutes={limit / 60}"])
    try:
        run = wait_for_failure(runs, limit)
        seconds = round(time.monotonic() - began, 1)
        result = {"bug": bug, "caught": False, "seconds": seconds}
        if run is None:
            result["why"] = f"not found in {limit} s" if seconds >= limit else "not found: all programs have succeeded"
            return result
        violation = run.violation()
        result.update(program=run.name, states=run.states())
        if violation is None:
            result["why"] = f"{run.name} ended ({run.process.returncode}) without a violation:\n" + run.text()[-2000:]
        elif (line := fitting_line(bug, violation)) is None:
            result["why"] = "the violation is not one that this bug explains:\n" + violation[:2000]
        else:
            result.update(caught=True, violation=line, repeat=f"FURROW_PLANT={bug} {run.repeat()}")
        return result
    finally:
        for run in runs:
            run.stop()


def run_clean(folder):
    began = time.monotonic()
    runs = start(folder, "", [f"--states={CLEAN_STATES}"])
    try:
        failed = wait_for_failure(runs, CLEAN_LIMIT)
        result = {"ok": all(run.process.poll() == 0 for run in runs), "seconds": round(time.monotonic() - began, 1)}
        result["states"] = sum(run.states() or 0 for run in runs)
        if failed is not None:
            result["why"] = f"{failed.name}:\n" + failed.text()[-4000:]
        elif not result["ok"]:
            result["why"] = f"not through in {CLEAN_LIMIT} s"
        return result
    finally:
        for run in runs:
            run.stop()


def row(name, result, verdict):
    states = result.get("states")
    print(f"{name:<17} {result['seconds']:>7.1f} {'-' if states is None else states:>7}  {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, help="where the simulator's programs are")
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each bug")
    parser.add_argument("bugs", nargs="*", metavar="BUG")
    options = parser.parse_args()
    for bug in options.bugs:
        if bug not in BUGS:
            parser.error(f"no planted bug {bug}; there are {', '.join(BUGS)}")

    print(f"{'bug':<17} {'seconds':>7} {'states':>7}  first violation")
    results = []
    for bug in options.bugs or BUGS:
        result = hunt(options.programs, bug, options.limit)
        results.append(result)
        row(bug, result, result["violation"][:100] if result["caught"] else "NOT CAUGHT: " + result["why"])
    clean = run_clean(options.programs)
    row("(none)", clean, "no violation" if clean["ok"] else "FAILED: " + clean["why"])

    missed = [result["bug"] for result in results if not result["caught"]]
    passed = not missed and clean["ok"]
    if options.json:
        report = {"schema": "furrow.sim_selftest", "limit_seconds": options.limit, "bugs": results, "clean": clean,
                  "passed": passed}
        with open(options.json + ".new", "w", encoding="utf-8") as out:
            json.dump(report, out, indent=2)
            out.write("\n")
        os.replace(options.json + ".new", options.json)
    print(f"{len(results) - len(missed)} of {len(results)} planted bugs caught; without any: "
          f"{'no violation' if clean['ok'] else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
