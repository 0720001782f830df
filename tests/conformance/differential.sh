#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The long comparison of random file-system calls with POSIX, in chunks; a run that was stopped goes on where it was.
#   tests/conformance/differential.sh [--operations=1000000] [--seed=N] [--json=FILE] [--self-test]
# --seed: a fresh one, printed, unless FILE has one. --json: what has been done, and how it came out; a FILE that is there
# is gone on with. Sequences that differ are left beside FILE (in /tmp without one). Non-zero if anything differs.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OPERATIONS=1000000 SEED= JSON= SELF_TEST=0
CHUNK=50000  # operations, in rounds of 1000
for argument in "$@"; do
  case $argument in
    --operations=*) OPERATIONS=${argument#*=} ;;
    --seed=*) SEED=${argument#*=} ;;
    --json=*) JSON=${argument#*=} ;;
    --self-test) SELF_TEST=1 ;;
    *) die "'$argument' is not understood; see the head of $0" ;;
  esac
done
TEST=$BUILD/tests/differential_test
[[ -x $TEST ]] || die "$TEST is missing; build it: tests/scripts/build.sh release differential_test"
if ((SELF_TEST)); then exec "$TEST" --self-test ${SEED:+--seed=$SEED}; fi
[[ $OPERATIONS =~ ^[1-9][0-9]*$ ]] || die "--operations=$OPERATIONS is no number"

OUT=/tmp
if [[ -n $JSON ]]; then OUT=$(dirname "$JSON"); fi

# state KEY DEFAULT: a number of FILE.
state() {
  if [[ -z $JSON || ! -s $JSON ]]; then
    echo "$2"
    return
  fi
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], sys.argv[3]))' "$JSON" "$1" "$2"
}

save() {
  [[ -n $JSON ]] || return 0
  printf '{"operations": %d, "chunk": %d, "seed": %d, "chunks_done": %d, "failures": %d}\n' \
    "$OPERATIONS" "$CHUNK" "$SEED" "$DONE" "$FAILURES" >"$JSON.new"
  mv "$JSON.new" "$JSON"
}

SEED=$(state seed "${SEED:-$((RANDOM * 32768 + RANDOM))}")
CHUNK=$(state chunk "$CHUNK")
DONE=$(state chunks_done 0)
FAILURES=$(state failures 0)
say "$OPERATIONS operations from seed $SEED on, $((DONE * CHUNK)) of them done"
BEGIN=$SECONDS
while ((DONE * CHUNK < OPERATIONS)); do
  left=$((OPERATIONS - DONE * CHUNK))
  status=0
  "$TEST" --operations=$((left < CHUNK ? left : CHUNK)) --seed=$((SEED + DONE * (CHUNK / 1000))) --out="$OUT" || status=$?
  if ((status > 1)); then die "differential_test cannot run"; fi
  if ((status)); then FAILURES=$((FAILURES + 1)); fi
  DONE=$((DONE + 1))
  save
done
say "$OPERATIONS operations, $FAILURES chunks with a difference, $((SECONDS - BEGIN)) s"
((FAILURES == 0))
