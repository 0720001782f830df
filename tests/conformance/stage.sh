#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# stage.sh [--rounds=3] [--seed=N] [--dir=PARENT] [--self-test]
#
# What may be lost with the stage, and what may not. Each case writes with kill_test, makes the stage go as a power cut would, and
# compares the database with what was acknowledged:
#   close, exit    a clean close, or exit() with the database open, then loss of the stage: everything unsynced is there
#   settle         SIGKILL, `furrow settle`, then loss of the stage: the same; also with `furrow settle --all`
#   synced         SIGKILL, then loss of the stage: every synced batch is there, and the device mounts
#   copy           SIGKILL, `cp -r` of the device; the copy mounts with what was on the device, and does not touch the stage; then
#                  the original has everything
#   damaged        SIGKILL, then a damaged stage: a read-write mount is refused with the remedy, a read-only one goes on; after
#                  `furrow settle --drop-damaged` the device mounts
# Prints a line for each; non-zero at the first that fails. --self-test: an unsynced writer dies right behind an acknowledged batch, and
# the stage is lost; the check must see it.
. "$(dirname "$0")/lib.sh"

rounds=3
seed=$(date +%s)
parent=${TMPDIR:-/tmp}
self_test=0
for argument in "$@"; do
  case $argument in
    --rounds=*) rounds=${argument#*=} ;;
    --seed=*) seed=${argument#*=} ;;
    --dir=*) parent=${argument#*=} ;;
    --self-test) self_test=1 ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
program=$BUILD/tests/kill_test
[[ -x $program ]] || die "$program is missing; build it: tests/scripts/build.sh release kill_test"
make_scratch "$parent"
need_space "$parent" 3
stages=$SCRATCH/stages
threads=3
RANDOM=$((seed % 32768))

fresh() {
  rm -rf "$SCRATCH"/acks* "$stages" "$SCRATCH/copy"
  mkdir "$stages"
  new_device "$SCRATCH/device" 64 8MiB
  uri="furrow://dir:$SCRATCH/device?stage_dir=$stages"
}

fail() {
  show_log "$SCRATCH/log"
  die "$case_name, round $round, seed $seed: $1"
}

# write_and_kill FLAGS...: the writer dies at a random moment.
write_and_kill() {
  "$program" write "$uri" /db "$SCRATCH/acks" "$seed" "$threads" "$@" >"$SCRATCH/log" 2>&1 &
  local writer=$! rc
  CHILDREN=("$writer")
  sleep "1.$(printf '%03d' $((RANDOM % 1000)))"
  kill -KILL "$writer" 2>/dev/null || true
  wait "$writer" 2>/dev/null && rc=0 || rc=$?
  # shellcheck disable=SC2034  # clean_up reads it
  CHILDREN=()
  ((rc == 137)) || fail "the writer ended by itself (exit code $rc)"
}

# write_for FLAGS...: the writer ends by itself.
write_for() {
  timeout --kill-after=5 60 "$program" write "$uri" /db "$SCRATCH/acks" "$seed" "$threads" --no-sync --for=1000 "$@" \
    >"$SCRATCH/log" 2>&1 || fail "the writer failed"
}

# write_and_die: the writer dies where its last batch can be in the stage alone. (At a random moment it mostly waits for RocksDB's
# flushes and compactions, with everything drained.)
write_and_die() {
  timeout --kill-after=5 60 "$program" write "$uri" /db "$SCRATCH/acks" "$seed" "$threads" --no-sync --for=1000 --die \
    >"$SCRATCH/log" 2>&1 &
  local rc
  wait $! 2>/dev/null && rc=0 || rc=$?
  ((rc == 137)) || fail "the writer ended by itself (exit code $rc)"
}

lose_stage() { rm -f "$stages"/*; }

need_stage() { compgen -G "$stages/furrow-stage-*" >/dev/null || fail "there is no stage: the case shows nothing"; }

check() {
  timeout --kill-after=5 120 "$program" check "${1:-$uri}" /db "$SCRATCH/acks" "$seed" "$threads" >"$SCRATCH/log" 2>&1
}

must_hold() {
  check || fail "$1"
  [[ $(tail -n 1 "$SCRATCH/log" | cut -d' ' -f1) -gt 0 ]] || fail "nothing was acknowledged"
}

run_close() {
  write_for
  lose_stage
  must_hold "a clean close left something in the stage alone"
}
run_exit() {
  write_for --exit
  lose_stage
  must_hold "exit() left something in the stage alone"
}
run_settle() {
  write_and_kill --no-sync
  need_stage
  if ((round % 2)); then
    "$FURROW" settle "$uri" >"$SCRATCH/log" 2>&1 || fail "settle failed"
  else
    "$FURROW" settle --all --stage-dir="$stages" >"$SCRATCH/log" 2>&1 || fail "settle --all failed"
  fi
  ! compgen -G "$stages/furrow-stage-*" >/dev/null || fail "settle left the stage"
  must_hold "settle did not make everything durable"
}
run_synced() {
  write_and_kill
  need_stage
  lose_stage
  must_hold "a synced batch needed the stage"
}
run_copy() {
  write_and_kill --no-sync
  need_stage
  cp -r "$SCRATCH/device" "$SCRATCH/copy"
  local before after
  before=$(sha256sum "$stages"/furrow-stage-*)
  # The copy is as after a power cut: a database that opens, with less in it.
  LD_PRELOAD=$LIBRARY ldb --fs_uri="furrow://dir:$SCRATCH/copy?stage_dir=$stages" --db=/db --column_family=default put settled yes >"$SCRATCH/log" 2>&1 ||
    fail "the copy does not mount"
  grep -q 'is a copy' "$SCRATCH/log" || fail "the mount of the copy does not say so"
  after=$(sha256sum "$stages"/furrow-stage-*)
  [[ $before == "$after" ]] || fail "the copy's mount touched the original's stage"
  must_hold "the original lost something to its copy"
}
run_damaged() {
  write_and_kill --no-sync
  need_stage
  local stage
  stage=$(compgen -G "$stages/furrow-stage-*")
  # Into the bytes of the chunks, behind header and tables.
  python3 - "$stage" <<'PYTHON'
import os, sys
with open(sys.argv[1], "r+b") as f:
    at = os.lseek(f.fileno(), 1 << 20, os.SEEK_DATA)
    f.seek(at + 100)
    byte = f.read(1)
    f.seek(at + 100)
    f.write(bytes([byte[0] ^ 0x55]))
PYTHON
  if check; then fail "a damaged stage was accepted"; fi
  grep -q 'settle --drop-damaged' "$SCRATCH/log" || fail "the refusal does not name the remedy"
  "$FURROW" ls "furrow://dir:$SCRATCH/device" >"$SCRATCH/log" 2>&1 || fail "a read-only mount does not go on"
  "$FURROW" settle --drop-damaged "$uri" >"$SCRATCH/log" 2>&1 || fail "settle --drop-damaged failed"
  LD_PRELOAD=$LIBRARY ldb --fs_uri="$uri" --db=/db --column_family=default put settled yes >"$SCRATCH/log" 2>&1 || fail "the device does not mount afterwards"
}

case_name=
if ((self_test)); then
  case_name=self-test
  for ((round = 1; round <= rounds; ++round)); do
    fresh
    write_and_die
    need_stage
    lose_stage
    if check; then fail "the planted loss was not found"; fi
  done
  say "self-test: the planted loss was found $rounds times"
  exit 0
fi
for case_name in close exit settle synced copy damaged; do
  for ((round = 1; round <= rounds; ++round)); do
    fresh
    "run_$case_name"
  done
  say "$case_name: as promised, $rounds times"
done
