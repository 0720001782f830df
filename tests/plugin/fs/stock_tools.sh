#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# RocksDB's stock db_bench, ldb and sst_dump with libfurrow.so preloaded, on an emulated device. FURROW_BUILD_DIR: the build
# (build/release). Needs the rocksdb-tools package.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${FURROW_BUILD_DIR:-$here/../../../build/release}
plugin=$build/lib/libfurrow.so
mkfs=$build/bin/face_mkfs
work=$(mktemp -d "${TMPDIR:-/tmp}/furrow-tools.XXXXXX")
trap 'rm -rf "$work"' EXIT
uri=furrow://dir:$work/zones
log=$work/log
checks=0

die() {
  echo "stock_tools: FAILED: $*" >&2
  tail -n 40 "$log" >&2 || true
  exit 1
}
with_furrow() { LD_PRELOAD=$plugin timeout 120 "$@" >"$log" 2>&1; }
# ok COMMAND...: succeeds.
ok() {
  with_furrow "$@" || die "exit $? from: $*"
  checks=$((checks + 1))
}
# shows PATTERN COMMAND...: succeeds and prints a line like that.
shows() {
  local pattern=$1
  shift
  ok "$@"
  grep -qE "$pattern" "$log" || die "no line like '$pattern' from: $*"
}
# refuses PATTERN COMMAND...: exit 1 (no crash) and a message like that.
refuses() {
  local pattern=$1 rc=0
  shift
  with_furrow "$@" || rc=$?
  ((rc == 1)) || die "exit $rc instead of 1 from: $*"
  grep -qE "$pattern" "$log" || die "no message like '$pattern' from: $*"
  checks=$((checks + 1))
}

for tool in db_bench ldb sst_dump; do command -v $tool >"$log" || die "$tool is missing: install rocksdb-tools"; done
[[ -e $plugin ]] || die "$plugin is missing: build the target furrow_plugin"
"$mkfs" "$uri" 64 16 >"$log" 2>&1 || die "mkfs"

bench() {
  shows 'readseq +:' db_bench --fs_uri="$uri" --db="$1" --num=20000 --value_size=800 --write_buffer_size=4194304 \
    --target_file_size_base=4194304 --benchmarks=fillseq,readseq,readrandom,overwrite,compact,readrandom "${@:2}"
  shows '20000 of 20000 found' db_bench --fs_uri="$uri" --db="$1" --num=20000 --use_existing_db=1 --benchmarks=readrandom \
    --value_size=800 --seed=1 "${@:2}"
}
bench /bench/buffered
bench /bench/direct --use_direct_io_for_flush_and_compaction=1 --use_direct_reads=1
shows 'fillsync +:' db_bench --fs_uri="$uri" --db=/bench/sync --num=100000 --writes=200 --benchmarks=fillsync
shows 'fillseq +:' db_bench --env_uri="$uri" --db=/bench/env --num=1000 --benchmarks=fillseq

ldb_ok() { ok ldb --fs_uri="$uri" --db=/small "$@"; }
ldb_shows() { shows "$1" ldb --fs_uri="$uri" --db=/small "${@:2}"; }
ldb_ok --create_if_missing put apple red
ldb_ok put banana yellow
ldb_ok batchput cherry black date brown
ldb_shows '^red$' get apple
ldb_shows '^date : brown$' scan
ldb_ok delete date
refuses 'NotFound|not found|Failed' ldb --fs_uri="$uri" --db=/small get date
ldb_shows 'banana' idump
ldb_ok manifest_dump
ldb_ok checkconsistency
ldb_ok compact
ldb_ok list_column_families
ldb_ok checkpoint --checkpoint_dir=/small-checkpoint
shows '^banana : yellow$' ldb --fs_uri="$uri" --db=/small-checkpoint scan
ldb_ok backup --backup_fs_uri="$uri" --backup_dir=/backup
ok ldb --fs_uri="$uri" --db=/restored restore --backup_fs_uri="$uri" --backup_dir=/backup
shows '^cherry : black$' ldb --fs_uri="$uri" --db=/restored scan
ldb_ok repair
ldb_shows '^apple : red$' scan
ok ldb --fs_uri="$uri" --db=/bench/buffered checkconsistency

ok ldb --fs_uri="$uri" --db=/bench/direct list_live_files_metadata
sst=$(grep -oE '/[0-9]{6}\.sst' "$log" | head -n 1)
[[ -n $sst ]] || die "no table file in list_live_files_metadata"
for command in check verify identify; do
  ok sst_dump --fs_uri="$uri" --file="/bench/direct$sst" --command=$command
done
shows 'raw value size' sst_dump --fs_uri="$uri" --file="/bench/direct$sst" --show_properties --command=none
ok sst_dump --fs_uri="$uri" --file=/bench/direct --command=verify

# Nothing that returned is lost when a process ends with everything open.
for mode in write read; do
  timeout 60 "$build/bin/face_leak" "$uri" $mode >"$log" 2>&1 || die "exit $? from: face_leak $mode"
  checks=$((checks + 1))
done

# What is wrong is said, and nothing crashes.
refuses 'Invalid argument' db_bench --fs_uri=furrow:// --db=/x --benchmarks=fillseq --num=10
refuses 'Invalid argument' db_bench --fs_uri=furrow://tape:0 --db=/x --benchmarks=fillseq --num=10
refuses "$work/nowhere" db_bench --fs_uri="furrow://dir:$work/nowhere" --db=/x --benchmarks=fillseq --num=10
mkdir "$work/empty"
refuses 'furrow mkfs' db_bench --fs_uri="furrow://dir:$work/empty" --db=/x --benchmarks=fillseq --num=10
refuses 'Invalid argument' ldb --fs_uri=furrow://tape:0 --db=/x scan
refuses 'Invalid argument' sst_dump --fs_uri=furrow://tape:0 --file=/x --command=check

echo "stock_tools: $checks commands behaved"
