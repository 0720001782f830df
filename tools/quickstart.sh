#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# quickstart.sh [DIRECTORY]: from a fresh clone to a stock db_bench on a zoned device. Installs what the build needs,
# builds, formats an emulated zoned device (64 zones of 64 MiB) in DIRECTORY (/var/tmp/furrow-quickstart, which is
# formatted anew each time; a DIRECTORY of yours is never overwritten), runs Debian's own db_bench on it, and shows
# where the data went. A few minutes; at most 4 GiB of disk.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
default=/var/tmp/furrow-quickstart
directory=${1:-$default}
keys=${KEYS:-400000}  # of 16 + 400 bytes

say() { printf '\n### %s\n' "$*"; }

say "dependencies"
"$root/tests/scripts/install-deps.sh"

say "build"
"$root/tests/scripts/build.sh" release furrow_plugin furrow_cmd
library=$root/build/release/lib/libfurrow.so
furrow=$root/build/release/bin/furrow

mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
uri=furrow://dir:$directory
mkfs=(mkfs "$uri" --zones=64 --zone-size=64MiB --yes)
if [[ $directory == "$default" ]]; then mkfs+=(--force); fi
say "furrow ${mkfs[*]}"
"$furrow" "${mkfs[@]}"

bench=(db_bench "--fs_uri=$uri" --db=/quickstart --num="$keys" --value_size=400 --compression_type=none
  --benchmarks=fillseq,overwrite,readrandom,readseq,stats --reads=$((keys / 4)) --seed=1)
say "LD_PRELOAD=$library ${bench[*]}"
LD_PRELOAD=$library "${bench[@]}" | tee "$root/build/release/quickstart.log"

say "db_bench's figures"
grep -E '^(fillseq|overwrite|readrandom|readseq) ' "$root/build/release/quickstart.log"
say "furrow df $uri"
"$furrow" df "$uri"
say "furrow map $uri"
"$furrow" map "$uri"
printf '\nThe device stays in %s; look at it with %s zones|ls|info %s\n' "$directory" "$furrow" "$uri"
