# SPDX-License-Identifier: Apache-2.0
"""Peak of the bytes in live table files. Usage: table_peak.py LS_JSON_BEFORE < LOG

LOG: RocksDB's. LS_JSON_BEFORE: `furrow ls --format=json` of the database's directory when that LOG began, or "-" for an
empty one. A table counts from its completion to its deletion. Prints the bytes at the highest moment and at the end."""

import json
import os.path
import sys

MARK = b"EVENT_LOG_v1 "


def tables_before(path):
    if path == "-":
        return {}
    with open(path, encoding="utf-8") as listing:
        files = json.load(listing)["files"]
    names = ((os.path.splitext(os.path.basename(f["path"])), f["size_bytes"]) for f in files)
    return {int(stem): size for (stem, suffix), size in names if suffix == ".sst"}


def main():
    tables = tables_before(sys.argv[1])
    live = peak = sum(tables.values())
    for line in sys.stdin.buffer:
        at = line.find(MARK)
        if at < 0:
            continue
        event = json.loads(line[at + len(MARK) :])
        if event["event"] == "table_file_creation":
            tables[event["file_number"]] = event["file_size"]
            live += event["file_size"]
            peak = max(peak, live)
        elif event["event"] == "table_file_deletion":
            live -= tables.pop(event["file_number"], 0)
    print(peak, live)


if __name__ == "__main__":
    main()
