#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles each header by itself: it must include all that it uses.
. "$(dirname "$0")/lib.sh"

say "compiling each header of $ROOT alone"
export CXX=${CXX:-g++}
cd "$ROOT"
sources '*.h' >"${list:=$(mktemp)}"
trap 'rm -f "$list"' EXIT
# shellcheck disable=SC2016
xargs -0 -r -n 1 -P "$JOBS" bash -c '
  printf "#include \"%s\"\n" "${1#include/}" |
    "$CXX" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I. -Iinclude -x c++ - 2>&1 |
    { grep . && { echo "$1: does not compile alone" >&2; exit 1; } || exit 0; }' _ <"$list" ||
  die "some headers are not self-contained"
say "$(tr -cd '\0' <"$list" | wc -c) headers compile alone"
