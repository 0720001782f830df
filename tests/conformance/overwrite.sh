#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# overwrite.sh [--quick|--full] [--dir=PARENT] [--times=5] [--fill=40]
#
# An overwrite load that hands Furrow TIMES the device's capacity (host_bytes_written of `furrow df`), with a key range such
# that the tables' bytes peak at about FILL % of (capacity - reserve) while compactions run. Buffers and tables are a little
# smaller than a zone, so that a table dies with its zone: without garbage collection that is what brings space back. It must run through
# without "no space", also one that RocksDB recovers from, and all keys must be there afterwards.
# --full (default): 64 zones of 64 MiB with buffers and tables of 60 MiB. --quick: all sizes a quarter. The peak is taken from RocksDB's LOG;
# less than 0.85 FILL is a failure of the test: the load was too easy.
. "$(dirname "$0")/lib.sh"

zone_mib=64
parent=${TMPDIR:-/tmp}
times=5
fill=40
for argument in "$@"; do
  case $argument in
    --quick) zone_mib=16 ;;
    --full) zone_mib=64 ;;
    --dir=*) parent=${argument#*=} ;;
    --times=*) times=${argument#*=} ;;
    --fill=*) fill=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
need_space "$parent" $((zone_mib / 16 + 1))
make_scratch "$parent"
uri=furrow://dir:$SCRATCH/device
new_device "$SCRATCH/device" 64 "${zone_mib}MiB"
capacity=$(df_field "$uri" capacity_bytes)
usable=$((capacity - $(df_field "$uri" reserve_bytes)))
budget=$((usable * fill / 100))
# The tables peak at about four times the bytes of the distinct keys while the tree is rewritten as it is here.
keys=$((budget / 4 / 816))
buffer=$((zone_mib * 1048576 * 60 / 64))
common=(--db=/bench "--num=$keys" --value_size=800 --compression_type=none "--write_buffer_size=$buffer"
  "--target_file_size_base=$buffer" "--max_bytes_for_level_base=$((buffer * 4))")
log=$SCRATCH/log
peak=0

# one_run RUN db_bench arguments...: a process that writes; then what its LOG says.
one_run() {
  local run=$1 before=$SCRATCH/before.json run_peak
  shift
  if ((run == 1)); then
    before=-
  else
    "$FURROW" ls "$uri" /bench --format=json >"$before" || die "run $run: furrow ls failed"
  fi
  on "$uri" 1200 db_bench "${common[@]}" --seed="$run" "$@" >"$log" 2>"$log.err" || {
    show_log "$log"
    "$FURROW" df "$uri" >&2 || true
    die "run $run: db_bench failed"
  }
  "$FURROW" cat "$uri" /bench/LOG >"$SCRATCH/LOG" || die "run $run: furrow cat /bench/LOG failed"
  if grep -iE 'no ?space' "$SCRATCH/LOG" "$log" "$log.err" | head -n 5 >&2 && ((PIPESTATUS[0] == 0)); then
    "$FURROW" df "$uri" >&2
    die "run $run: RocksDB met \"no space\""
  fi
  run_peak=$(python3 "$(dirname "$0")/table_peak.py" "$before" <"$SCRATCH/LOG" | cut -d' ' -f1)
  if ((run_peak > peak)); then peak=$run_peak; fi
}

# The range is written in order first, so that every key exists.
one_run 1 --benchmarks=fillseq
written=$(df_field "$uri" host_bytes_written)
run=1
while ((written < capacity * times)); do
  run=$((run + 1))
  ((run <= 200)) || die "after $run runs only $written bytes were handed over"
  one_run $run --use_existing_db=1 --benchmarks=overwrite --writes=$((keys * 3))
  written=$(df_field "$uri" host_bytes_written)
done

count=$(on "$uri" 300 db_bench "${common[@]}" --use_existing_db=1 --benchmarks=readseq 2>"$log" | operations_of readseq)
[[ $count == "$keys" ]] || die "afterwards a new process reads ${count:-no} keys of $keys: $(tail -n 3 "$log")"
on "$uri" 300 ldb --db=/bench checkconsistency >"$log" 2>&1 || die "ldb checkconsistency: $(cat "$log")"
on "$uri" 300 sst_dump --file=/bench --command=verify >"$log" 2>&1 || die "sst_dump: $(tail -n 5 "$log")"
[[ $(unaccounted "$uri") == 0 ]] || die "$(unaccounted "$uri") device bytes are not accounted for in furrow df"

percent=$((peak * 100 / usable))
factor=$(df_field "$uri" write_factor)
say "$((written >> 20)) MiB written ($((written * 10 / capacity)) tenths of the capacity) in $run runs and $SECONDS s, tables' peak" \
  "$percent % of capacity - reserve, write factor $factor: no \"no space\""
((percent * 100 >= fill * 85)) || die "the tables peaked at $percent %, $fill % was meant: too easy a load, nothing was shown"
