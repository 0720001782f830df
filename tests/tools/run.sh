#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# furrow run: programs that link RocksDB in all ways, on an emulated device; what cannot work is refused with the reason.
# FURROW_BUILD_DIR: the build (build/release). Needs the rocksdb-tools package.
. "$(dirname "${BASH_SOURCE[0]}")/../conformance/lib.sh"
need_build
make_scratch
programs=$BUILD/tests/run
uri=furrow://dir:$SCRATCH/zones
log=$SCRATCH/log
checks=0
new_device "$SCRATCH/zones" 32 4MiB
version=$(basename "$(readlink -f "$LIBRARY")")  # of RocksDB
version=${version#*-rocksdb}
version=${version%%.so*}
cd "$SCRATCH"

fail() {
  tail -n 20 "$log" >&2
  die "$*"
}
# gives CODE PATTERN ARGUMENTS...: what furrow run exits with, and a line that it or the program prints.
gives() {
  local code=$1 pattern=$2 rc=0
  shift 2
  timeout 60 "$FURROW" run "$@" >"$log" 2>&1 || rc=$?
  ((rc == code)) || fail "exit code $rc instead of $code from: furrow run $*"
  grep -qE -- "$pattern" "$log" || fail "no line like '$pattern' from: furrow run $*"
  checks=$((checks + 1))
}
on_device() { "$FURROW" stat "$uri" "$1" >"$log" 2>&1 || fail "$1 is not on the device"; }
not_on_device() { ! "$FURROW" stat "$uri" "$1" >"$log" 2>&1 || fail "$1 is on the device"; }
on_host() { [[ -e $1 ]] || fail "$1 is not on the host"; }
not_on_host() { [[ ! -e $1 ]] || fail "$1 is on the host"; }

# With the option that the program has itself.
gives 0 'fillseq +:' db_bench --fs_uri="$uri" --db=/bench --num=1000 --benchmarks=fillseq
on_device /bench/CURRENT

# Without one. RocksDB comes through another library; the exit code is the program's.
here=$SCRATCH/here
mkdir "$here"
gives 0 '^count 1$' --default="$uri" --prefix="$here" -- "$programs/run_user" "$here/db"
gives 7 '^count 2$' --default="$uri" --prefix="$here" "$programs/run_user" here/db 7
on_device "$here/db/CURRENT"
not_on_host "$here/db"
gives 0 '^count 1$' --default="$uri" --prefix="$here" "$programs/run_user" "$SCRATCH/beside"
on_host "$SCRATCH/beside/CURRENT"
not_on_device "$SCRATCH/beside"
gives 0 '^count 1$' --default="$uri" --prefix=one --prefix=two "$programs/run_user" two/db
on_device "$SCRATCH/two/db/CURRENT"
gives 0 '^count 1$' --default="$uri" "$programs/run_user" "$SCRATCH/everything"
on_device "$SCRATCH/everything/CURRENT"
not_on_host "$SCRATCH/everything"
gives 0 '^count 1$' "$programs/run_user" "$SCRATCH/plain"  # loaded, and asked for nothing
on_host "$SCRATCH/plain/CURRENT"

# Scripts: what matters is the program that runs them, or what the user says.
printf '#!%s\n' "$programs/run_user" >script
chmod +x script
gives 0 '^count 1$' --default="$uri" ./script  # its database is the script itself: only RocksDB's names go to the device
printf '#!/bin/sh\nexec "$@"\n' >wrapper
chmod +x wrapper
gives 1 'rocksdb=VERSION' --default="$uri" ./wrapper "$programs/run_user" "$here/db"
gives 0 '^count 3$' --default="$uri" --prefix="$here" --rocksdb="$version" ./wrapper "$programs/run_user" "$here/db"

# Every call counts.
FURROW_CALLS_FILE=$SCRATCH/calls gives 0 '^count 4$' --default="$uri" --prefix="$here" "$programs/run_user" "$here/db"
awk '$2 > 10 && $3 == "run_user" { found = 1 } END { exit !found }' calls || fail "calls: $(cat calls)"
rm calls
FURROW_CALLS_FILE=$SCRATCH/calls gives 0 '^count 1$' --default="$uri" --prefix="$here" "$programs/run_user" none
awk '$2 == 0 { found = 1 } END { exit !found }' calls || fail "calls beside the device: $(cat calls)"

# What is preloaded already stays, behind Furrow.
LD_PRELOAD=libpthread.so.0 gives 0 'libfurrow[^:]*:libpthread.so.0$' --rocksdb="$version" printenv LD_PRELOAD

# A device that cannot be mounted fails the program's calls; nothing goes to the host in its stead.
gives 1 'could not be mounted.*nowhere' --default="furrow://dir:$SCRATCH/nowhere" "$programs/run_user" "$SCRATCH/lost"
not_on_host "$SCRATCH/lost"

gives 1 'statically into it' "$programs/run_static"
gives 1 'statically into it' "$programs/run_stripped"
gives 1 'no librocksdb.so' /bin/true
gives 3 "for RocksDB 99.1 in .*there is one for .*$version" "$programs/run_future_user"
gives 3 "no program 'no-such-program'" no-such-program
gives 2 'prefix says' --prefix=/x "$programs/run_user" /x/db
gives 2 'default' --default=tape:0 "$programs/run_user" /x/db
gives 2 'no PROGRAM' --default="$uri"

say "$checks runs behaved"
