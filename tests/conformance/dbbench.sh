#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# dbbench.sh [--quick|--full] [--dir=PARENT] [--modes="buffered direct"] [--compressions="none zstd"] [--workloads=...]
#
# The stock db_bench on Furrow: every workload, buffered and with direct I/O, without compression and with zstd. Workloads
# that write each get a fresh device, those that only read share one filled device. After each, new processes look at it:
# db_bench reads every key, `ldb scan` must give byte for byte what the same workload leaves on the host's file system
# (the key sequence is seeded), `ldb checkconsistency` and `sst_dump --command=verify` of every table must pass, and
# `furrow df` must explain every device byte.
# --full (default): 1,000,000 keys on 64 zones of 64 MiB, 25 to 40 minutes on 2 cores. --quick: a tenth of it, with buffers and
# zones small enough that the tree still has several levels; two of the four combinations. Non-zero if anything failed.
. "$(dirname "$0")/lib.sh"

quick=0
parent=${TMPDIR:-/tmp}
modes=
compressions=
workloads="fillseq readseq readrandom seekrandom multireadrandom fillrandom overwrite readwhilewriting deleterandom fillsync compact"
for argument in "$@"; do
  case $argument in
    --quick) quick=1 ;;
    --full) quick=0 ;;
    --dir=*) parent=${argument#*=} ;;
    --modes=*) modes=${argument#*=} ;;
    --compressions=*) compressions=${argument#*=} ;;
    --workloads=*) workloads=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

seed=17
common=(--db=/bench --value_size=800 "--seed=$seed")
if ((quick)); then
  keys=100000 syncs=1000 zone_size=16MiB
  common+=(--write_buffer_size=8388608 --target_file_size_base=8388608 --max_bytes_for_level_base=25165824)
  combinations="buffered:none direct:zstd"
else
  keys=1000000 syncs=20000 zone_size=64MiB
  combinations="buffered:none buffered:zstd direct:none direct:zstd"
fi
if [[ -n $modes$compressions ]]; then
  combinations=
  for mode in ${modes:-buffered direct}; do
    for compression in ${compressions:-none zstd}; do combinations+=" $mode:$compression"; done
  done
fi

need_build
need_space "$parent" $((quick ? 3 : 12))
make_scratch "$parent"
log=$SCRATCH/log
failures=0

wanted() { [[ " $workloads " == *" $1 "* ]]; }

fail() {
  failures=$((failures + 1))
  printf '%s: FAILED: %s\n' "$NAME" "$*" >&2
  show_log "$log"
}

# bench FS WORKLOAD [db_bench arguments]: runs one workload as a process; its output goes to $log.
bench() {
  local fs=$1 workload=$2
  shift 2
  on "$fs" 900 db_bench "${common[@]}" "$@" --benchmarks="$workload" >"$log" 2>"$log.err"
}

# What a group of workloads does, as lines "workload arguments"; the last is the one that is measured.
steps_of() {
  case $1 in
    fillseq | fillrandom) echo "$1 --num=$keys" ;;
    overwrite)
      echo "fillrandom --num=$keys"
      echo "overwrite --num=$keys --use_existing_db=1 --seed=$((seed + 1))"
      ;;
    readwhilewriting)
      echo "fillseq --num=$keys"
      echo "readwhilewriting --num=$keys --use_existing_db=1"
      ;;
    deleterandom)
      echo "fillrandom --num=$keys"
      echo "deleterandom --num=$keys --deletes=$((keys / 2)) --use_existing_db=1 --seed=$((seed + 2))"
      ;;
    compact)
      echo "fillrandom --num=$keys"
      echo "compact --num=$keys --use_existing_db=1"
      ;;
    # db_bench's fillsync divides the key range by 1000, so the range is given in full.
    fillsync) echo "fillsync --num=1000000 --writes=$syncs" ;;
    fillsync-reference) echo "fillrandom --num=1000 --writes=$syncs" ;;
    *) die "no such workload: $1" ;;
  esac
}

# run_steps FS GROUP [db_bench arguments]: false if a step failed; the rate of the last one goes to $rate.
run_steps() {
  local fs=$1 group=$2 workload arguments
  shift 2
  while read -r workload arguments; do
    # shellcheck disable=SC2086  # several words
    bench "$fs" "$workload" $arguments "$@" || return 1
    rate=$(rate_of "$workload" <"$log")
    [[ -n $rate ]] || return 1
  done < <(steps_of "$group")
}

declare -A reference_count reference_hash

# What GROUP leaves on the host's file system.
make_reference() {
  local group=$1 steps=$1 directory=$SCRATCH/posix
  if [[ $group == fillsync ]]; then steps=fillsync-reference; fi
  common[0]=--db=$directory
  run_steps posix "$steps" --compression_type=none || {
    show_log "$log"
    die "reference $group failed on the host's file system"
  }
  bench posix readseq --use_existing_db=1 --num="$keys" || die "reference readseq of $group failed"
  reference_count[$group]=$(operations_of readseq <"$log")
  reference_hash[$group]=$(ldb --db="$directory" scan | sha256sum)
  common[0]=--db=/bench
  rm -rf "$directory"
}

# check_device URI GROUP CASE: looks at it with new processes.
check_device() {
  local uri=$1 group=$2 label=$3 count hash tables verified
  bench "$uri" readseq --use_existing_db=1 --num="$keys" "${flags[@]}" || fail "$label: readseq in a new process"
  count=$(operations_of readseq <"$log")
  [[ $count == "${reference_count[$group]}" ]] ||
    fail "$label: a new process read ${count:-no} keys, ${reference_count[$group]} were expected"
  hash=$(on "$uri" 900 ldb --db=/bench scan 2>"$log.err" | sha256sum) || fail "$label: ldb scan"
  # Its writer runs beside the readers for as long as they take: only the number of keys is fixed.
  if [[ $group != readwhilewriting && $hash != "${reference_hash[$group]}" ]]; then
    fail "$label: ldb scan differs from that of the host's file system"
  fi
  if ! on "$uri" 300 ldb --db=/bench checkconsistency >"$log" 2>"$log.err" || ! grep -q '^OK' "$log"; then
    fail "$label: ldb checkconsistency"
  fi
  tables=$("$FURROW" ls "$uri" /bench | grep -c '\.sst' || true)
  on "$uri" 900 sst_dump --file=/bench --command=verify >"$log" 2>"$log.err" || fail "$label: sst_dump --command=verify"
  verified=$(grep -c '^The file is ok' "$log" || true)
  [[ $(unaccounted "$uri") == 0 ]] || fail "$label: $(unaccounted "$uri") device bytes are not accounted for in furrow df"
  ((verified == tables && tables > 0)) || fail "$label: sst_dump verified $verified of $tables tables"
}

# report CASE BEFORE SECONDS_AT_START: one line.
report() {
  local verdict=ok
  if ((failures > $2)); then verdict=FAILED; fi
  printf '%-36s %10s ops/s  %4d s  %s\n' "$1" "${rate:--}" $((SECONDS - $3)) "$verdict"
}

# The workloads that only read, on the device that fillseq has filled.
read_workloads() {
  local uri=$1 combination=$2 workload before start extra
  for workload in readseq readrandom seekrandom multireadrandom; do
    wanted "$workload" || continue
    before=$failures start=$SECONDS rate=
    extra=()
    if [[ $workload == multireadrandom ]]; then extra=(--multiread_batched=true --batch_size=32); fi
    bench "$uri" "$workload" --use_existing_db=1 --num="$keys" "${flags[@]}" "${extra[@]}" || fail "$combination $workload"
    rate=$(rate_of "$workload" <"$log")
    [[ -n $rate ]] || fail "$combination $workload: no result"
    # All keys are there: a miss is a lost key.
    if [[ $workload == readrandom || $workload == multireadrandom ]]; then
      [[ $(sed -n "s/^$workload.*(\([0-9]*\) of \([0-9]*\) found.*/\1 \2/p" "$log") =~ ^([0-9]+)\ ([0-9]+)$ ]] ||
        fail "$combination $workload: no count of keys found"
      [[ ${BASH_REMATCH[1]:-0} == "${BASH_REMATCH[2]:-1}" ]] || fail "$combination $workload: keys are missing"
    fi
    report "$combination $workload" "$before" "$start"
  done
}

run_combination() {
  local mode=${1%:*} compression=${1#*:} group before start device=$SCRATCH/device uri
  uri=furrow://dir:$device
  flags=(--compression_type="$compression")
  if [[ $mode == direct ]]; then flags+=(--use_direct_io_for_flush_and_compaction=true --use_direct_reads=true); fi
  for group in "${groups[@]}"; do
    before=$failures start=$SECONDS rate=
    new_device "$device" 64 "$zone_size"
    run_steps "$uri" "$group" "${flags[@]}" || fail "$mode $compression $group"
    if ((failures == before)); then check_device "$uri" "$group" "$mode $compression $group"; fi
    report "$mode $compression $group" "$before" "$start"
    if [[ $group == fillseq ]]; then read_workloads "$uri" "$mode $compression"; fi
    rm -rf "$device"
  done
}

groups=()
for group in fillseq fillrandom overwrite readwhilewriting deleterandom fillsync compact; do
  if wanted "$group"; then groups+=("$group"); fi
done
if ! wanted fillseq && [[ " $workloads " =~ \ (readseq|readrandom|seekrandom|multireadrandom)\  ]]; then
  groups=(fillseq "${groups[@]}")
fi
for group in "${groups[@]}"; do make_reference "$group"; done
say "references made in $SECONDS s"
for combination in $combinations; do run_combination "$combination"; done
say "$failures failures, $((SECONDS / 60)) min $((SECONDS % 60)) s"
((failures == 0))
