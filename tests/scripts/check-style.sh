#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# House rules that a machine can see (check_style.py), and clang-format. `format.sh` mends the latter.
. "$(dirname "$0")/lib.sh"

say "house rules in $ROOT"
python3 "$SCRIPTS/check_style.py" "$ROOT" || die "house rules broken (docs/CONTRIBUTING.md)"
say "clang-format"
cd "$ROOT"
sources '*.h' '*.cc' | xargs -0 -r clang-format --style=file --dry-run -Werror ||
  die "not formatted; run tests/scripts/format.sh"
say "clean"
