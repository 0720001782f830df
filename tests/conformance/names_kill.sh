#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# names_kill.sh [--rounds=20] [--seed=N] [--fs=furrow|posix] [--stage=off] [--dir=PARENT] [--self-test]
#
# A program that changes names and closes files without any sync (names_kill_test.cc) is killed with SIGKILL at a random
# moment; a new process compares what is there with what had returned, in this round's directory and all earlier ones. Prints one
# line; non-zero if a call that returned left no trace. --self-test: the device loses its stage at each kill, which the check must see.
. "$(dirname "$0")/lib.sh"

rounds=20
seed=$(date +%s)
fs=furrow
stage=on
parent=${TMPDIR:-/tmp}
self_test=0
for argument in "$@"; do
  case $argument in
    --rounds=*) rounds=${argument#*=} ;;
    --seed=*) seed=${argument#*=} ;;
    --fs=furrow | --fs=posix) fs=${argument#*=} ;;
    --stage=off) stage=off ;;
    --dir=*) parent=${argument#*=} ;;
    --self-test) self_test=1 ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
program=$BUILD/tests/names_kill_test
[[ -x $program ]] || die "$program is missing; build it: tests/scripts/build.sh release names_kill_test"
make_scratch "$parent"
need_space "$parent" 5
root=
if [[ $fs == posix ]]; then
  uri=posix
  mkdir "$SCRATCH/posix"
  root=$SCRATCH/posix
else
  mkdir "$SCRATCH/stages"
  uri="furrow://dir:$SCRATCH/device?stage_dir=$SCRATCH/stages&stage=$stage"
  new_device "$SCRATCH/device" 64 64MiB  # nothing is collected yet, and all rounds stay
fi
RANDOM=$((seed % 32768))

for ((round = 1; round <= rounds; ++round)); do
  "$program" write "$uri" "$root/r$round" "$SCRATCH/acks$round" $((seed + round)) >"$SCRATCH/log" 2>&1 &
  writer=$!
  CHILDREN=("$writer")
  milliseconds=$((100 + RANDOM % 900))
  sleep "$(printf '%d.%03d' $((milliseconds / 1000)) $((milliseconds % 1000)))"
  kill -KILL "$writer" 2>/dev/null || true  # if it is gone, its exit code says so
  wait "$writer" 2>/dev/null && rc=0 || rc=$?
  # shellcheck disable=SC2034  # clean_up reads it
  CHILDREN=()
  ((rc == 137)) || { show_log "$SCRATCH/log"; die "round $round on $fs, seed $seed: the writer ended by itself (exit code $rc)"; }
  if ((self_test)); then rm -f "$SCRATCH"/stages/*; fi
  for ((r = 1; r <= round; ++r)); do
    timeout --kill-after=5 120 "$program" check "$uri" "$root/r$r" "$SCRATCH/acks$r" $((seed + r)) >"$SCRATCH/log" 2>&1 && rc=0 || rc=$?
    ((rc == 0)) && continue
    if ((self_test)) && ((rc == 1)); then
      say "self-test: the planted loss was found in round $round, seed $seed"
      exit 0
    fi
    show_log "$SCRATCH/log"
    die "round $round of $rounds on $fs, seed $seed, directory r$r: calls that returned are lost (exit code $rc)"
  done
done
((!self_test)) || die "self-test: the planted loss was not found in $rounds rounds, seed $seed"
calls=$(cat "$SCRATCH"/acks* | wc -l)
((calls > 0)) || die "nothing was ever acknowledged"
say "$rounds kills on $fs, seed $seed: nothing lost of $calls calls that returned"
