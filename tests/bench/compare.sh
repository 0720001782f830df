#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# compare.sh [--pairs=5] [--quick] [--workloads="..."] [--num=1000000] [--syncs=20000] [--dir=PARENT] [--json=FILE]
#
# The same stock db_bench on the host's file system (PosixFileSystem) and on Furrow, whose emulated device and whose rival
# directory lie side by side in PARENT. Pairs alternate (posix furrow, furrow posix, ...); page cache written out before each run, and dropped where
# we may. Prints per workload the median of the pairs' ratios furrow/posix, lowest and highest, and the bound that it is held to;
# non-zero when a median misses its bound. Also held: the write factor after each fillrandom, at most 1.02.
# Workloads: fillrandom overwrite readwhilewriting readwhilewriting-unbounded readrandom fillsync fillsync+overwrite (fillsync while another process overwrites
# another database: beside it on the host's file system; on a second device, since a device has one mount).
# db_bench's readwhilewriting reports its readers alone, and its writer runs unbounded: a file system that takes writes faster
# leaves the readers less of the processors. So the writer is held to 20 MB/s on both (--benchmark_write_rate_limit): reading beside
# equal writing, which is what the bound is for. -unbounded is as db_bench does by itself; its readers are held to no bound, and what
# the writers did is a row of its own.
# Give it a quiet machine; on 2 cores about 25 minutes. --quick: a tenth of the keys, one pair; shows that it works, not how fast anything is,
# and holds only the write factor to its bound.
. "$(dirname "$0")/../conformance/lib.sh"

pairs=5
keys=1000000
syncs=20000
quick=0
parent=${TMPDIR:-/tmp}
json=
workloads="fillrandom overwrite readwhilewriting readwhilewriting-unbounded readrandom fillsync fillsync+overwrite"
for argument in "$@"; do
  case $argument in
    --pairs=*) pairs=${argument#*=} ;;
    --num=*) keys=${argument#*=} ;;
    --syncs=*) syncs=${argument#*=} ;;
    --quick) quick=1 pairs=1 keys=100000 syncs=1000 ;;
    --dir=*) parent=${argument#*=} ;;
    --json=*) json=${argument#*=} ;;
    --workloads=*) workloads=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
need_space "$parent" 16
make_scratch "$parent"
log=$SCRATCH/log
results=$SCRATCH/results  # lines "workload pair fs ops/s", "write_factor pair furrow factor"
: >"$results"

# Where FS keeps its things, for db_bench: a URI or "posix". NUMBER tells databases of one FS apart.
fs_of() { if [[ $1 == posix ]]; then echo posix; else echo "furrow://dir:$SCRATCH/furrow$2"; fi; }
db_of() { if [[ $1 == posix ]]; then echo "$SCRATCH/posix$2"; else echo /bench; fi; }

fresh() {
  rm -rf "${SCRATCH:?}/$1$2"
  if [[ $1 == furrow ]]; then new_device "$SCRATCH/furrow$2" 64 64MiB; fi
}

even_start() {
  sync -f "$SCRATCH"
  if [[ -w /proc/sys/vm/drop_caches ]]; then (echo 3 >/proc/sys/vm/drop_caches) 2>/dev/null || true; fi
}

# bench FS NUMBER BENCHMARKS [db_bench arguments]
bench() {
  local fs=$1 number=$2 benchmarks=$3
  shift 3
  on "$(fs_of "$fs" "$number")" 900 db_bench --db="$(db_of "$fs" "$number")" --value_size=800 --compression_type=none \
    --num="$keys" "$@" --benchmarks="$benchmarks" >"$log" 2>"$log.err" || {
    show_log "$log"
    die "db_bench $benchmarks on $fs failed"
  }
}

# record WORKLOAD PAIR FS [NAME_IN_DB_BENCH]
record() {
  local rate
  rate=$(rate_of "${4:-$1}" <"$log")
  [[ -n $rate ]] || die "db_bench on $3 printed no result for $1: $(tail -n 3 "$log")"
  echo "$1 $2 $3 $rate" >>"$results"
}

# Starts an overwrite of database 2 that outlasts the measurement; returns once it is writing.
start_overwrite() {
  local fs=$1
  if [[ ! -e $SCRATCH/${fs}2 ]]; then
    fresh "$fs" 2
    bench "$fs" 2 fillseq,waitforcompaction --seed=1
  fi
  even_start
  : >"$SCRATCH/beside"
  local command=(db_bench --db="$(db_of "$fs" 2)" --value_size=800 --compression_type=none --num="$keys" --use_existing_db=1
    --benchmarks=overwrite --duration=600 --stats_interval_seconds=1)
  if [[ $fs == posix ]]; then
    "${command[@]}" >"$SCRATCH/beside" 2>&1 &
  else
    LD_PRELOAD=$LIBRARY "${command[@]}" "--fs_uri=$(fs_of "$fs" 2)" >"$SCRATCH/beside" 2>&1 &
  fi
  CHILDREN=("$!")
  local waited=0
  until grep -q 'ops and' "$SCRATCH/beside"; do
    kill -0 "${CHILDREN[0]}" 2>/dev/null || die "the overwrite beside fillsync on $fs ended: $(tail -n 3 "$SCRATCH/beside")"
    ((++waited < 600)) || die "the overwrite beside fillsync on $fs does not begin"
    sleep 0.1
  done
}

# The database of number 2 is no longer needed in order: a kill, and a recovery at the next start.
stop_overwrite() {
  kill -0 "${CHILDREN[0]}" 2>/dev/null || die "the overwrite beside fillsync on $1 did not last: $(tail -n 3 "$SCRATCH/beside")"
  kill -KILL "${CHILDREN[0]}"
  wait "${CHILDREN[0]}" 2>/dev/null || true
  CHILDREN=()
}

# Database 1 lives through a pair: filled once, then overwritten and read.
ensure_filled() {
  [[ -e $SCRATCH/${1}1 ]] && return
  fresh "$1" 1
  bench "$1" 1 fillrandom,waitforcompaction --seed=1
}

run() {
  local workload=$1 pair=$2 fs=$3
  case $workload in
    fillrandom)
      fresh "$fs" 1
      even_start
      bench "$fs" 1 fillrandom,waitforcompaction --seed="$pair"
      record "$workload" "$pair" "$fs"
      if [[ $fs == furrow ]]; then echo "write_factor $pair furrow $(df_field "$(fs_of furrow 1)" write_factor)" >>"$results"; fi
      ;;
    overwrite | readrandom)
      ensure_filled "$fs"
      even_start
      bench "$fs" 1 "$workload" --use_existing_db=1 --seed=$((pair + 100))
      record "$workload" "$pair" "$fs"
      ;;
    readwhilewriting | readwhilewriting-unbounded)
      ensure_filled "$fs"
      even_start
      local pace=()
      if [[ $workload == readwhilewriting ]]; then pace=(--benchmark_write_rate_limit=20000000); fi
      bench "$fs" 1 readwhilewriting,stats --use_existing_db=1 --seed=$((pair + 100)) "${pace[@]}"
      record "$workload" "$pair" "$fs" readwhilewriting
      local written
      written=$(sed -n 's/^Cumulative writes: .* \([0-9.]*\) MB\/s$/\1/p' "$log" | tail -n 1)
      [[ -n $written ]] || die "db_bench on $fs does not say how much the writer of $workload wrote"
      echo "$workload:MB/s-written $pair $fs $written" >>"$results"
      ;;
    fillsync | fillsync+overwrite)
      fresh "$fs" 3
      if [[ $workload == fillsync ]]; then even_start; else start_overwrite "$fs"; fi
      # db_bench's fillsync divides the key range by 1000.
      bench "$fs" 3 fillsync --num=1000000 --writes="$syncs" --seed="$pair"
      if [[ $workload != fillsync ]]; then stop_overwrite "$fs"; fi
      record "$workload" "$pair" "$fs" fillsync
      rm -rf "$SCRATCH/${fs}3"
      ;;
    *) die "no such workload: $workload" ;;
  esac
}

for ((pair = 1; pair <= pairs; ++pair)); do
  order=(posix furrow)
  if ((pair % 2 == 0)); then order=(furrow posix); fi
  for workload in $workloads; do
    for fs in "${order[@]}"; do run "$workload" "$pair" "$fs"; done
    say "pair $pair of $pairs: $(awk -v w="$workload" -v p="$pair" '$1 == w && $2 == p { printf "%s %s %s ops/s  ", (n++ ? "" : w), $3, $4 }' "$results")"
  done
  rm -rf "$SCRATCH"/posix[12] "$SCRATCH"/furrow[12]
done

report=(python3 "$(dirname "$0")/compare_report.py" "$results")
if ((quick)); then report+=(--no-bounds); fi
if [[ -n $json ]]; then report+=("--json=$json"); fi
"${report[@]}"
