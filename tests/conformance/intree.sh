#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# intree.sh [--dir=PARENT]: this repository as plugin/furrow in RocksDB's own tree (Debian's source package of the installed
# version): RocksDB's CMake configured with ROCKSDB_PLUGINS=furrow, all objects of the plugin compiled as RocksDB compiles
# them, RocksDB's table of built-in plugins compiled with furrow_register in it, and RocksDB's ldb linked with the
# plugin's objects and run on a device, nothing preloaded. For the rest of RocksDB the installed librocksdb.so stands in:
# compiling it takes an hour. RocksDB's make is asked what it would do (make -n). Minutes; not part of the tests.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rocksdb_source.sh"

parent=${TMPDIR:-/tmp}
for argument in "$@"; do
  case $argument in
    --dir=*) parent=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done

need_build
need_source
make_scratch "$parent"
tree=$SCRATCH/rocksdb
build=$SCRATCH/build
cp -as "$ROCKSDB_SOURCE" "$tree" # links to the source: it stays as it is
# Not one link to all of it: RocksDB's make leaves files beside the sources, in whatever directory it finds.
mkdir "$tree/plugin/furrow"
for part in CMakeLists.txt furrow.mk cmake include plugin util; do cp -as "$ROOT/$part" "$tree/plugin/furrow/"; done

# quietly WHAT COMMAND...: its output only if it fails.
quietly() {
  local what=$1
  shift
  "$@" >"$SCRATCH/log" 2>&1 || {
    tail -n 40 "$SCRATCH/log" >&2
    die "$what failed"
  }
}

say "configuring RocksDB with ROCKSDB_PLUGINS=furrow"
# The defines must be those of Debian's build, which keeps assertions: class layouts depend on them.
quietly "RocksDB's CMake" cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
  -DROCKSDB_PLUGINS=furrow -DPORTABLE=ON -DFAIL_ON_WARNINGS=OFF \
  -DWITH_{BZ2,LZ4,ZLIB,ZSTD,SNAPPY}=ON -DWITH_TESTS=OFF -DWITH_BENCHMARK_TOOLS=OFF
ninja -C "$build" -t targets all >"$SCRATCH/targets"
mapfile -t objects < <(grep -oE '^CMakeFiles/rocksdb\.dir/plugin/furrow/[^:]+\.o' "$SCRATCH/targets")
named=$(grep -cE '^  [A-Za-z0-9_/]+\.cc' "$ROOT/furrow.mk")
((${#objects[@]} == named)) || die "RocksDB would compile ${#objects[@]} of furrow.mk's $named sources"
table=CMakeFiles/rocksdb.dir/build_version.cc.o
grep -q "^$table:" "$SCRATCH/targets" || die "RocksDB's build has no $table"
ldb=$(grep -oE '^tools/CMakeFiles/ldb\.dir/[^:]+\.o' "$SCRATCH/targets")
say "compiling ${#objects[@]} objects of the plugin ($JOBS jobs)"
quietly "compiling in RocksDB's tree" ninja -C "$build" -j "$JOBS" "${objects[@]}" "$table" $ldb
# To files: grep -q would end nm before its time, and pipefail make an error of that.
nm "$build/$table" >"$SCRATCH/table"
grep -q ' U furrow_register$' "$SCRATCH/table" || die "RocksDB's table of built-in plugins does not name furrow_register"
nm -g "$build/CMakeFiles/rocksdb.dir/plugin/furrow/plugin/fs/rocksdb_api.cc.o" >"$SCRATCH/face"
grep -q ' T furrow_register$' "$SCRATCH/face" ||
  die "the plugin does not define furrow_register as RocksDB's table wants it"

libraries=$(grep -oE '^furrow_LDFLAGS := .*' "$ROOT/furrow.mk" | cut -d= -f2)
# shellcheck disable=SC2086  # words
(cd "$build" && quietly "linking ldb" g++ -o "$SCRATCH/ldb" $ldb "${objects[@]}" -lrocksdb -lgflags $libraries -lpthread)
new_device "$SCRATCH/device" 32 16MiB
uri=furrow://dir:$SCRATCH/device
quietly "ldb put" "$SCRATCH/ldb" --fs_uri="$uri" --db=/db --create_if_missing put apple red
quietly "ldb scan" "$SCRATCH/ldb" --fs_uri="$uri" --db=/db scan
grep -q '^apple : red$' "$SCRATCH/log" || die "the ldb built in RocksDB's tree does not read back what it wrote"
"$FURROW" ls "$uri" /db >"$SCRATCH/log"
grep -q CURRENT "$SCRATCH/log" || die "the database is not on the device"
say "ldb with the plugin inside: ok"

# RocksDB's make: sources, flags for them alone, libraries.
quietly "make -n" make -n -C "$tree" ROCKSDB_PLUGINS=furrow OBJ_DIR=. DISABLE_WARNING_AS_ERROR=1 SKIP_DEPENDS=1 ldb
count=$(grep -oE '[-]c plugin/furrow/[^ ]+\.cc' "$SCRATCH/log" | sort -u | wc -l)
((count == named)) || die "RocksDB's make would compile $count of furrow.mk's $named sources"
! grep -E -- '-c plugin/furrow/' "$SCRATCH/log" | grep -v -- '-iquote plugin/furrow ' >"$SCRATCH/bare" ||
  die "RocksDB's make would compile a source of ours without -iquote"
! grep -E -- '-c (db|util|tools)/' "$SCRATCH/log" | grep -- '-iquote' >"$SCRATCH/ours" || die "RocksDB's make would give its own sources our flags"
grep -E -- '-o ldb ' "$SCRATCH/log" | grep -- '-lzbd' >"$SCRATCH/link" || die "RocksDB's make would link ldb without our libraries"
say "make -n: $count sources, flags and libraries as they must be"
