#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 420
#
# 20,000 crash states and 5,000 states of faulty media, all workloads.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/scripts/sim.sh --workload=crash --states=20000 --seed=1
tests/scripts/sim.sh --workload=media --states=5000 --seed=1
