#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Formats the given C++ files, or all of ours.
. "$(dirname "$0")/lib.sh"

if (($#)); then
  clang-format -i --style=file "$@"
else
  cd "$ROOT"
  sources '*.h' '*.cc' | xargs -0 -r clang-format -i --style=file
fi
say "done"
