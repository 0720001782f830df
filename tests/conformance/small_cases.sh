#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# small_cases.sh [--quick|--medium|--full] [--dir=PARENT]
#
# Cases that file systems on zones have got wrong (small_cases_*_test.cc), in amounts that are too slow for every build.
# --full (default): 100,000 deletes against an opening reader, 200,000 random reads per file, 3,000 bad URIs, files of 5 GiB
# in zones of 4 and 8 GiB, logs of 256 MiB, 100,000 syncs, 30 overwrites of 8 column families. Needs 12 GiB in PARENT.
. "$(dirname "$0")/lib.sh"

amount=full
parent=${TMPDIR:-/tmp}
for argument in "$@"; do
  case $argument in
    --quick | --medium | --full) amount=${argument#--} ;;
    --dir=*) parent=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

space=2
if [[ $amount == full ]]; then space=12; fi
need_space "$parent" "$space"
make_scratch "$parent"
failures=0
for test in small_cases_files_test small_cases_devices_test small_cases_logs_test; do
  program=$BUILD/tests/$test
  [[ -x $program ]] || die "$program is missing; build it: tests/scripts/build.sh release $test"
  start=$SECONDS
  FURROW_SMALL_CASES=$amount TMPDIR=$SCRATCH "$program" --gtest_brief=1 >"$SCRATCH/$test.log" 2>&1 || {
    failures=$((failures + 1))
    grep -v '^furrow: ' "$SCRATCH/$test.log" | tail -n 40 >&2
  }
  grep -E '^[0-9]|PASSED|FAILED' "$SCRATCH/$test.log" || true
  say "$test ($amount): $((SECONDS - start)) s"
done
((failures == 0))
