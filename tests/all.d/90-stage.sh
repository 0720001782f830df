#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
#
# What returned is there after SIGKILL, with a fixed seed; what may and what may not be lost with the stage; whether each can fail.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/kill.sh --rounds=8 --seed=1 --no-sync
tests/conformance/kill.sh --rounds=3 --seed=2 --no-sync --stage=off
tests/conformance/names_kill.sh --rounds=5 --seed=1
tests/conformance/stage.sh --rounds=1 --seed=1
tests/conformance/stage.sh --rounds=1 --seed=2 --self-test
