# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced, after lib.sh, by the scripts that run RocksDB's own tests. need_db_stress sets ROCKSDB_SOURCE and DB_STRESS:
# Debian's packages have no db_stress, so it is built from the distribution's source package, against the installed
# librocksdb.so, which exports what it needs. That takes two minutes, the first time; source and program are kept in
# FURROW_CACHE (/var/tmp/furrow-cache), which may be removed. apt gets a configuration of its own: the system's lists
# and caches are not touched, and no root is needed. FURROW_DEBIAN_MIRROR (http://deb.debian.org/debian).

ROCKSDB_SOURCE=  # the unpacked source of the installed librocksdb's version
DB_STRESS=       # the program
SUITES=          # where need_suites puts its programs

# Class layouts depend on these: they are those of Debian's build, which keeps assertions.
ROCKSDB_FLAGS=(
  -std=gnu++17 -O1 -w -DOS_LINUX -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DROCKSDB_FALLOCATE_PRESENT
  -DROCKSDB_MALLOC_USABLE_SIZE -DROCKSDB_PTHREAD_ADAPTIVE_MUTEX -DROCKSDB_RANGESYNC_PRESENT -DROCKSDB_SCHED_GETCPU_PRESENT
  -DROCKSDB_NO_DYNAMIC_EXTENSION -DGFLAGS=1 -DSNAPPY -DZLIB -DBZIP2 -DLZ4 -DZSTD -I. -Iinclude
)

# fetch_source VERSION FOLDER: the upstream part of rocksdb's source package, unpacked. Debian's patches concern other
# machines and its build. FOLDER is complete, or not there.
fetch_source() {
  local version=$1 folder=$2 work apt codename keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  work=$(mktemp -d "$folder.XXXXXX") || die "cannot make a directory beside $folder"
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/parts" "$work/source"
  echo "deb-src [signed-by=$keyring] ${FURROW_DEBIAN_MIRROR:-http://deb.debian.org/debian} $codename main" >"$work/list"
  apt=(apt-get -q -o "Dir::State=$work/state" -o "Dir::Cache=$work/cache" -o "Dir::Etc::SourceList=$work/list"
    -o "Dir::Etc::SourceParts=$work/parts" -o "APT::Sandbox::User=$(id -un)")
  say "fetching the source of rocksdb $version"
  if ! (cd "$work" && "${apt[@]}" update && "${apt[@]}" --download-only source "rocksdb=$version") >"$work/log" 2>&1 ||
    ! tar -xf "$work"/rocksdb_*.orig.tar.* -C "$work/source" --strip-components=1 >>"$work/log" 2>&1; then
    cat "$work/log" >&2
    rm -rf "$work"
    say "SKIPPED: cannot fetch the source package of rocksdb $version (FURROW_DEBIAN_MIRROR names another mirror)"
    exit 77
  fi
  mv "$work/source" "$folder"
  rm -rf "$work"
}

# build_db_stress FOLDER: in FOLDER/furrow, which is complete, or not there.
build_db_stress() {
  local folder=$1 work
  work=$(mktemp -d "$folder/furrow.XXXXXX") || die "cannot make a directory in $folder"
  say "building db_stress ($JOBS jobs, about two minutes on two cores)"
  # The single quotes are for the shell that xargs starts.
  # shellcheck disable=SC2016
  if ! (cd "$folder" && printf '%s\0' db_stress_tool/*.cc |
    xargs -0 -P "$JOBS" -I {} sh -c 'source=$1 out=$2; shift 2; g++ "$@" -c "$source" -o "$out/$(basename "$source" .cc).o"' \
      sh {} "$work" "${ROCKSDB_FLAGS[@]}" &&
    g++ -o "$work/db_stress" "$work"/*.o -lrocksdb -lgflags -lzstd -lpthread) >"$work/log" 2>&1; then
    tail -n 40 "$work/log" >&2
    rm -rf "$work"
    die "db_stress does not build; installed: $(dpkg-query -W librocksdb-dev libgflags-dev libzstd-dev 2>&1 | tr '\n' ' ')"
  fi
  rm -f "$work"/*.o
  echo "${ROCKSDB_FLAGS[*]}" >"$work/flags"
  rm -rf "$folder/furrow"
  mv "$work" "$folder/furrow"
}

# What the test programs are linked with, beside librocksdb.so, which exports what they need of its insides.
HARNESS_SOURCES=(
  test_util/testharness.cc test_util/mock_time_env.cc third-party/gtest-1.8.1/fused-src/gtest/gtest-all.cc
  db/db_test_util.cc db/db_with_timestamp_test_util.cc monitoring/thread_status_updater_debug.cc table/mock_table.cc
  utilities/agg_merge/test_agg_merge.cc utilities/cassandra/test_utils.cc
)

# compile_objects FOLDER SOURCE...: each to FOLDER/<path with _>.o, below ROCKSDB_SOURCE, JOBS at a time.
compile_objects() {
  local folder=$1
  shift
  # The single quotes are for the shell that xargs starts.
  # shellcheck disable=SC2016
  (cd "$ROCKSDB_SOURCE" && printf '%s\0' "$@" |
    xargs -0 -P "$JOBS" -I {} sh -c 'source=$1 out=$2/$(echo "$1" | tr / _).o; shift 2
      [ -e "$out" ] || { g++ "$@" -isystem third-party/gtest-1.8.1/fused-src -c "$source" -o "$out.part" && mv "$out.part" "$out"; }' \
      sh {} "$folder" "${ROCKSDB_FLAGS[@]}")
}

# need_suites PROGRAM...: RocksDB's test programs, in SUITES. source_of (the caller's) tells their sources.
need_suites() {
  local suite sources=() missing=() object objects=() lock
  need_source
  SUITES=$ROCKSDB_SOURCE/furrow-suites
  exec {lock}>"$SUITES.lock"
  flock "$lock"
  mkdir -p "$SUITES"
  if [[ "$(cat "$SUITES/flags" 2>/dev/null)" != "${ROCKSDB_FLAGS[*]}" ]]; then
    rm -f "$SUITES"/*
    echo "${ROCKSDB_FLAGS[*]}" >"$SUITES/flags"
  fi
  for suite in "$@"; do
    [[ -x $SUITES/$suite ]] || missing+=("$suite")
  done
  if ((${#missing[@]})); then
    say "building ${missing[*]} ($JOBS jobs; a minute on two cores for what they share, and up to half of one for each)"
    for suite in "${missing[@]}"; do sources+=("$(source_of "$suite")"); done
    compile_objects "$SUITES" "${HARNESS_SOURCES[@]}" "${sources[@]}" >"$SUITES/log" 2>&1 ||
      { tail -n 40 "$SUITES/log" >&2; die "RocksDB's tests do not compile"; }
    for object in "${HARNESS_SOURCES[@]}"; do objects+=("$SUITES/${object//\//_}.o"); done
    for suite in "${missing[@]}"; do
      object=$(source_of "$suite")
      g++ -o "$SUITES/$suite.part" "$SUITES/${object//\//_}.o" "${objects[@]}" -lrocksdb -lgflags -lsnappy -lz -lbz2 -llz4 -lzstd \
        -lpthread >"$SUITES/log" 2>&1 || { tail -n 40 "$SUITES/log" >&2; die "$suite does not link"; }
      mv "$SUITES/$suite.part" "$SUITES/$suite"
    done
  fi
  exec {lock}>&-
}

# Sets ROCKSDB_SOURCE, and fetches it if need be.
need_source() {
  local version cache=${FURROW_CACHE:-/var/tmp/furrow-cache} lock
  version=$(dpkg-query -W -f '${source:Version}' librocksdb-dev 2>/dev/null) ||
    die "librocksdb-dev is not installed; run tests/scripts/install-deps.sh"
  mkdir -p "$cache" || die "cannot make $cache; name another place with FURROW_CACHE"
  ROCKSDB_SOURCE=$cache/rocksdb-$version
  exec {lock}>"$ROCKSDB_SOURCE.lock"
  flock "$lock"  # two runs at once: the second waits for what the first makes
  [[ -d $ROCKSDB_SOURCE ]] || fetch_source "$version" "$ROCKSDB_SOURCE"
  exec {lock}>&-
}

need_db_stress() {
  local lock
  need_source
  DB_STRESS=$ROCKSDB_SOURCE/furrow/db_stress
  exec {lock}>"$ROCKSDB_SOURCE.lock"
  flock "$lock"
  if [[ ! -x $DB_STRESS || $(<"$ROCKSDB_SOURCE/furrow/flags") != "${ROCKSDB_FLAGS[*]}" ]]; then
    build_db_stress "$ROCKSDB_SOURCE"
  fi
  exec {lock}>&-
}
