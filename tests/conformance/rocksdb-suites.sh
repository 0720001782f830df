#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# rocksdb-suites.sh [--quick|--full] [--fs=furrow|posix] [--seed=N] [--dir=PARENT] [--self-test] [SUITE...]
#
# RocksDB's own test programs on Furrow: built from the distribution's source package against the installed
# librocksdb.so (kept in FURROW_CACHE; nothing of them is in this project), each on fresh devices, two at a time. Programs
# that take TEST_FS_URI get it; the others get Furrow as RocksDB's default file system. A suite counts only if its
# calls went through Furrow. Prints a line for each: passed, failed, skipped, calls; failed cases by name, but for those
# that rocksdb-suites.except names with the reason why they cannot apply. Non-zero for any other.
#   --quick (default): env_basic_test checkpoint_test db_secondary_test
#   --full: these, db_basic_test, backup_engine_test and more (see below), db_stress with 200,000 operations,
#           db_crashtest.py blackbox and whitebox (a minute each; crashtest.sh runs them for as long as one likes)
# --fs=posix runs them on the host's file system: it tells whose fault a failure is. --self-test: a suite without Furrow
# must count as failed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rocksdb_source.sh"

QUICK=(env_basic_test checkpoint_test db_secondary_test)
FULL=("${QUICK[@]}" db_basic_test db_wal_test db_log_iter_test fault_injection_test external_sst_file_basic_test
  external_sst_file_test import_column_family_test db_blob_basic_test repair_test backup_engine_test)
OTHERS=(db_stress crashtest-blackbox crashtest-whitebox)

suites=()
fs=furrow
seed=$(date +%s)
parent=${TMPDIR:-/tmp}
self_test=0
for argument in "$@"; do
  case $argument in
    --quick) suites=("${QUICK[@]}") ;;
    --full) suites=("${FULL[@]}" "${OTHERS[@]}") ;;
    --fs=furrow | --fs=posix) fs=${argument#*=} ;;
    --seed=*) seed=${argument#*=} ;;
    --dir=*) parent=${argument#*=} ;;
    --self-test) self_test=1 ;;
    --*) die "unknown argument $argument (see the head of $0)" ;;
    *) suites+=("$argument") ;;
  esac
done
((${#suites[@]})) || suites=("${QUICK[@]}")

# The source of a test program, below ROCKSDB_SOURCE.
source_of() {
  case $1 in
    env_basic_test) echo env/env_basic_test.cc ;;
    checkpoint_test) echo utilities/checkpoint/checkpoint_test.cc ;;
    backup_engine_test) echo utilities/backup/backup_engine_test.cc ;;
    db_blob_basic_test) echo db/blob/db_blob_basic_test.cc ;;
    *) echo "db/$1.cc" ;;
  esac
}

# How a program comes to Furrow: "uri" through TEST_FS_URI, "default" where it uses Env::Default() (in 7.8 env_basic_test
# takes the URI for an Env's and quietly runs on POSIX).
way_of() {
  case $1 in
    env_basic_test | checkpoint_test | backup_engine_test | import_column_family_test | repair_test | fault_injection_test | db_wal_test) echo default ;;
    *) echo uri ;;
  esac
}

run_suite() {
  local suite=$1 library=$LIBRARY
  [[ $(way_of "$suite") == uri ]] || library=$DEFAULT_LIBRARY:$SCRATCH/realpath.so
  [[ $fs == furrow ]] && ((!self_test)) || library=
  python3 "$(dirname "$0")/rocksdb_suites.py" "$SUITES/$suite" --way="$(way_of "$suite")" --library="$library" \
    --furrow="$FURROW" --scratch="$SCRATCH/$suite" --except="$(dirname "$0")/rocksdb-suites.except" --fs="$fs" --jobs="$JOBS"
}

run_stress() {
  local uri="furrow://dir:$SCRATCH/device" rc=0 calls
  new_device "$SCRATCH/device" 512 16MiB
  mkdir -p "$SCRATCH/stress/expected"
  timeout --kill-after=5 1800 env LD_PRELOAD="$LIBRARY" FURROW_CALLS_FILE="$SCRATCH/stress/calls" TEST_TMPDIR="$SCRATCH/stress" \
    "$DB_STRESS" --fs_uri="$uri" --db=/db --expected_values_dir="$SCRATCH/stress/expected" --seed="$((seed % 1000000))" \
    --threads=8 --ops_per_thread=25000 --max_key=20000 --reopen=4 --checkpoint_one_in=5000 --backup_one_in=20000 \
    --ingest_external_file_one_in=2000 --write_buffer_size=1048576 --target_file_size_base=524288 --progress_reports=0 \
    --max_bytes_for_level_base=4194304 --clear_column_family_one_in=0 >"$SCRATCH/stress/log" 2>&1 || rc=$?
  calls=$(awk '{ n += $2 } END { print n + 0 }' "$SCRATCH/stress/calls" 2>/dev/null || echo 0)
  if ((rc == 0)) && grep -q 'Verification successful' "$SCRATCH/stress/log" && ((calls > 0)); then
    say "db_stress: 200000 operations, verified OK, $calls calls"
    return 0
  fi
  show_log "$SCRATCH/stress/log"
  say "db_stress: FAILED (exit code $rc), seed $seed, $calls calls"
  return 1
}

run_crashtest() {
  local flags=(--minutes=1 --seed="$seed" --dir="$parent")
  [[ $1 == blackbox ]] || flags+=(--whitebox)
  "$(dirname "$0")/crashtest.sh" "${flags[@]}"
}

need_build
DEFAULT_LIBRARY=$(compgen -G "$BUILD/lib/libfurrow-default-rocksdb*.so" | head -n 1)
[[ -n $DEFAULT_LIBRARY ]] || die "$BUILD/lib/libfurrow-default-rocksdb*.so is missing; build it: tests/scripts/build.sh release furrow_default"
make_scratch "$parent"
need_space "$parent" 12
tests=()
for suite in "${suites[@]}"; do
  [[ " ${OTHERS[*]} " == *" $suite "* ]] || tests+=("$suite")
done
g++ -shared -fPIC -O1 -o "$SCRATCH/realpath.so" "$(dirname "$0")/realpath_shim.cc" -ldl || die "realpath_shim.cc does not compile"
need_suites "${tests[@]}"
if [[ " ${suites[*]} " == *" db_stress "* ]]; then need_db_stress; fi

if ((self_test)); then
  if run_suite "${tests[0]}" >"$SCRATCH/log" 2>&1; then die "self-test: ${tests[0]} without Furrow counted as passed"; fi
  grep -q 'no call went through Furrow' "$SCRATCH/log" || { show_log "$SCRATCH/log"; die "self-test: it failed for another reason"; }
  say "self-test: a suite that is not on Furrow fails"
  exit 0
fi
failed=0
for suite in "${suites[@]}"; do
  case $suite in
    db_stress) run_stress ;;
    crashtest-*) run_crashtest "${suite#crashtest-}" ;;
    *) run_suite "$suite" ;;
  esac || failed=$((failed + 1))
done
((failed == 0)) || die "$failed of ${#suites[@]} suites failed"
say "${#suites[@]} suites passed on $fs"
