#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
#
# The .deb in a clean root: installed, used, purged. Half a minute; the first time 1 to 3 minutes more, for the root. That
# needs root (or sudo without a password) and, the first time, Debian's mirror; otherwise only the package's contents are
# looked at, and it says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
mirror=${FURROW_DEBIAN_MIRROR:-http://deb.debian.org/debian}
cached() { compgen -G "${FURROW_ROOT_CACHE:-/var/tmp/furrow-package-roots}/*/usr" >/dev/null; }
if ! cached && ! python3 -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=20)' "$mirror/dists/bookworm/Release" 2>/dev/null; then
  echo "70-package: NOT TRIED in a clean root: $mirror cannot be reached; only the contents are checked"
  tests/package/deb.sh --contents
elif [[ $(id -u) == 0 ]]; then
  tests/package/deb.sh
elif sudo -n true 2>/dev/null; then
  sudo -n --preserve-env=FURROW_BUILD_DIR,FURROW_ROOT_CACHE,FURROW_DEBIAN_MIRROR,http_proxy,https_proxy tests/package/deb.sh
else
  echo "70-package: NOT TRIED in a clean root, which needs root; only the contents are checked"
  tests/package/deb.sh --contents
fi
