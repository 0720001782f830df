#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# readers.sh [--quick|--full] [--dir=PARENT] [--self-test]
#
# Other processes beside a writer of the same device.
# 1. While the stock db_bench fills and overwrites one database: `ldb scan`, `ldb get` and `sst_dump` of another one on the
#    device (the same URI as the writer's), `furrow df`, `zones` and `ls`, and a secondary instance in another process,
#    its own directory on the device, that catches up. `ldb put` must be refused and name the process that has the device.
# 2. While beside_test overwrites a database whose values tell what they must be, and plain files, until the device was
#    filled N times (--full 10, --quick 2): a secondary that checks every value, and a reader that keeps deleted files open
#    whose zones are reset and refilled. Right bytes or the "stale" error, never others.
# --self-test: the writer of 2 plants wrong bytes; the readers must notice.
. "$(dirname "$0")/lib.sh"

fills=10 zone_mib=16 seconds=40
parent=${TMPDIR:-/tmp}
self_test=0
for argument in "$@"; do
  case $argument in
    --quick) fills=2 zone_mib=4 seconds=15 ;;
    --full) fills=10 zone_mib=16 seconds=40 ;;
    --dir=*) parent=${argument#*=} ;;
    --self-test) self_test=1 ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
BESIDE=$BUILD/tests/beside_test
[[ -x $BESIDE ]] || die "$BESIDE is missing; build it: tests/scripts/build.sh release beside_test"
need_space "$parent" $((zone_mib / 8 + 1))
make_scratch "$parent"
uri=furrow://dir:$SCRATCH/device
log=$SCRATCH/log
stop=$SCRATCH/stop
failures=0

fail() {
  failures=$((failures + 1))
  printf '%s: FAILED: %s\n' "$NAME" "$*" >&2
  show_log "$log"
}

# begin NAME COMMAND...: in the background; its process id goes to $last, its output to $SCRATCH/NAME.
begin() {
  local name=$1
  shift
  timeout --kill-after=5 900 "$@" >"$SCRATCH/$name" 2>"$SCRATCH/$name.err" &
  last=$!
  CHILDREN+=("$last")
}

# ended NAME PID WANTED_STATUS: waits for it.
ended() {
  local status=0
  wait "$2" || status=$?
  if ((status == $3)); then
    say "$1: $(tail -n 1 "$SCRATCH/$1")"
  else
    fail "$1 ended with $status, $3 was expected: $(tail -qn 3 "$SCRATCH/$1" "$SCRATCH/$1.err" | tr '\r\n' '  ')"
  fi
}

# look COMMAND...: must succeed; its output is in $log.
look() { "$@" >"$log" 2>"$log.err" || fail "exit $? beside the writer: $*"; }

beside_db_bench() {
  local hash count=0 until writer secondary seen
  new_device "$SCRATCH/device" 64 "${zone_mib}MiB"
  on "$uri" 60 db_bench --db=/other --num=5000 --benchmarks=fillseq,flush --value_size=200 >"$log" 2>"$log.err" ||
    die "the other database could not be made"
  hash=$(on "$uri" 60 ldb --db=/other scan 2>"$log.err" | sha256sum)
  [[ $(on "$uri" 60 ldb --db=/other scan 2>/dev/null | wc -l) == 5000 ]] || die "the other database is not whole"
  local buffer=$((zone_mib * 1048576 * 60 / 64))
  # The keys take a sixteenth of the device, as in overwrite.sh.
  begin db_bench env LD_PRELOAD="$LIBRARY" db_bench --fs_uri="$uri" --db=/bench --num=$((zone_mib * 4000)) --value_size=800 \
    --compression_type=none --write_buffer_size=$buffer --target_file_size_base=$buffer \
    --max_bytes_for_level_base=$((buffer * 4)) --benchmarks=fillrandom,overwrite,overwrite,overwrite,overwrite,overwrite \
    --duration=$((seconds / 5))
  writer=$last
  rm -f "$stop"
  begin secondary "$BESIDE" secondary "$uri" /bench "$stop" --any
  secondary=$last
  until=$((SECONDS + seconds))
  while ((SECONDS < until)) && kill -0 "$writer" 2>/dev/null; do
    seen=$(on "$uri" 60 ldb --db=/other scan 2>"$log.err" | sha256sum)
    [[ $seen == "$hash" ]] || fail "ldb scan beside the writer differs"
    look on "$uri" 60 ldb --db=/other get 0x00000000000000003030303030303030 --hex
    look on "$uri" 60 sst_dump --file=/other --command=verify
    look "$FURROW" df "$uri"
    look "$FURROW" zones "$uri"
    look "$FURROW" ls "$uri" /bench
    if on "$uri" 60 ldb --db=/other put a b >"$log" 2>&1; then
      kill -0 "$writer" 2>/dev/null && fail "ldb put succeeded beside the writer"
    else
      grep -q "db_bench" "$log" || fail "ldb put does not name the process that has the device"
    fi
    count=$((count + 1))
  done
  touch "$stop"
  ended secondary "$secondary" 0
  kill -0 "$writer" 2>/dev/null || ((count > 0)) || fail "db_bench ended before anybody looked on"
  kill -TERM "$writer" 2>/dev/null || true
  wait "$writer" || true
  ((count >= 3)) || fail "only $count rounds of readers in $seconds s"
  say "$count rounds of ldb scan, ldb get, sst_dump, furrow df, zones, ls beside db_bench"
}

beside_checked_writer() {
  local writer secondary reader wanted=$1
  shift
  new_device "$SCRATCH/device" 64 "${zone_mib}MiB"
  rm -f "$stop"
  begin writer "$BESIDE" write "$uri" "$fills" "$@"
  writer=$last
  begin secondary "$BESIDE" secondary "$uri" /db "$stop"
  secondary=$last
  begin reader "$BESIDE" read "$uri" "$stop"
  reader=$last
  ended writer "$writer" 0
  touch "$stop"
  ended secondary "$secondary" "$wanted"
  ended reader "$reader" "$wanted"
}

if ((self_test)); then
  beside_checked_writer 1 --plant
  ((failures == 0)) || die "wrong bytes were not noticed"
  say "wrong bytes are noticed"
  exit 0
fi
beside_db_bench
beside_checked_writer 0
on "$uri" 120 ldb --db=/db checkconsistency >"$log" 2>"$log.err" || fail "ldb checkconsistency afterwards"
say "$failures failures, $SECONDS s"
((failures == 0))
