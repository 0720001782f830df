#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kill.sh [--rounds=50] [--seed=N] [--threads=4] [--zone-size=8MiB] [--fs=furrow|posix] [--dir=PARENT]
#         [--no-sync] [--stage=off] [--self-test]
#
# A writer of synced batches (kill_test.cc) is killed with SIGKILL at a random moment, the opening of the database
# included, and a new process compares the whole database with what was acknowledged; as often as said, on one device,
# whose zones are small so that they are filled and reset often. Every third check ends without closing the database. Prints one line; non-zero if an acknowledged batch is missing, wrong or half there,
# or if a database does not open. --no-sync: the batches are written to the WAL without a sync; what was acknowledged has to be there
# all the same, as it is on the host's own file system. --stage=off: Furrow without its shared memory. --self-test: the writer acknowledges what it has not written; the check must see it.
. "$(dirname "$0")/lib.sh"

rounds=50
seed=$(date +%s)
threads=4
zone_size=8MiB
fs=furrow
parent=${TMPDIR:-/tmp}
self_test=0
no_sync=0
stage=on
for argument in "$@"; do
  case $argument in
    --rounds=*) rounds=${argument#*=} ;;
    --seed=*) seed=${argument#*=} ;;
    --threads=*) threads=${argument#*=} ;;
    --zone-size=*) zone_size=${argument#*=} ;;
    --fs=furrow | --fs=posix) fs=${argument#*=} ;;
    --dir=*) parent=${argument#*=} ;;
    --no-sync) no_sync=1 ;;
    --stage=off) stage=off ;;
    --self-test) self_test=1 ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
program=$BUILD/tests/kill_test
[[ -x $program ]] || die "$program is missing; build it: tests/scripts/build.sh release kill_test"
make_scratch "$parent"
need_space "$parent" 3
if [[ $fs == posix ]]; then
  uri=posix
  database=$SCRATCH/db
else
  mkdir "$SCRATCH/stages"
  uri="furrow://dir:$SCRATCH/device?stage_dir=$SCRATCH/stages&stage=$stage"
  database=/kill
  new_device "$SCRATCH/device" 64 "$zone_size"
fi
common=("$uri" "$database" "$SCRATCH/acks" "$seed" "$threads")
write_flags=()
if ((no_sync)); then write_flags=(--no-sync); fi
if ((self_test)); then write_flags=(--unsynced); fi
RANDOM=$((seed % 32768))

# give_up ROUND TEXT EXIT_CODE
give_up() {
  if ((self_test)) && [[ $3 == 1 ]]; then
    say "self-test on $fs: the planted loss was found in round $1, seed $seed"
    exit 0
  fi
  sed 's/^/    /' "$SCRATCH/log" >&2
  die "round $1 of $rounds on $fs, seed $seed: $2 (exit code $3)"
}

for ((round = 1; round <= rounds; ++round)); do
  "$program" write "${common[@]}" "${write_flags[@]}" >"$SCRATCH/log" 2>&1 &
  writer=$!
  CHILDREN=("$writer")
  # Up to 1.5 s; every fifth within the first 150 ms, where the database is being opened and recovered.
  milliseconds=$((RANDOM % 1500))
  if ((round % 5 == 0)); then milliseconds=$((RANDOM % 150)); fi
  sleep "$(printf '%d.%03d' $((milliseconds / 1000)) $((milliseconds % 1000)))"
  kill -KILL "$writer" 2>/dev/null || true  # if it is gone, its exit code says so
  wait "$writer" 2>/dev/null && rc=0 || rc=$?
  # shellcheck disable=SC2034  # clean_up reads it
  CHILDREN=()
  ((rc == 137)) || give_up "$round" "the writer ended by itself" "$rc"
  check_flags=()
  if ((round % 3 == 0)); then check_flags=(--abandon); fi
  timeout --kill-after=5 120 "$program" check "${common[@]}" "${check_flags[@]}" >"$SCRATCH/log" 2>&1 && rc=0 || rc=$?
  ((rc == 0)) || give_up "$round" "after the kill at $milliseconds ms the database is not what was acknowledged" "$rc"
done
((!self_test)) || die "self-test on $fs: the planted loss was not found in $rounds rounds, seed $seed"
[[ $(tail -n 1 "$SCRATCH/log" | cut -d" " -f1) -gt 0 ]] || die "nothing was ever acknowledged: $(cat "$SCRATCH/log")"
resets=
if [[ $fs != posix ]]; then resets=", $(df_field "$uri" zone_resets) zone resets"; fi
say "$rounds kills on $fs, seed $seed: nothing lost; $(tail -n 1 "$SCRATCH/log")$resets at the end"
