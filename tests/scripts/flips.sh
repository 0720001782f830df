#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# flips.sh [--devices=200] [--seed=N]: small devices, one flipped bit each, in every structure in turn; a deep check has
# to find each one. A random seed by default; it is printed.
. "$(dirname "$0")/lib.sh"

program=${FURROW_BUILD_DIR:-$ROOT/build/release}/tests/flips
[[ -x $program ]] || die "$program is missing; build it: tests/scripts/build.sh release flips"
seed=$RANDOM$RANDOM
devices=200
for argument in "$@"; do
  case $argument in
    --devices=*) devices=${argument#*=} ;;
    --seed=*) seed=${argument#*=} ;;
    *) die "unknown argument $argument (see the head of $0)" ;;
  esac
done
exec "$program" --devices="$devices" --seed="$seed"
