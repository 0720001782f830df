#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
#
# Each planted bug is found by the crash simulator within 60 seconds, and without one it finds nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/scripts/sim-selftest.sh
