#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
#
# Choosing a zone costs the same on 100 and on 100,000 zones.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/bench/check_flat.sh
