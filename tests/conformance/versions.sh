#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# versions.sh [--quick] [VERSION...]: Furrow built for each RocksDB that Debian has (7.8, installed; 9.10 of trixie, 9.11 of
# sid), and its stock tools on a Furrow device: db_bench fills and reads back, ldb scans, sst_dump verifies; the newer
# ones open what 7.8 wrote; a library for another version says what is wrong; the conformance suite, compiled for each.
# Packages are unpacked into FURROW_CACHE and run under their own loader: nothing is installed. --quick: smaller databases,
# and no conformance suite. What cannot be had is skipped, and said.
# FURROW_ROCKSDB_INCLUDE: headers of any other RocksDB (11.x), which plugin/fs is compiled against, and no more.
# FURROW_BUILD_DIR: the build for the installed version; the others are built in FURROW_CACHE.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/debian_packages.sh"

CACHE=${FURROW_CACHE:-/var/tmp/furrow-cache}
keys=200000
quick=0
versions=()
for argument in "$@"; do
  case $argument in
    --quick) keys=20000 quick=1 ;;
    7.8 | 9.10 | 9.11) versions+=("$argument") ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done
((${#versions[@]})) || versions=(7.8 9.10 9.11)
declare -A RELEASE=([9.10]=trixie [9.11]=sid) HAVE=()
NEEDED=(rocksdb-tools librocksdb-dev libc6 libstdc++6 libgcc-s1 libsnappy1v5 liblz4-1 libzstd1 zlib1g libbz2-1.0
  libgflags2.2)
triplet=$(gcc -print-multiarch)

installed=$(dpkg-query -W -f '${Version}' librocksdb-dev 2>/dev/null) || die "librocksdb-dev is not installed"
need_build
make_scratch

# Where Furrow is built for a version: CMake ties a build to one source directory.
build_of() { echo "$CACHE/build-$1-$(cksum <<<"$ROOT" | cut -d' ' -f1)"; }

# prepare VERSION: packages and build of it. False where they cannot be had.
prepare() {
  local version=$1 root=$CACHE/packages-rocksdb-$1 build lib
  build=$(build_of "$version")
  if [[ $version == 7.8 ]]; then
    [[ $installed == 7.8.* ]] || { say "7.8: SKIPPED: installed is $installed"; return 1; }
    return 0
  fi
  fetch_packages "rocksdb-$version" "${RELEASE[$version]}" "librocksdb$version" "${NEEDED[@]}" ||
    { cat "$FETCH_LOG" >&2; say "$version: SKIPPED: its packages cannot be had from ${RELEASE[$version]}"; return 1; }
  lib=$root/usr/lib/$triplet
  say "$version: building Furrow for it"
  local targets=(furrow_default)
  if ((!quick)); then targets+=(conformance_test); fi
  if ! { cmake -S "$ROOT" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFURROW_BUILD_TESTS=ON -DFURROW_BUILD_TOOLS=OFF \
    -DFURROW_BUILD_BENCHMARKS=OFF -DFURROW_WERROR=ON -DFURROW_ROCKSDB_ROOT="$root/usr" &&
    cmake --build "$build" -j "$JOBS" --target "${targets[@]}"; } \
    >"$SCRATCH/build-$version" 2>&1; then
    tail -n 30 "$SCRATCH/build-$version" >&2
    die "Furrow does not build for RocksDB $version ($lib/librocksdb.so)"
  fi
}

# tool VERSION PRELOAD TOOL ARGUMENTS...: a stock tool of that version with the library PRELOAD.
tool() {
  local version=$1 preload=$2 name=$3 lib
  shift 3
  if [[ $version == 7.8 ]]; then
    timeout 300 env LD_PRELOAD="$preload" "$name" "$@"
    return
  fi
  lib=$CACHE/packages-rocksdb-$version/usr/lib/$triplet
  # The host's libraries come last: those that Furrow needs and the packages do not bring.
  timeout 300 "$lib"/ld-linux-*.so.* --library-path "$first$lib:$(dirname "$preload"):/usr/lib/$triplet" --preload "$preload" \
    "$CACHE/packages-rocksdb-$version/usr/bin/$name" "$@"
}
first=  # a directory for the loader to look into first, and a colon
library() {
  if [[ $1 == 7.8 ]]; then echo "$LIBRARY"; else echo "$(build_of "$1")/lib/libfurrow-rocksdb$1.so"; fi
}

# run VERSION PATTERN TOOL ARGUMENTS...: it succeeds, and prints PATTERN.
run() {
  local version=$1 pattern=$2 rc=0
  shift 2
  tool "$version" "$(library "$version")" "$@" >"$SCRATCH/log" 2>"$SCRATCH/log.err" || rc=$?
  if ((rc != 0)) || ! grep -qaE -- "$pattern" "$SCRATCH/log" "$SCRATCH/log.err"; then
    show_log "$SCRATCH/log"
    die "RocksDB $version: exit code $rc, or nothing like '$pattern' from: $*"
  fi
}

exercise() {
  local version=$1 uri=furrow://dir:$SCRATCH/device-$1 table
  new_device "$SCRATCH/device-$version" 48 16MiB
  local bench=(db_bench --fs_uri="$uri" --db=/db --num="$keys" --value_size=200 --write_buffer_size=4194304
    --target_file_size_base=4194304 --compression_type=none)
  run "$version" 'fillseq +:' "${bench[@]}" --benchmarks=fillseq,overwrite,compact,readseq
  run "$version" "$keys of $keys found" "${bench[@]}" --use_existing_db=1 --benchmarks=readrandom
  run "$version" "$keys of $keys found" "${bench[@]}" --use_existing_db=1 --use_direct_reads=1 --benchmarks=readrandom
  run "$version" OK ldb --fs_uri="$uri" --db=/small --create_if_missing put apple red
  run "$version" '^apple (==>|:) red$' ldb --fs_uri="$uri" --db=/small scan
  run "$version" '0x' ldb --fs_uri="$uri" --db=/db scan --hex
  (($(wc -l <"$SCRATCH/log") == keys)) || die "RocksDB $version: ldb scan shows $(wc -l <"$SCRATCH/log") keys instead of $keys"
  run "$version" '\.sst' ldb --fs_uri="$uri" --db=/db list_live_files_metadata
  table=$(grep -oaE '[0-9]{6}\.sst' "$SCRATCH/log" | head -n 1)
  run "$version" '' sst_dump --fs_uri="$uri" --file="/db/$table" --command=verify
  run "$version" 'raw value size' sst_dump --fs_uri="$uri" --file="/db/$table" --show_properties --command=none
  # Without any option, through the library that replaces the default.
  if [[ -e $(dirname "$(library "$version")")/libfurrow-default-rocksdb$version.so ]]; then
    FURROW_DEFAULT_URI=$uri tool "$version" "$(dirname "$(library "$version")")/libfurrow-default-rocksdb$version.so" \
      ldb --db=/small scan >"$SCRATCH/log" 2>&1 || die "RocksDB $version: ldb with the default replaced failed"
    grep -q apple "$SCRATCH/log" || die "RocksDB $version: the replaced default does not see the database"
  fi
  say "$version: db_bench, ldb and sst_dump on Furrow: ok"
}

# Furrow for 7.8 in a program of VERSION, the name of 7.8's librocksdb leading to VERSION's: it says so, and registers
# nothing. (With both librocksdb in one process RocksDB itself crashes before any code of ours runs; furrow run, which
# picks by version, never comes to that: tests/tools/run.sh.)
mismatch() {
  local version=$1 rc=0
  mkdir -p "$SCRATCH/alias-$version"
  ln -sf "$CACHE/packages-rocksdb-$version/usr/lib/$triplet/librocksdb.so.$version" "$SCRATCH/alias-$version/librocksdb.so.7.8"
  first=$SCRATCH/alias-$version: tool "$version" "$LIBRARY" ldb --db="$SCRATCH/none" --create_if_missing put a b \
    >"$SCRATCH/log" 2>&1 || rc=$?
  grep -q "built for RocksDB 7.8, but RocksDB $version is loaded" "$SCRATCH/log" || {
    tail -n 5 "$SCRATCH/log" >&2
    die "ldb of $version with the library for 7.8 (exit code $rc) does not say what is wrong"
  }
  ((rc == 0)) || die "ldb of $version, with nothing asked of the wrong library, fails: $(<"$SCRATCH/log")"
  rm -rf "$SCRATCH/none"
  say "$version: the library for 7.8 says that it is the wrong one"
}

# The suite itself, linked with Furrow for VERSION: POSIX and Furrow side by side.
conformance() {
  local version=$1 lib program
  program=$(build_of "$1")/tests/conformance_test
  if [[ $version == 7.8 ]]; then
    program=$BUILD/tests/conformance_test
    [[ -x $program ]] || { say "7.8: conformance suite SKIPPED: $program is not built"; return; }
    timeout 300 "$program" >"$SCRATCH/log" 2>&1 || { show_log "$SCRATCH/log"; die "conformance suite on RocksDB 7.8"; }
  else
    lib=$CACHE/packages-rocksdb-$version/usr/lib/$triplet
    timeout 300 "$lib"/ld-linux-*.so.* --library-path "$lib:/usr/lib/$triplet" "$program" >"$SCRATCH/log" 2>&1 ||
      { show_log "$SCRATCH/log"; die "conformance suite on RocksDB $version"; }
  fi
  say "$version: conformance suite: $(grep -E '^\[  PASSED  \]' "$SCRATCH/log")"
}

for version in "${versions[@]}"; do
  prepare "$version" || continue
  exercise "$version"
  if ((!quick)); then conformance "$version"; fi
  HAVE[$version]=1
done
for version in 9.10 9.11; do
  [[ -n ${HAVE[7.8]:-} && -n ${HAVE[$version]:-} ]] || continue
  run "$version" "$keys of $keys found" db_bench --fs_uri="furrow://dir:$SCRATCH/device-7.8" --db=/db --num=$keys \
    --value_size=200 --use_existing_db=1 --benchmarks=readrandom --compression_type=none
  say "$version: opens what 7.8 wrote"
  mismatch "$version"
done
if [[ -n ${FURROW_ROCKSDB_INCLUDE:-} ]]; then
  say "$FURROW_ROCKSDB_INCLUDE: compiling plugin/fs against it"
  if ! { cmake -S "$ROOT" -B "$SCRATCH/headers" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFURROW_BUILD_TESTS=OFF \
    -DFURROW_BUILD_TOOLS=OFF -DFURROW_WERROR=ON -DFURROW_ROCKSDB_INCLUDE="$FURROW_ROCKSDB_INCLUDE" &&
    cmake --build "$SCRATCH/headers" -j "$JOBS" --target furrow_face; } >"$SCRATCH/log" 2>&1; then
    tail -n 30 "$SCRATCH/log" >&2
    die "plugin/fs does not compile against the headers in $FURROW_ROCKSDB_INCLUDE"
  fi
else
  say "11.x: SKIPPED: Debian has no package; FURROW_ROCKSDB_INCLUDE=.../include names its headers"
fi
((${#HAVE[@]})) || { say "SKIPPED: no version could be had"; exit 77; }
say "done: ${!HAVE[*]}"
