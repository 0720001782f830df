#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` into a directory of its own; then, as a stranger would, an application by find_package(furrow) and by
# pkg-config, run on an emulated device; and the answer to a RocksDB for which no Furrow is installed. FURROW_BUILD_DIR:
# the build tree. deb.sh is the long form.
. "$(dirname "$0")/../conformance/lib.sh"

make_scratch
prefix=$SCRATCH/prefix
uri=furrow://dir:$SCRATCH/zones
app=$ROOT/examples/cmake-app

quietly() {
  "$@" >"$SCRATCH/log" 2>&1 || {
    cat "$SCRATCH/log" >&2
    die "failed: $*"
  }
}
# The application's output must be exactly as many lines as it has run.
run_application() {
  "$1" "$uri" >"$SCRATCH/out" || die "$1 failed"
  [[ $(wc -l <"$SCRATCH/out") == "$2" ]] || die "$1 printed '$(cat "$SCRATCH/out")', not $2 runs"
}

say "cmake --install"
quietly cmake --install "$BUILD" --prefix "$prefix"
[[ $("$prefix/bin/furrow" version) == "$("$FURROW" version)" ]] || die "the installed command is another one"
config=$(find "$prefix" -name furrow-config.cmake)
pc=$(find "$prefix" -name furrow.pc)
library=$(find "$prefix" -name libfurrow.so)
[[ -f $config && -e $pc && -e $library ]] || die "no furrow-config.cmake, furrow.pc or libfurrow.so in $prefix"
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[[ $soname =~ ^libfurrow-rocksdb[0-9]+\.[0-9]+\.so\.[0-9.]+$ ]] || die "the soname is '$soname'"
[[ -e $(dirname "$library")/$soname ]] || die "$soname, for which the loader will look, is not beside $library"
for command in mkfs df help; do
  zcat "$prefix/share/man/man1/furrow.1.gz" | grep -x ".SS $command" >/dev/null || die "the man page lacks $command"
done

say "find_package(furrow)"
quietly "$prefix/bin/furrow" mkfs "$uri" --zones=32 --zone-size=16MiB --yes
quietly cmake -S "$app" -B "$SCRATCH/app" -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$SCRATCH/app"
run_application "$SCRATCH/app/app" 1
run_application "$SCRATCH/app/app" 2

say "pkg-config"
if pkg-config --exists rocksdb; then
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  read -ra flags < <(pkg-config --cflags --libs furrow)
  quietly g++ -std=c++17 "$app/main.cc" -o "$SCRATCH/by-pkg-config" "${flags[@]}" -Wl,-rpath,"$(dirname "$library")"
  run_application "$SCRATCH/by-pkg-config" 3
  [[ -e $(pkg-config --variable=preload furrow) ]] || die "the variable preload of furrow.pc names no file"
fi

say "a RocksDB that this Furrow is not for"
mkdir -p "$SCRATCH/other/rocksdb"
printf '#define ROCKSDB_MAJOR 99\n#define ROCKSDB_MINOR 1\n' >"$SCRATCH/other/rocksdb/version.h"
if cmake -S "$app" -B "$SCRATCH/other/build" -DCMAKE_PREFIX_PATH="$prefix" -DFURROW_ROCKSDB_INCLUDE="$SCRATCH/other" \
  >"$SCRATCH/log" 2>&1; then
  die "find_package accepted RocksDB 99.1"
fi
tr -s ' \n' ' ' <"$SCRATCH/log" | grep -q 'no Furrow for RocksDB 99.1' || {
  cat "$SCRATCH/log" >&2
  die "find_package does not say what is wrong"
}
say "ok"
