# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the acceptance and comparison scripts: where the build is, a scratch directory of their own, and the stock
# tools on Furrow. FURROW_BUILD_DIR names another build than build/release; KEEP=1 leaves the scratch directory.
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

BUILD=${FURROW_BUILD_DIR:-$ROOT/build/release}
LIBRARY=$BUILD/lib/libfurrow.so
FURROW=$BUILD/bin/furrow
SCRATCH=
CHILDREN=()  # processes started in the background

need_build() {
  local tool
  [[ -e $LIBRARY ]] || die "$LIBRARY is missing; build it: tests/scripts/build.sh release furrow_plugin furrow_cmd"
  [[ -x $FURROW ]] || die "$FURROW is missing; build it: tests/scripts/build.sh release furrow_plugin furrow_cmd"
  for tool in db_bench ldb sst_dump python3; do
    command -v "$tool" >/dev/null || die "$tool is missing; run tests/scripts/install-deps.sh"
  done
}

clean_up() {
  local child
  for child in "${CHILDREN[@]}"; do kill -KILL "$child" 2>/dev/null || true; done
  if [[ -n $SCRATCH && ${KEEP:-0} == 0 ]]; then rm -rf "$SCRATCH"; fi
}

# make_scratch [PARENT]: a new directory in PARENT (TMPDIR, else /tmp), which goes away with the script.
make_scratch() {
  SCRATCH=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/furrow-${NAME%.sh}.XXXXXX") || die "cannot make a directory in ${1:-/tmp}"
  trap clean_up EXIT
  trap 'exit 130' INT TERM
}

# need_space PARENT GIB: refuses to begin what would fill the host.
need_space() {
  local free
  free=$(df --output=avail -B 1G "$1" | tail -n 1)
  ((free >= $2)) || die "$1 has $free GiB free, $2 GiB are needed; name another directory with --dir="
}

# new_device PATH ZONES ZONE_SIZE: a fresh emulated device there.
new_device() {
  rm -rf "$1"
  "$FURROW" mkfs "furrow://dir:$1" --zones="$2" --zone-size="$3" --yes >"$SCRATCH/mkfs" 2>&1 || {
    cat "$SCRATCH/mkfs" >&2
    die "mkfs of $1 failed"
  }
}

# df_field URI KEY: one number of `furrow df`.
df_field() {
  "$FURROW" df "$1" --format=json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

# unaccounted URI: device bytes that `furrow df` cannot explain: D - ((W - A - U) + P + M + G + F + S). 0 is right.
unaccounted() {
  "$FURROW" df "$1" --format=json | python3 -c '
import json, sys
df = json.load(sys.stdin)
why = df["host_bytes_written"] - df["absorbed_bytes"] - df["staged_bytes"] + sum(df[key] for key in (
    "padding_bytes_written", "metadata_bytes_written", "gc_bytes_copied", "finish_padding_bytes", "sync_padding_bytes"))
print(df["device_bytes_written"] - why)'
}

# on FS SECONDS TOOL ARGUMENTS...: a stock tool on FS (posix, or a furrow:// URI), for at most SECONDS.
on() {
  local fs=$1 limit=$2 tool=$3
  shift 3
  if [[ $fs == posix ]]; then
    timeout --kill-after=5 "$limit" "$tool" "$@"
  else
    timeout --kill-after=5 "$limit" env LD_PRELOAD="$LIBRARY" "$tool" --fs_uri="$fs" "$@"
  fi
}

# show_log FILE: the end of what a tool printed, FILE and FILE.err, to standard error. (db_bench's progress goes to the
# latter, separated by carriage returns.)
show_log() {
  local file
  for file in "$1" "$1.err"; do
    if [[ -s $file ]]; then tr '\r' '\n' <"$file" | grep -av '^ *\.\.\. finished\|^ *$' | tail -n 15 | sed 's/^/    /' >&2 || true; fi
  done
}

# Of db_bench's output (stdin), for workload $1: operations, and operations per second. Nothing if it did not report.
operations_of() {
  awk -v name="$1" '$1 == name { for (i = 2; i <= NF; ++i) if ($i ~ /^operations/) print $(i - 1) }'
}
rate_of() {
  awk -v name="$1" '$1 == name { for (i = 2; i <= NF; ++i) if ($i ~ /^ops\/sec/) print $(i - 1) }'
}
