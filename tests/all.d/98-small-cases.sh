#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 180
#
# Cases that file systems on zones have got wrong, in middling amounts; the seeds are fixed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/small_cases.sh --medium
