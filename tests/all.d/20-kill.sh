#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
#
# Kill test with a fixed seed, and whether it can fail.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/kill.sh --rounds=8 --seed=1
tests/conformance/kill.sh --rounds=4 --seed=2 --self-test
tests/conformance/kill.sh --rounds=4 --seed=3 --fs=posix
