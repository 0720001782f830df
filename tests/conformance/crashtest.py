# SPDX-License-Identifier: Apache-2.0
"""Runs RocksDB's db_crashtest.py, unchanged, in blackbox mode, with kills at random moments, and counts what happened.

Usage: crashtest.py DB_CRASHTEST_PY DB_STRESS --minutes=M --interval=SECONDS --seed=N --logs=DIR [--sync-off]
       [--fs_uri=URI --preload=LIBRARY] [--lose=STAGE_DIR] [OPTIONS OF DB_CRASHTEST_PY...]

db_crashtest.py chooses db_stress' options anew for each run, and ends with an error if db_stress ends before it is
killed, which it does when its verification fails. What is ours: the seed, the moment of each kill, and a last run that
is let finish, which db_crashtest.py has not. --lose: the files in STAGE_DIR go after the first kill of a run that had written; exit 0 if db_stress'
verification then fails. TEST_TMPDIR is where db_crashtest.py has its files on the host."""

import argparse
import contextlib
import importlib.util
import os
import pathlib
import random
import re
import subprocess
import sys
import time

# What db_crashtest.py would choose at random, and why it may not here.
PINNED = {
    "disable_wal": (0, "without a WAL a kill may lose writes on every file system"),
    "manual_wal_flush_one_in": (0, "RocksDB then keeps records in a buffer of its own, which a kill rightly loses"),
    "sync_fault_injection": (0, "a layer above the file system then drops unsynced bytes on purpose"),
    "test_batches_snapshots": (0, "db_stress then compares the values of one batch with each other, but sees no loss"),
    "mmap_read": (0, "Furrow cannot map files and says so (NotSupported)"),
    "max_key": (20000, "the check before each run reads every key of 10 column families: seconds, not minutes"),
    "threads": (8, "the default, 32, is for machines with more cores"),
}
SYNC_OFF = {"sync": (0, "what returned must survive the process without any sync")}

VERIFIED = "Crash-recovery verification passed"
OPERATING = "Starting database operations"
NOT_VERIFIED = re.compile(r"^.*verification failed.{,120}", re.IGNORECASE | re.MULTILINE)
FINISHED = "Verification successful"
# db_stress 7.8 frees the state that its compaction filter looks at before it closes the database: a run that ends by
# itself may abort ("pthread trylock: Invalid argument") on every file system if it has that filter.
LAST_RUN = ["--ops_per_thread=2000", "--enable_compaction_filter=0"]
# A check of the whole database, and opening it, take seconds; a run that takes this long hangs.
HANGS_AFTER_S = 300


class Over(Exception):
    """Time is up: out of db_crashtest.py's loop before it removes the database."""


class Runner:
    """Starts and kills db_stress in the place of db_crashtest.py's execute_cmd."""

    def __init__(self, options):
        self.chance = random.Random(options.seed)
        self.end = time.monotonic() + options.minutes * 60
        self.logs = pathlib.Path(options.logs)
        self.lose = options.lose
        self.environment = dict(os.environ)
        if options.preload:
            self.environment["LD_PRELOAD"] = options.preload
        self.command = None  # the last one
        self.runs = 0
        self.verified = 0  # runs that had verified what their predecessor left, and gone on, when they were killed
        self.early = 0  # killed before that: in recovery or verification
        self.lost = False  # the loss is planted
        self.found = False  # and seen
        self.remarks = {}  # what db_stress wrote to stderr in runs that went well: line -> how often

    def run(self, command, limit):
        """(killed, exit code, stdout, stderr) of db_stress, which is killed after `limit` seconds."""
        self.runs += 1
        out, err = self.logs / f"run{self.runs}.out", self.logs / f"run{self.runs}.err"
        (self.logs / f"run{self.runs}.command").write_text(" ".join(command) + "\n", encoding="utf-8")
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            # stdbuf: lines must be in the file when the process is killed. It becomes db_stress: same process id.
            child = subprocess.Popen(
                ["stdbuf", "-oL", *command], stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env=self.environment
            )
            try:
                child.wait(timeout=limit)
                killed = False
            except subprocess.TimeoutExpired:
                killed = True
            finally:
                child.kill()
                child.wait()
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
        return killed, child.returncode, texts[0], texts[1]

    def execute(self, command, interval):
        """db_crashtest.py's execute_cmd. Every fourth kill is early: in the opening, the recovery, the first writes."""
        self.command = command
        moment = self.chance.uniform(0.2, 1.0) * interval
        if self.runs % 4 == 3:
            moment = self.chance.uniform(0.02, 0.15) * interval
        killed, code, out, err = self.run(command, moment)
        if killed and NOT_VERIFIED.search(err):
            killed = False  # it had failed, and was about to end
        if killed:
            self.note(moment, out, err)
            if time.monotonic() >= self.end:
                raise Over
        elif self.loss_reported(code, err):
            print(f"run {self.runs}: the loss was reported: {NOT_VERIFIED.search(err)[0]}")
        return killed, code, out, err

    def loss_reported(self, code, err):
        """Whether a run that ended by itself saw the planted loss. Some then abort: see LAST_RUN."""
        self.found = self.lost and code != 0 and bool(NOT_VERIFIED.search(err))
        return self.found

    def note(self, moment, out, err):
        verified = VERIFIED in out and OPERATING in out
        self.verified += verified
        self.early += not verified
        print(f"run {self.runs}: killed after {moment:.2f} s, {'verified, writing' if verified else 'not verified yet'}", flush=True)
        for line in err.splitlines():
            if line and not line.startswith(("WARNING", "furrow: warning")):
                line = re.sub(r"[0-9]+|0x[0-9A-Fa-f]+", "#", line)[:150]
                self.remarks[line] = self.remarks.get(line, 0) + 1
        if self.lose and verified and not self.lost:
            files = list(pathlib.Path(self.lose).iterdir())
            for file in files:
                file.unlink()
            self.lost = bool(files)
            print(f"deleted the stage: {len(files)} files")

    def finish(self):
        """One more run, which ends by itself: what it writes is verified too. False: the verification failed."""
        print("the last run: verify, write a little, verify, end", flush=True)
        killed, code, out, err = self.run(self.command + LAST_RUN, HANGS_AFTER_S)
        if not killed and code == 0 and VERIFIED in out and FINISHED in out:
            return True
        if not killed:
            self.loss_reported(code, err)
        print(f"exit code {code}{' (killed: it hung)' if killed else ''}\n{out[-3000:]}\n{err[-3000:]}")
        return False


def load(path):
    spec = importlib.util.spec_from_file_location("db_crashtest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("script")
    parser.add_argument("db_stress")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--interval", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--sync-off", action="store_true")
    parser.add_argument("--fs_uri")
    parser.add_argument("--preload")
    parser.add_argument("--lose")
    options, options.more = parser.parse_known_args()
    return options


def blackbox(options, runner):
    """db_crashtest.py's main, as if from its command line, with our way to run db_stress. True: all verified."""
    random.seed(options.seed)  # before it is loaded: its tables hold some choices
    script = load(options.script)
    script.execute_cmd = runner.execute
    pinned = {**PINNED, **(SYNC_OFF if options.sync_off else {})}
    sys.argv = [options.script, "blackbox", f"--stress_cmd={options.db_stress}"]
    sys.argv += [f"--duration={round(options.minutes * 60) + 3600}", f"--interval={options.interval}"]
    sys.argv += [f"--{name}={value}" for name, (value, _) in pinned.items()] + options.more
    if options.fs_uri:
        sys.argv.append(f"--fs_uri={options.fs_uri}")
    with open(runner.logs / "db_crashtest.log", "w", encoding="utf-8") as log:
        with contextlib.redirect_stdout(Tee(log, runner)):
            try:
                script.main()
            except Over:
                return runner.finish()
            except SystemExit as end:
                print(f"exit code {end.code} of db_crashtest.py in run {runner.runs}")
    return False


class Tee:
    """db_crashtest.py's talk goes to a log; our own lines, and the end of a failed run, also to the terminal."""

    def __init__(self, log, runner):
        self.log, self.terminal, self.runner, self.failed = log, sys.stdout, runner, False

    def write(self, text):
        self.log.write(text)
        self.failed = self.failed or text.startswith(("Exit Before Killing", "exit code"))
        wanted = self.failed and not self.runner.found
        if wanted or re.match(r"run [0-9]|the last run|deleted the stage", text):
            self.terminal.write(text[-4000:] + ("" if text.endswith("\n") else "\n"))

    def flush(self):
        self.log.flush()
        self.terminal.flush()


def main():
    options = arguments()
    runner = Runner(options)
    start = time.monotonic()
    verified = blackbox(options, runner)
    print(
        f"{runner.runs} runs in {time.monotonic() - start:.0f} s, seed {options.seed}: "
        f"{runner.verified} killed after they had verified all and written, {runner.early} before"
    )
    for line, count in sorted(runner.remarks.items(), key=lambda remark: -remark[1])[:10]:
        print(f"  said in runs that were killed, {count} times: {line}")
    if options.lose:
        return 0 if runner.found else 1
    if verified and runner.verified * 2 < runner.runs:
        print("most runs did not come as far as writing: too little was shown; give it a longer --interval")
        return 1
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(main())
