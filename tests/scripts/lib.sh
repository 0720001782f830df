# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the scripts beside it: where the tree is, how to speak, how to build.
set -euo pipefail

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=${FURROW_ROOT:-$(cd "$SCRIPTS/../.." && pwd)}  # FURROW_ROOT: another tree to look at (selftest.sh)
JOBS=${JOBS:-$(nproc)}
NAME=$(basename "$0")

say() { printf '%s: %s\n' "$NAME" "$*"; }
die() {
  printf '%s: error: %s\n' "$NAME" "$*" >&2
  exit 1
}

# ccache: a bound on its size, and hits across clones of the tree.
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$ROOT}
export CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}

# configure PRESET [cmake arguments]: into build/PRESET; quiet unless it fails.
configure() {
  local preset=$1 log
  shift
  log=$(mktemp)
  say "configure build/$preset"
  (cd "$ROOT" && cmake --preset "$preset" "$@") >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    die "cmake --preset $preset failed"
  }
  rm -f "$log"
}

# build PRESET [targets]: everything without targets.
build() {
  local preset=$1
  shift
  say "build build/$preset ${*:-(all)}"
  (cd "$ROOT" && cmake --build "build/$preset" -j "$JOBS" ${1:+--target "$@"})
}

# Sanitizers of this generation cannot map their shadow under the address randomisation of newer kernels.
without_aslr() {
  if setarch -R true 2>/dev/null; then
    setarch -R "$@"
  else
    "$@"
  fi
}

# Our C++ files, relative to ROOT, NUL-separated. Arguments: find's name patterns.
sources() {
  local patterns=()
  local pattern
  for pattern in "$@"; do patterns+=(-o -name "$pattern"); done
  local folder folders=()
  for folder in util plugin include tools tests examples; do
    if [[ -d $ROOT/$folder ]]; then folders+=("$folder"); fi
  done
  ((${#folders[@]})) || die "$ROOT has none of our folders"
  (cd "$ROOT" && find "${folders[@]}" -type f \( "${patterns[@]:1}" \) -print0 | sort -z)
}
