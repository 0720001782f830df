#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 180
#
# Mount time and memory with 100,000 files, 1,000,000 extents, 30,000 zones.
set -euo pipefail
cd "$(dirname "$0")/../.."
"${FURROW_BUILD_DIR:-build/release}/bin/mount_benchmark"
