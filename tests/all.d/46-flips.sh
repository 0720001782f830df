#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 60
#
# Flipped bits on 200 small devices: a deep check finds each, on a fresh seed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/scripts/flips.sh
