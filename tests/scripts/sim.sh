#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# sim.sh [--minutes=M | --states=N] [--seed=N] [--workload=NAME|all|crash|media] [--json=FILE] [--background]
#
# The crash simulator as a soak: workload after workload, seed after seed, each state mounted and compared; then a real
# RocksDB, whose device calls are recorded once and cut off at many moments. Prints the states of each workload. Exit 1: a
# violation was found; the line before it repeats it.
#
# --json=FILE keeps the result (of furrow_sim) as it grows; a run that was interrupted goes on with it when it is started
# in the same words. --background: returns at once; the log is FILE.log.
set -euo pipefail
cd "$(dirname "$0")/../.."
minutes=0
states=0
seed=1
workload=all
json=
background=0
for word in "$@"; do
  case $word in
    --minutes=*) minutes=${word#*=} ;;
    --states=*) states=${word#*=} ;;
    --seed=*) seed=${word#*=} ;;
    --workload=*) workload=${word#*=} ;;
    --json=*) json=${word#*=} ;;
    --background) background=1 ;;
    *)
      echo "sim.sh: unknown word '$word'" >&2
      sed -n '4,5p' "$0" >&2
      exit 2
      ;;
  esac
done
if [[ $minutes == 0 && $states == 0 ]]; then minutes=30; fi
bin=build/release/tests
if [[ ! -x $bin/furrow_sim || ! -x $bin/rocksdb_crash_test ]]; then tests/scripts/build.sh release; fi

if ((background)); then
  json=${json:-build/sim-$seed.json}
  nohup "$0" --minutes="$minutes" --states="$states" --seed="$seed" --workload="$workload" --json="$json" \
    >>"$json.log" 2>&1 </dev/null &
  echo "process $! writes $json, its log is $json.log"
  exit 0
fi

rc=0
"$bin/furrow_sim" --workload="$workload" --seed="$seed" --minutes="$minutes" --states="$states" ${json:+--json="$json"} || rc=$?
if [[ $workload == all || $workload == crash ]]; then
  # A twentieth of the whole; a state takes about 5 ms.
  cuts=$(awk -v m="$minutes" -v s="$states" 'BEGIN { print int(s > 0 ? s / 20 : m * 600) }')
  FURROW_CRASH_SEED=$seed FURROW_CRASH_STATES=$cuts "$bin/rocksdb_crash_test" || rc=1
fi
exit $rc
