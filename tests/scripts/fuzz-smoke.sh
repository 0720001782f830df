#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz-smoke.sh [--seconds=N] [--result=FILE] [TARGET...]: runs each fuzz target of tests/fuzz (or those named) for N seconds
# (20), from its seeds in corpus/, with ASan and UBSan. A crashing input is kept in build/fuzz/found.
#
# With --result it is a soak: FILE (JSON) gets each target's outcome when it is through. Started again, it leaves out the
# targets that FILE calls clean after at least N seconds of the same program, and the others go on from what they found
# (build/fuzz/grown).
. "$(dirname "$0")/lib.sh"

seconds=20
result=
targets=()
for word in "$@"; do
  case $word in
    --seconds=*) seconds=${word#*=} ;;
    --result=*) result=$(realpath -m "${word#*=}") ;;
    -*) die "unknown option $word; known are --seconds=N and --result=FILE" ;;
    *) targets+=("$word") ;;
  esac
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "--seconds=$seconds: a number of seconds, as --seconds=300"
if ((${#targets[@]} == 0)); then
  for source in "$ROOT"/tests/fuzz/*_fuzz.cc; do
    [[ -e $source ]] || die "no fuzz targets in $ROOT/tests/fuzz"
    targets+=("$(basename "$source" .cc)")
  done
fi

configure fuzz
build fuzz "${targets[@]}"
mkdir -p "$ROOT/build/fuzz/found"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

program_of() { sha256sum "$ROOT/build/fuzz/fuzz/$1" | cut -d ' ' -f 1; }

# was_clean TARGET: the soak's result has it already.
was_clean() {
  [[ -n $result && -e $result ]] || return 1
  python3 - "$result" "$1" "$seconds" "$(program_of "$1")" <<'END'
import json, sys
path, target, seconds, program = sys.argv[1:]
entry = json.load(open(path))["targets"].get(target, {})
done = entry.get("clean") and entry.get("seconds", 0) >= int(seconds) and entry.get("program") == program
sys.exit(0 if done else 1)
END
}

# note TARGET CLEAN: into the soak's result, which is replaced whole.
note() {
  [[ -n $result ]] || return 0
  mkdir -p "$(dirname "$result")"
  python3 - "$result" "$1" "$2" "$seconds" "$(program_of "$1")" "$work/log" "${targets[@]}" <<'END'
import datetime, json, os, re, sys
path, target, clean, seconds, program, log = sys.argv[1:7]
report = {"schema": "furrow.fuzz_soak", "targets": {}}
if os.path.exists(path):
    report = json.load(open(path))
done = re.search(r"Done (\d+) runs in (\d+) second", open(log, errors="replace").read())
report["targets"][target] = {
    "clean": clean == "1", "seconds": int(seconds), "executions": int(done.group(1)) if done else None,
    "program": program, "finished": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
entries = [report["targets"].get(t) for t in sys.argv[7:]]
report["complete"] = all(e is not None and e["seconds"] >= int(seconds) for e in entries)
report["clean"] = all(e["clean"] for e in report["targets"].values())
with open(path + ".new", "w") as out:
    json.dump(report, out, indent=2, sort_keys=True)
    out.write("\n")
os.replace(path + ".new", path)
END
}

# fuzz TARGET: output in $work/log; a finding is shown, and its input kept.
fuzz() {
  local target=$1 grown=$work/$1 seeds=()
  if [[ -n $result ]]; then grown=$ROOT/build/fuzz/grown/$target; fi
  mkdir -p "$grown"
  if [[ -d $ROOT/tests/fuzz/corpus/$target ]]; then seeds=("$ROOT/tests/fuzz/corpus/$target"); fi
  say "$target, $seconds s"
  if without_aslr "$ROOT/build/fuzz/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="$ROOT/build/fuzz/found/$target-" "$grown" "${seeds[@]}" >"$work/log" 2>&1; then
    grep -E '^Done' "$work/log" || true
    return 0
  fi
  tail -n 60 "$work/log" >&2
  printf '%s: %s failed; the input is in build/fuzz/found\n' "$NAME" "$target" >&2
  return 1
}

bad=0
for target in "${targets[@]}"; do
  if was_clean "$target"; then
    say "$target is clean already, says $result"
  elif fuzz "$target"; then
    note "$target" 1
  else
    note "$target" 0
    bad=1
  fi
done
((bad == 0)) || die "fuzzing found something"
say "${#targets[@]} targets clean"
