#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_flat.sh [LIMIT]: runs zone_select_benchmark and compares, per benchmark, the time on the largest device with that on
# the smallest: at most LIMIT times (1.5). Medians of five runs in random order. Non-zero when one is above.
. "$(dirname "$0")/../conformance/lib.sh"

limit=${1:-1.5}
program=$BUILD/bin/zone_select_benchmark
[[ -x $program ]] || die "$program is missing; build it: tests/scripts/build.sh release zone_select_benchmark"
make_scratch
"$program" --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true --benchmark_min_time=0.1 \
  --benchmark_out="$SCRATCH/result.json" --benchmark_out_format=json >"$SCRATCH/log" 2>&1 || {
  cat "$SCRATCH/log" >&2
  die "$program failed"
}
python3 - "$SCRATCH/result.json" "$limit" <<'EOP'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as result:
    runs = json.load(result)["benchmarks"]
limit = float(sys.argv[2])
times = {}
for run in runs:
    if run.get("aggregate_name") == "median":
        name, zones = run["run_name"].split("/")[:2]
        times.setdefault(name, {})[int(zones)] = run["cpu_time"]
ok = bool(times)
for name, by_zones in sorted(times.items()):
    few, many = min(by_zones), max(by_zones)
    ratio = by_zones[many] / by_zones[few]
    good = few < many and ratio <= limit
    ok = ok and good
    print(f"{name}: {by_zones[few]:.0f} with {few} zones, {by_zones[many]:.0f} with {many}: x {ratio:.2f},"
          f" at most {limit:.2f}: {'ok' if good else 'MISSED'}")
sys.exit(0 if ok else 1)
EOP
