#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
#
# Random file-system calls compared with POSIX, on a fresh seed, after the proof that a wrong answer is found.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/differential.sh --self-test
tests/conformance/differential.sh --operations=50000
