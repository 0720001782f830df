#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
#
# Readers in other processes beside a writer, small; and whether that can fail.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/readers.sh --quick
tests/conformance/readers.sh --quick --self-test
