#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds all libraries and programs with clang++ -Wthread-safety -Werror: who takes which lock is proved, not hoped.
. "$(dirname "$0")/lib.sh"

configure clang
build clang
say "clean"
