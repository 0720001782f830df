#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh PRESET [ctest arguments]: runs the tests of build/PRESET.
. "$(dirname "$0")/lib.sh"

(($#)) || die "usage: test.sh PRESET [ctest arguments]"
cd "$ROOT/build/$1"
shift
ctest -j "$JOBS" --output-on-failure --no-tests=error "$@"
