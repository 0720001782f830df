# SPDX-License-Identifier: Apache-2.0
"""The table of compare.sh. Usage: compare_report.py RESULTS [--no-bounds] [--json=FILE]

RESULTS: lines "workload pair fs value". Exit 1 when a median misses its bound."""

import json
import statistics
import sys

LOWEST_RATIO = {
    "fillrandom": 1.0,
    "overwrite": 1.0,
    "readwhilewriting": 1.0,
    "readrandom": 0.95,
    "fillsync": 0.95,
    "fillsync+overwrite": 0.95,
}
HIGHEST_WRITE_FACTOR = 1.02


def read(path):
    values = {}
    with open(path, encoding="utf-8") as results:
        for line in results:
            workload, pair, fs, value = line.split()
            values.setdefault(workload, {}).setdefault(int(pair), {})[fs] = float(value)
    return values


def rows(values, with_bounds):
    for workload, pairs in values.items():
        if workload == "write_factor":
            continue
        ratios = [p["furrow"] / p["posix"] for _, p in sorted(pairs.items())]
        bound = LOWEST_RATIO.get(workload) if with_bounds else None
        median = statistics.median(ratios)
        yield {
            "workload": workload,
            "median_ratio": median,
            "lowest_ratio": min(ratios),
            "highest_ratio": max(ratios),
            "posix_ops_per_second": statistics.median(p["posix"] for p in pairs.values()),
            "furrow_ops_per_second": statistics.median(p["furrow"] for p in pairs.values()),
            "pairs": len(ratios),
            "bound": bound,
            "ok": bound is None or median >= bound,
        }


def main():
    options = sys.argv[2:]
    values = read(sys.argv[1])
    with_bounds = "--no-bounds" not in options
    table = list(rows(values, with_bounds))
    factors = [p["furrow"] for p in values.get("write_factor", {}).values()]
    print(f"{'workload':<36} {'posix':>10} {'furrow':>10} {'ratio':>7} {'lowest':>7} {'highest':>7} {'bound':>6}")
    for r in table:
        bound = "-" if r["bound"] is None else f"{r['bound']:.2f}"
        print(
            f"{r['workload']:<36} {r['posix_ops_per_second']:>10.0f} {r['furrow_ops_per_second']:>10.0f}"
            f" {r['median_ratio']:>7.3f} {r['lowest_ratio']:>7.3f} {r['highest_ratio']:>7.3f} {bound:>6}"
            f"  {'' if r['bound'] is None else 'ok' if r['ok'] else 'MISSED'}"
        )
    ok = all(r["ok"] for r in table)
    if factors:
        held = max(factors) <= HIGHEST_WRITE_FACTOR
        ok = ok and held
        print(f"write factor after fillrandom: {max(factors):.4f} (highest), bound {HIGHEST_WRITE_FACTOR}  {'ok' if held else 'MISSED'}")
    for option in options:
        if option.startswith("--json="):
            with open(option[len("--json=") :], "w", encoding="utf-8") as out:
                json.dump({"schema": "furrow.compare", "schema_version": 1, "workloads": table, "write_factors": factors}, out, indent=2)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
