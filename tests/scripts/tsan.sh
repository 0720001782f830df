#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tests labelled `concurrency` under the thread sanitizer. ctest's arguments may follow.
. "$(dirname "$0")/lib.sh"

configure tsan
build tsan furrow_tests_concurrency
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:suppressions=$SCRIPTS/tsan.supp}
say "ctest -L concurrency"
cd "$ROOT/build/tsan"
without_aslr ctest -j "$JOBS" -L concurrency --output-on-failure --no-tests=error "$@"
