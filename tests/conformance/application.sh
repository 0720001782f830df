#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# application.sh [--seed=N]: a Debian program that embeds RocksDB and knows nothing of file systems, sortmerna, on the host's
# file system and through `furrow run --default`: the same results, and its database on the device instead of the host.
# The package is fetched, not installed (FURROW_CACHE); FURROW_BUILD_DIR: the build. Exit 77: it cannot be had.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/debian_packages.sh"

seed=1
for argument in "$@"; do
  case $argument in
    --seed=*) seed=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
make_scratch
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
program=$(command -v sortmerna) || {
  fetch_packages "sortmerna-$codename" "$codename" sortmerna || {
    cat "$FETCH_LOG" >&2
    say "SKIPPED: the package sortmerna of $codename cannot be had"
    exit 77
  }
  program=$PACKAGES/usr/bin/sortmerna
}
new_device "$SCRATCH/device" 32 16MiB
uri=furrow://dir:$SCRATCH/device

python3 - "$SCRATCH" "$seed" <<'PYTHON'
import random, sys
folder, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
bases = lambda n: "".join(rng.choice("ACGT") for _ in range(n))
references = [bases(1500) for _ in range(20)]
with open(f"{folder}/ref.fasta", "w") as out:
    out.writelines(f">ref{i}\n{text}\n" for i, text in enumerate(references))
with open(f"{folder}/reads.fasta", "w") as out:
    for i in range(20000):
        start = rng.randrange(1400)
        read = list(bases(100) if i % 2 else rng.choice(references)[start : start + 100])
        if i % 6 == 0:
            read[50] = rng.choice("ACGT")
        out.write(f">read{i}\n{''.join(read)}\n")
PYTHON

# align NAME COMMAND...: sortmerna in a work directory of its own; what depends on that directory's name or on the time
# is taken out of its results.
align() {
  local name=$1
  shift
  (cd "$SCRATCH" && timeout 120 "$@" --ref ref.fasta --reads reads.fasta --workdir "$SCRATCH/$name" --fastx --blast 1 --sam \
    --threads 2) >"$SCRATCH/$name.log" 2>&1 || {
    show_log "$SCRATCH/$name.log"
    die "$name: exit code $? from $*"
  }
  for file in aligned.fa aligned.blast aligned.sam; do
    [[ -s $SCRATCH/$name/out/$file ]] || die "$name: sortmerna wrote no $file"
    grep -v '^@' "$SCRATCH/$name/out/$file" | sort >"$SCRATCH/$name.$file"
  done
}
align posix "$program"
FURROW_CALLS_FILE=$SCRATCH/calls align furrow "$FURROW" run --default="$uri" --prefix="$SCRATCH/furrow/kvdb" -- "$program"
for file in aligned.fa aligned.blast aligned.sam; do
  cmp "$SCRATCH/posix.$file" "$SCRATCH/furrow.$file" || die "seed $seed: $file differs"
done
[[ -e $SCRATCH/posix/kvdb/CURRENT ]] || die "on the host there is no database: the comparison shows nothing"
left=$(find "$SCRATCH/furrow/kvdb" -type f 2>/dev/null | head -n 3)
[[ -z $left ]] || die "files of the database are on the host: $left"
"$FURROW" ls "$uri" "$SCRATCH/furrow/kvdb" >"$SCRATCH/ls" || die "furrow ls failed"
grep -q '^CURRENT' "$SCRATCH/ls" || die "the database is not on the device"
calls=$(awk '{ sum += $2 } END { print sum + 0 }' "$SCRATCH/calls")
((calls > 0)) || die "no call came to Furrow"
# What it left behind is a database like any other.
entries=$(on "$uri" 60 ldb --db="$SCRATCH/furrow/kvdb" scan --hex | wc -l)
expected=$(ldb --db="$SCRATCH/posix/kvdb" scan --hex | wc -l)
((entries == expected && entries > 0)) || die "$entries keys on Furrow, $expected on the host"
say "sortmerna: equal results, $(wc -l <"$SCRATCH/furrow.aligned.blast") alignments, $entries keys on the device, $calls calls through Furrow"
