#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy.sh [--all | FILES]: without arguments, the .cc files that differ from the last commit. A file that was clean
# is not looked at again until it, a header that it includes, or the rules change (stamps in build/tidy).
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
if [[ ${1:-} == --all ]]; then
  mapfile -d '' files < <(sources '*.cc')
elif (($#)); then
  files=("$@")
else
  mapfile -t files < <(git diff --name-only --diff-filter=d HEAD -- '*.cc'; git ls-files -o --exclude-standard -- '*.cc')
fi
if ((${#files[@]} == 0)); then
  say "no files to look at"
  exit 0
fi
configure clang -DFURROW_BUILD_TESTS=ON
mkdir -p build/tidy

# Prints a name for all that the findings of a file depend on.
stamp_of() {
  local dependencies
  dependencies=$(clang++ -std=c++20 -I. -Iinclude -MM -MT x "$1" | sed 's/^x://; s/\\$//')
  # shellcheck disable=SC2086
  { clang-tidy --version; cat .clang-tidy $dependencies; } | sha256sum | cut -d' ' -f1
}

tidy_one() {
  local file=$1 stamp
  stamp=build/tidy/$(stamp_of "$file")
  if [[ -e $stamp ]]; then return 0; fi
  if clang-tidy -p build/clang --quiet "$file" 2>/dev/null; then
    touch "$stamp"
  else
    echo "$file: clang-tidy is not content" >&2
    return 1
  fi
}
export -f stamp_of tidy_one

say "${#files[@]} files"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$JOBS" bash -c 'set -euo pipefail; tidy_one "$1"' _ || die "findings above"
say "clean"
