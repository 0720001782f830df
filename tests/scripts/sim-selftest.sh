#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# sim-selftest.sh [--json=FILE] [--limit=SECONDS] [BUG...]: can the crash simulator find anything? Builds it with bugs that
# can be switched on (util/planted_bug.h) into build/planted, runs it without any, which must succeed, and with each of them
# (or those named), which must report a fitting violation within 60 seconds. Prints how long each took; --json writes that.
. "$(dirname "$0")/lib.sh"

programs=(furrow_sim volume_crash_test cached_journal_test concurrent_sim_test shared_zone_test stage_epoch_test)
configure planted
build planted "${programs[@]}" | tail -n 1

# What is installed has none of it. The words are found where they are: in the programs just built.
traces() { grep -aqE 'FURROW_PLANT|PlantedBug|planted_bug' "$1"; }
traces "$ROOT/build/planted/tests/furrow_sim" || die "build/planted has no planted bugs"
for library in "$ROOT"/build/release/lib/libfurrow-*.so; do
  if [[ ! -e $library ]]; then
    say "build/release has no library: not looked at"
  elif traces "$library"; then
    die "$library has traces of planted bugs"
  else
    say "no trace of them in $(readlink -f "$library")"
  fi
done

exec python3 "$SCRIPTS/sim_selftest.py" --programs="$ROOT/build/planted/tests" "$@"
