#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 400
#
# RocksDB's own env_basic_test, checkpoint_test and db_secondary_test on Furrow; that a suite without Furrow fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/rocksdb-suites.sh --quick
tests/conformance/rocksdb-suites.sh --self-test
