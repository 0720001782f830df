#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
#
# An unmodified application of Debian's on Furrow (its package is fetched, and kept in FURROW_CACHE; without a network it
# says that it skips it), and the installed RocksDB's tools. versions.sh alone does the versions that need a build each.
set -euo pipefail
cd "$(dirname "$0")/../.."
for script in "application.sh" "versions.sh --quick 7.8"; do
  rc=0
  # shellcheck disable=SC2086  # words
  tests/conformance/$script || rc=$?
  ((rc == 0 || rc == 77)) || exit "$rc"
done
