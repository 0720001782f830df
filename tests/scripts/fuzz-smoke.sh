#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz-smoke.sh [SECONDS]: runs each fuzz target of tests/fuzz for that long (20), from its seeds in corpus/, with ASan and
# UBSan. A crashing input is kept in build/fuzz/found.
. "$(dirname "$0")/lib.sh"

seconds=${1:-20}
configure fuzz
build fuzz furrow_fuzzers
mkdir -p "$ROOT/build/fuzz/found"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
bad=0
for source in "$ROOT"/tests/fuzz/*_fuzz.cc; do
  [[ -e $source ]] || die "no fuzz targets in $ROOT/tests/fuzz"
  target=$(basename "$source" .cc)
  mkdir -p "$work/$target"
  seeds=()
  if [[ -d $ROOT/tests/fuzz/corpus/$target ]]; then seeds=("$ROOT/tests/fuzz/corpus/$target"); fi
  say "$target, $seconds s"
  if ! without_aslr "$ROOT/build/fuzz/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="$ROOT/build/fuzz/found/$target-" "$work/$target" "${seeds[@]}" >"$work/log" 2>&1; then
    tail -n 60 "$work/log" >&2
    printf '%s: %s failed; the input is in build/fuzz/found\n' "$NAME" "$target" >&2
    bad=1
  fi
  grep -E '^Done' "$work/log" || true
  count=$((count + 1))
done
((bad == 0)) || die "fuzzing found something"
say "$count targets clean"
