#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh PRESET [targets]: configures and builds into build/PRESET, with ccache.
. "$(dirname "$0")/lib.sh"

(($#)) || die "usage: build.sh PRESET [targets]"
configure "$1"
build "$@"
