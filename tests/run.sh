#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh         dependencies, release build, all tests of it: what to run before a commit. Under 15 minutes on 2 cores.
# run.sh --all   that, and layers, style, headers, clang's thread-safety analysis, ASan+UBSan, TSan, fuzzing, and the
#                scripts of tests/all.d in order: what CI runs. Under 80 minutes.
#
# Every part runs, also after one has failed (but for a failed release build). Prints the minutes of each part and, as the
# last line, how many tests passed and failed: a test program counts as one, as does a check that is no set of tests.
# Logs: build/logs. FUZZ_SECONDS: per target (20).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
scripts=tests/scripts
all=0
case "${1:-}" in
  "") ;;
  --all) all=1 ;;
  *)
    echo "usage: tests/run.sh [--all]" >&2
    exit 2
    ;;
esac

mkdir -p build/logs
passed=0
failed=0
rows=()

# part NAME LIMIT COMMAND...: runs the command for at most LIMIT seconds, shows and logs its output, counts its tests.
part() {
  local name=$1 limit=$2 log start rc=0 minutes summary
  shift 2
  log=build/logs/${name//[^A-Za-z0-9._-]/_}.log
  printf '\n=== %s\n' "$name"
  start=$(date +%s%N)
  timeout --kill-after=30 "$limit" "$@" 2>&1 | tee "$log" || rc=${PIPESTATUS[0]}
  minutes=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN { printf "%.1f", ns / 6e10 }')
  summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+' "$log" | tail -n 1 || true)
  local total=1 bad=$((rc != 0))
  if [[ $name == dependencies || $name == *-build ]]; then total=$bad; fi
  if [[ $summary =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    total=${BASH_REMATCH[2]}
    bad=${BASH_REMATCH[1]}
    if ((rc != 0 && bad == 0)); then
      total=$((total + 1))
      bad=1
    fi
  fi
  passed=$((passed + total - bad))
  failed=$((failed + bad))
  local verdict=ok
  if ((rc == 124 || rc == 137)); then
    verdict="TIME LIMIT of $limit s"
  elif ((rc != 0)); then
    verdict="FAILED ($rc)"
  fi
  rows+=("$(printf '%-28s %8s min  %5d tests  %s' "$name" "$minutes" "$total" "$verdict")")
  printf '=== %s: %s, %s min\n' "$name" "$verdict" "$minutes"
  return $rc
}

# The seconds that a script of all.d states for itself: "# time-limit: 600".
limit_of() {
  local limit
  limit=$(sed -n 's/^# time-limit: *\([0-9][0-9]*\).*/\1/p' "$1" | head -n 1)
  echo "${limit:-900}"
}

finish() {
  printf '\n%s\n' "--- minutes by part ---"
  printf '%s\n' "${rows[@]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
  exit
}

part dependencies 900 $scripts/install-deps.sh || finish
part release-build 1500 $scripts/build.sh release || finish
part tests 900 $scripts/test.sh release || true
((all)) || finish

part layers 120 $scripts/check-layers.sh || true
part in-tree-list 60 $scripts/check-intree.sh || true
part style 120 $scripts/check-style.sh || true
part checks-selftest 120 $scripts/selftest.sh || true
part headers 600 $scripts/check-headers.sh || true
part thread-safety 1200 $scripts/clang-thread-safety.sh || true
part asan-ubsan 2400 $scripts/asan.sh || true
part tsan 1800 $scripts/tsan.sh || true
part fuzz-smoke 1200 $scripts/fuzz-smoke.sh --seconds="${FUZZ_SECONDS:-20}" || true
for script in tests/all.d/[0-9]*.sh; do
  [[ -e $script ]] || continue
  part "$(basename "$script" .sh)" "$(limit_of "$script")" "$script" || true
done
finish
