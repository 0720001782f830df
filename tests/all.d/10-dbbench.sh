#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 420
#
# The stock db_bench, ldb and sst_dump on Furrow: all workloads, small.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/dbbench.sh --quick
