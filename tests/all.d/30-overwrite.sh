#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
#
# Five times the device's capacity, without garbage collection.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/conformance/overwrite.sh --quick
