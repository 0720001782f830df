#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# furrow.mk (the list that RocksDB's in-tree builds use) must name exactly the sources that the CMake lists of the layers
# name, and these exactly the files in the tree. `check-intree.sh --fix` rewrites the list in furrow.mk. Left out are
# plugin/fs/preload_*: they replace a function of RocksDB's, which would be there twice.
. "$(dirname "$0")/lib.sh"

say "furrow.mk against the CMake lists"
cd "$ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake_sources() {
  for list in util/CMakeLists.txt plugin/*/CMakeLists.txt; do
    [[ -e $list ]] || continue
    sed 's/#.*//' "$list" | grep -oE '[A-Za-z0-9_/]+\.cc' | sed "s|^|$(dirname "$list")/|" || true
  done | grep -v '^plugin/fs/preload_' | sort
}

fix() {
  local list
  list=$(cmake_sources | sed 's/^/  /; $!s/$/ \\/')
  awk -v list="$list" '
    /^  [A-Za-z0-9_\/]+\.cc/ { next }
    { print }
    /^furrow_SOURCES :=/ { print list }' furrow.mk >"$work/new"
  cat "$work/new" >furrow.mk
  say "furrow.mk rewritten"
}

[[ ${1:-} != --fix ]] || fix
grep -oE '^  [A-Za-z0-9_/]+\.cc' furrow.mk | sed 's/^ *//' | sort >"$work/mk"
cmake_sources >"$work/cmake"
find util plugin -name '*.cc' ! -path 'plugin/fs/preload_*' | sort >"$work/tree"
bad=0
differ() {
  if ! diff "$1" "$2" >"$work/diff"; then
    printf '%s (< %s, > %s):\n' "$3" "$4" "$5" >&2
    grep '^[<>]' "$work/diff" >&2
    bad=1
  fi
}
differ "$work/mk" "$work/cmake" "sources differ" furrow.mk "CMake lists"
differ "$work/cmake" "$work/tree" "sources differ" "CMake lists" "files in the tree"
((bad == 0)) || die "update furrow.mk or the CMakeLists.txt of the layer"
say "$(wc -l <"$work/mk") sources agree"
