#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
#
# The comparison with the host's file system works; how fast anything is, only a quiet machine tells.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/bench/compare.sh --quick
