#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every command of the stock ldb, on Furrow and on the host's file system: exit codes and outputs must be the same. The
# databases have the same paths on both, so that messages can be compared. The list of commands is ldb's own (--help): one
# that is not tried here fails the test. FURROW_BUILD_DIR: the build.
. "$(dirname "$0")/lib.sh"

need_build
make_scratch
device=$SCRATCH/device
new_device "$device" 64 4MiB
uri=furrow://dir:$device
place=$SCRATCH/place  # of all databases, on both file systems
db=$place/db
default=$(echo "$BUILD"/lib/libfurrow-default-rocksdb*.so)
[[ -e $default ]] || die "$default is missing; build it: tests/scripts/build.sh release furrow_default"
mkdir "$place"
failures=0
declare -A tried

# What differs between any two runs: identities, sessions, times, checksums over them.
normalise() {
  sed -E -e 's/[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{12,}/ID/g; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/g' \
    -e 's/(creation_time|creation time=|file_creation_time|oldest_ancester_time|timestamp)[: ]*[0-9]+/\1 T/g' \
    -e "s/[A-Z0-9]{20}\b/SESSION/g; s/\[[0-9a-f]{8}\]/[THREAD]/g" \
    -e 's/(without unique ID to verify): .*/\1/; s/unique ID=.*/unique ID/; s/(No such file or directory): .*/\1/; s/0x[0-9a-f]{8,}/ADDRESS/; s/(Posix|Furrow)FileSystem/FILESYSTEM/' \
    -e 's/[0-9]{4}\/[0-9]{2}\/[0-9]{2}-[0-9:.]+ [0-9a-f]+/NOW/g; s/unique_id.*/unique_id/; s/(UniqueId|file_checksum)[^,]*/\1/g' "$1"
}

# run FS ARGUMENTS...: input from $SCRATCH/input; {exit code, output} to $SCRATCH/FS.out.
run() {
  local fs=$1 rc=0 target=posix
  shift
  if [[ $fs == furrow ]]; then target=$uri; fi
  local command=(on "$target" 60 ldb "$@")
  if [[ $fs == furrow && ${AS_DEFAULT:-0} == 1 ]]; then
    command=(env LD_PRELOAD="$default" FURROW_DEFAULT_URI="$uri" FURROW_DEFAULT_PREFIX="$place" timeout 60 ldb "$@")
  fi
  "${command[@]}" <"$SCRATCH/input" >"$SCRATCH/$fs.raw" 2>"$SCRATCH/$fs.err" || rc=$?
  { echo "exit $rc"; normalise "$SCRATCH/$fs.raw"; normalise "$SCRATCH/$fs.err" | grep -v '^furrow: ' || true; } >"$SCRATCH/$fs.out"
  if ((${SORTED:-0})); then sort -o "$SCRATCH/$fs.out" "$SCRATCH/$fs.out"; fi
}

# same COMMAND ARGUMENTS...: as on POSIX. @URI in an argument is the device's URI; such an argument is left out on POSIX.
# DB: another database ("": none). SORTED=1: the order of lines follows that of a directory's entries. AS_DEFAULT=1: without
# --fs_uri, Furrow being RocksDB's default file system.
same() {
  local argument posix=() furrow=() database="--db=${DB-$db}"
  tried[$1]=1
  for argument in "$@"; do
    furrow+=("${argument//@URI/$uri}")
    if [[ $argument != *@URI* ]]; then posix+=("$argument"); fi
  done
  if [[ $database == --db= ]]; then database=--ignore_unknown_options; fi
  run posix "$database" "${posix[@]}"
  run furrow "$database" "${furrow[@]}"
  if ! cmp -s "$SCRATCH/posix.out" "$SCRATCH/furrow.out"; then
    failures=$((failures + 1))
    printf '%s: FAILED: ldb %s: other than on POSIX\n' "$NAME" "$*" >&2
    diff "$SCRATCH/posix.out" "$SCRATCH/furrow.out" | head -n 20 >&2 || true
  fi
}

# good COMMAND ARGUMENTS...: the same, and it must succeed. says PATTERN COMMAND...: and print a line like that.
good() {
  same "$@"
  if ! grep -q '^exit 0$' "$SCRATCH/furrow.out"; then
    failures=$((failures + 1))
    printf '%s: FAILED: ldb %s\n' "$NAME" "$*" >&2
    head -n 20 "$SCRATCH/furrow.out" >&2
  fi
}
says() {
  local pattern=$1
  shift
  good "$@"
  grep -qE "$pattern" "$SCRATCH/furrow.out" || {
    failures=$((failures + 1))
    printf '%s: FAILED: ldb %s printed no line like %s\n' "$NAME" "$*" "$pattern" >&2
    head -n 20 "$SCRATCH/furrow.out" >&2
  }
}

# newest KIND: the path of the newest such file of the database; on POSIX and Furrow it has the same name.
newest() {
  case $1 in
    manifest) find "$db" -name 'MANIFEST-*' ;;
    *) find "$db" -name "*.$1" ;;
  esac | sort | tail -n 1
}

: >"$SCRATCH/input"
same get apple  # there is no database yet
same scan
good put apple red --create_if_missing --auto_compaction=false  # kept in its options file: every run is the same
good put banana yellow
good batchput cherry black date brown elder blue
says '^red$' get apple
same get nothing
says '^date : brown$' scan
says '^banana : yellow$' scan --from=b --to=c
good scan --max_keys=2 --hex
good delete date
good deleterange e f
good list_file_range_deletes
good idump
good idump --count_only
printf 'get apple\nput fig green\nget fig\ndelete cherry\nget cherry\n' >"$SCRATCH/input"
same query  # 7.8 ends its shell with "Failed: "
grep -q '^fig ==> green' "$SCRATCH/furrow.out" || die "ldb query: $(cat "$SCRATCH/furrow.out")"
: >"$SCRATCH/input"
good approxsize --from=a --to=z
says '^OK$' checkconsistency
good dump
good dump --count_only --stats
DB="" good dump --path="$(newest manifest)"
good list_column_families
# These two take neither --fs_uri nor --env_uri, whatever the file system: Furrow stands in for the default one then.
for command in create_column_family drop_column_family; do
  tried[$command]=1
  for target in "--fs_uri=posix://" "--fs_uri=$uri"; do
    LD_PRELOAD=$LIBRARY ldb "$target" --db="$db" $command second >"$SCRATCH/refused" 2>&1 && die "ldb $command takes --fs_uri"
    grep -q 'Invalid command-line option fs_uri' "$SCRATCH/refused" || die "ldb $command $target: $(cat "$SCRATCH/refused")"
  done
done
AS_DEFAULT=1 good create_column_family second
good list_column_families
good put --column_family=second k v
says '^k : v$' scan --column_family=second
AS_DEFAULT=1 good drop_column_family second
good list_column_families
AS_DEFAULT=1 same drop_column_family second
good manifest_dump
good manifest_dump --verbose
good manifest_dump --json
good file_checksum_dump
good update_manifest --update_temperatures
same update_manifest
good list_live_files_metadata
good list_live_files_metadata --sort_by_filename
good dump_live_files
good get_property rocksdb.estimate-num-keys
good get_property rocksdb.num-files-at-level0
same get_property rocksdb.nonsense
good reduce_levels --new_levels=3 --print_old_levels
DB=$place/style good put a b --create_if_missing
DB=$place/style good change_compaction_style --old_compaction_style=0 --new_compaction_style=1
good compact
good compact --from=a --to=c

# Logs: the one that the last put left.
good put wal entry
says 'PUT' dump_wal --walfile="$(newest log)" --header --print_value
DB="" good dump --path="$(newest log)"
DB="" good dump --path="$(newest sst)"

# Dumped text goes into another database; so do tables.
on posix 60 ldb --db="$db" dump --hex 2>"$SCRATCH/ignored" | grep '==>' >"$SCRATCH/input"
DB=$place/loaded good load --create_if_missing --hex
DB=$place/bulk good load --create_if_missing --hex --bulk_load --compact --disable_wal
: >"$SCRATCH/input"
DB=$place/loaded says ' : ' scan
DB=$place/bulk says ' : ' scan
printf 'm1 ==> one\nm2 ==> two\nm3 ==> three\n' >"$SCRATCH/input"
good write_extern_sst "$place/extern.sst"
: >"$SCRATCH/input"
good ingest_extern_sst "$place/extern.sst"
says '^m2 : two$' scan
printf 'n1 ==> one\nn2 ==> two\n' >"$SCRATCH/input"
good write_extern_sst "$place/moved.sst"
: >"$SCRATCH/input"
good ingest_extern_sst "$place/moved.sst" --move_files --write_global_seqno=true
says '^n1 : one$' scan

good checkpoint --checkpoint_dir="$place/checkpoint"
DB=$place/checkpoint says '^apple : red$' scan
same checkpoint --checkpoint_dir="$place/checkpoint"  # it exists
good backup --backup_fs_uri=@URI --backup_dir="$place/backup"
good put after backup
good backup --backup_fs_uri=@URI --backup_dir="$place/backup" --num_threads=2
DB=$place/restored good restore --backup_fs_uri=@URI --backup_dir="$place/backup"
DB=$place/restored says '^after : backup$' scan
good --secondary_path="$place/secondary" scan
good --secondary_path="$place/secondary" get apple

DB=$place/ttl same put --ttl --create_if_missing old new  # 7.8 says OK, and then fails
DB=$place/ttl same get --ttl old
DB=$place/blob good put --enable_blob_files --min_blob_size=4 --create_if_missing large "a value that is a blob"
DB=$place/blob good compact --enable_blob_files --min_blob_size=4
DB=$place/blob good dump --dump_uncompressed_blobs
DB=$place/blob good dump_live_files --dump_uncompressed_blobs --decode_blob_index

# Damage, as far as ldb can make some.
table=$(newest sst)
good unsafe_remove_sst_file "$((10#$(basename "$table" .sst)))"
same scan
same unsafe_remove_sst_file 999999
SORTED=1 good repair
SORTED=1 good repair --verbose
good scan

for command in $(ldb --help 2>&1 | awk '/^Data Access Commands:/ { on = 1; next } on && /^  [a-z_]+/ { print $1 }'); do
  if [[ -z ${tried[$command]:-} ]]; then
    failures=$((failures + 1))
    printf '%s: FAILED: ldb %s was not tried\n' "$NAME" "$command" >&2
  fi
done
((${#tried[@]} > 20)) || die "ldb --help names only ${#tried[@]} commands"
# All of it went through Furrow: the host's directory holds POSIX's databases, the device the others.
[[ $("$FURROW" ls "$uri" "$db" | grep -c '\.sst') -gt 0 ]] || die "nothing of it is on the device"
say "${#tried[@]} commands, $failures other than on POSIX"
((failures == 0))
