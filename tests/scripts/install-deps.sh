#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building and testing Furrow needs (Debian 12). Does nothing, and needs neither root nor a network, when
# all is there.
. "$(dirname "$0")/lib.sh"

packages=(
  cmake ninja-build g++ clang clang-format clang-tidy libclang-rt-14-dev ccache pkg-config
  librocksdb-dev rocksdb-tools libzbd-dev libxxhash-dev libzstd-dev liburing-dev liburcu-dev libboost-dev
  libgflags-dev nlohmann-json3-dev libfmt-dev libblkid-dev uuid-dev
  libgtest-dev libgmock-dev libbenchmark-dev python3 python3-jsonschema git
  dpkg-dev file
)

missing=()
for package in "${packages[@]}"; do
  if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  say "all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if [[ $(id -u) != 0 ]]; then
  command -v sudo >/dev/null || die "not root and no sudo; run as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
say "installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
say "done"
