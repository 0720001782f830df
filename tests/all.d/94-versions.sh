#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1200
#
# An unmodified application of Debian's, and the stock tools of every RocksDB that Debian has, on Furrow. The first run
# fetches packages and builds a library for each version, which is most of its time; all is kept in FURROW_CACHE. Without
# a network it says what it skips.
set -euo pipefail
cd "$(dirname "$0")/../.."
for script in "application.sh" "versions.sh --quick"; do
  rc=0
  # shellcheck disable=SC2086  # words
  tests/conformance/$script || rc=$?
  ((rc == 0 || rc == 77)) || exit "$rc"
done
