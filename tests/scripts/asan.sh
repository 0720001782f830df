#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# All GoogleTest programs under the address and undefined-behaviour sanitizers, with asserts. ctest's arguments may follow.
. "$(dirname "$0")/lib.sh"

configure asan-ubsan
build asan-ubsan
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
say "ctest"
cd "$ROOT/build/asan-ubsan"
without_aslr ctest -j "$JOBS" --output-on-failure --no-tests=error "$@"
