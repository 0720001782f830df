#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# crashtest.sh [--minutes=10] [--sync-off] [--features] [--whitebox] [--interval=20] [--seed=N] [--fs=furrow|posix]
#              [--dir=PARENT] [--self-test] [-- OPTIONS OF DB_CRASHTEST_PY...]
#
# RocksDB's own db_crashtest.py blackbox on Furrow (or on the host's file system, which tells whose fault a failure is):
# db_stress with random options is killed with SIGKILL at a random moment, at the latest after --interval seconds, and
# the next one first compares the whole database with what had returned from the last one. The WAL is on; with
# --sync-off nothing is ever synced by a write, without it in one run of twenty, as RocksDB has it. At the end a run
# that is not killed verifies everything once more: "verified OK". --self-test: after a kill the stage is deleted, so
# that unsynced writes are gone; db_stress must report the loss. What is turned off, and why, is in crashtest.py.
# --features: checkpoints, backups, ingested files and reopened databases come often, not once in a million operations.
# --whitebox: db_crashtest.py's other mode, all by itself: db_stress kills itself at places in RocksDB's code, and each
# run checks what the one before it left. It takes no seed.
# The seed decides options and moments; the interleaving of db_stress' threads is what it is.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rocksdb_source.sh"

minutes=10
interval=20
seed=$(date +%s)
fs=furrow
parent=${TMPDIR:-/tmp}
options=()
features=()
more=()  # for db_crashtest.py
self_test=0
whitebox=0
stages=
while (($#)); do
  argument=$1
  shift
  case $argument in
    --minutes=*) minutes=${argument#*=} ;;
    --interval=*) interval=${argument#*=} ;;
    --sync-off) options+=(--sync-off) ;;
    --features) features=(--checkpoint_one_in=5000 --backup_one_in=10000 --ingest_external_file_one_in=2000 --reopen=2) ;;
    --whitebox) whitebox=1 ;;
    --seed=*) seed=${argument#*=} ;;
    --fs=furrow | --fs=posix) fs=${argument#*=} ;;
    --dir=*) parent=${argument#*=} ;;
    --self-test) self_test=1 ;;
    --)
      more=("$@")
      break
      ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
((!self_test)) || [[ $fs == furrow ]] || die "--self-test deletes Furrow's stage: there is none on $fs"
need_db_stress
make_scratch "$parent"
need_space "$parent" 12
mkdir "$SCRATCH/host"  # db_crashtest.py's own files: the expected values
if [[ $fs == furrow ]]; then
  # In memory, as a stage is meant to be, if there is such a place here.
  stages=$(mktemp -d "/dev/shm/furrow-crashtest.XXXXXX" 2>/dev/null) || stages=$(mktemp -d "$SCRATCH/stages.XXXXXX")
  trap 'clean_up; if [[ ${KEEP:-0} == 0 ]]; then rm -rf "$stages"; fi' EXIT
  uri="furrow://dir:$SCRATCH/device?stage_dir=$stages"
  # Without a garbage collector the many small files that db_stress keeps can pin many zones.
  new_device "$SCRATCH/device" 512 16MiB
  options+=("--fs_uri=$uri" "--preload=$LIBRARY")
fi
if ((self_test)); then options+=("--lose=$stages"); fi

# run_whitebox: prints how often db_stress died as it should. The odds make it die every few seconds.
run_whitebox() {
  local command=$SCRATCH/db_stress on_fs=() rc=0
  printf '#!/bin/sh\nexec env %s "%s" "$@"\n' "${LIBRARY:+LD_PRELOAD=\"$LIBRARY\"}" "$DB_STRESS" >"$command"
  if [[ $fs == furrow ]]; then on_fs=("--fs_uri=$uri"); fi
  chmod +x "$command"
  TEST_TMPDIR=$SCRATCH/host timeout --kill-after=10 "$((minutes * 60 + 600))" python3 "$ROCKSDB_SOURCE/tools/db_crashtest.py" \
    --stress_cmd="$command" --simple whitebox --duration="$((minutes * 60))" --random_kill_odd=3000 --ops_per_thread=3000 \
    --max_key=5000 --threads=8 --mmap_read=0 "${on_fs[@]}" "${features[@]}" "${more[@]}" \
    >"$SCRATCH/whitebox.log" 2>&1 || rc=$?
  if ((rc == 0)); then
    say "whitebox on $fs: verified OK in $minutes minutes: $(grep -c 'KILLED\|Crashing at' "$SCRATCH/whitebox.log") kills"
  else
    show_log "$SCRATCH/whitebox.log"
  fi
  return "$rc"
}

if ((whitebox)); then
  run_whitebox && exit 0
  # shellcheck disable=SC2034  # clean_up reads it
  KEEP=1
  die "whitebox on $fs: failed; device and log are kept in $SCRATCH"
fi
TEST_TMPDIR=$SCRATCH/host python3 "$(dirname "$0")/crashtest.py" "$ROCKSDB_SOURCE/tools/db_crashtest.py" "$DB_STRESS" \
  --minutes="$minutes" --interval="$interval" --seed="$seed" --logs="$SCRATCH" "${options[@]}" "${features[@]}" "${more[@]}" && rc=0 || rc=$?
if ((rc != 0)); then
  # shellcheck disable=SC2034  # clean_up reads it
  KEEP=1
  die "$fs, seed $seed: failed (exit code $rc); device, expected values and logs are kept in $SCRATCH${stages:+, the stage in $stages}"
fi
if [[ $fs == furrow ]] && ((!self_test)); then
  say "$fs, seed $seed: verified OK; $(df_field "$uri" zone_resets) zone resets"
else
  say "$fs, seed $seed: $( ((self_test)) && echo "the planted loss was found" || echo "verified OK")"
fi
