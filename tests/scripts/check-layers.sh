#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The layers point one way: util <- device <- zone <- meta <- file <- gc <- fs <- tools. Checks every #include of ours
# and what the CMake files link. RocksDB's headers belong to plugin/fs, furrow/furrow.h, tests and examples; public headers stand alone.
. "$(dirname "$0")/lib.sh"

say "includes of $ROOT"
bad=0
violation() {
  printf '%s\n' "$*" >&2
  bad=1
}

declare -A rank=([util]=0 [device]=1 [zone]=2 [meta]=3 [file]=4 [gc]=5 [fs]=6 [tools]=7)

# The layer that a path belongs to; empty for what is no layer.
layer_of() {
  case $1 in
    util/*) echo util ;;
    plugin/*/*) local rest=${1#plugin/}; echo "${rest%%/*}" ;;
    tools/*) echo tools ;;
  esac
}

check_include() {
  local where=$1 file=$2 header=$3 from to
  from=$(layer_of "$file")
  case $header in
    rocksdb/*)
      case $file in
        plugin/fs/* | include/furrow/furrow.h | tests/* | examples/*) ;;
        *) violation "$where: RocksDB's headers are for plugin/fs, furrow/furrow.h, tests and examples: $header" ;;
      esac
      return
      ;;
    gtest/* | gmock/* | benchmark/*)
      [[ $file == tests/* ]] || violation "$where: a test library outside tests: $header"
      return
      ;;
    furrow/*)
      [[ -e $ROOT/include/$header ]] || violation "$where: no such file: include/$header"
      return
      ;;
  esac
  [[ -e $ROOT/$header ]] || violation "$where: write includes from the root; no such file: $header"
  case $file in
    include/* | examples/*) violation "$where: may include public headers (furrow/...) only: $header" ;;
    tests/*) ;;
    *)
      to=$(layer_of "$header")
      if [[ -z $to || -z ${rank[$to]:-} ]]; then
        violation "$where: not a layer: $header"
      elif ((rank[$to] > rank[$from])); then
        violation "$where: $from must not include $to, which is above it: $header"
      fi
      ;;
  esac
}

files=0
while IFS= read -r -d '' file; do
  files=$((files + 1))
  layer=$(layer_of "$file")
  if [[ -n $layer && -z ${rank[$layer]:-} ]]; then
    violation "$file: unknown layer $layer"
    continue
  fi
  while IFS=: read -r line text; do
    [[ $text =~ ^[[:space:]]*\#[[:space:]]*include[[:space:]]*([\"\<])([^\"\>]+) ]] || continue
    quote=${BASH_REMATCH[1]} header=${BASH_REMATCH[2]}
    if [[ $quote == '"' || $header =~ ^(rocksdb|gtest|gmock|benchmark)/ ]]; then
      check_include "$file:$line" "$file" "$header"
    fi
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$ROOT/$file" || true)
done < <(sources '*.h' '*.cc')

for layer in "${!rank[@]}"; do
  case $layer in util | tools) list=$layer/CMakeLists.txt ;; *) list=plugin/$layer/CMakeLists.txt ;; esac
  [[ -e $ROOT/$list ]] || continue
  for other in "${!rank[@]}"; do
    if ((rank[$other] > rank[$layer])) && grep -qE "(^|[^A-Za-z_])furrow_$other([^A-Za-z_]|$)" "$ROOT/$list"; then
      violation "$list: $layer must not name furrow_$other, which is above it"
    fi
  done
done

((bad == 0)) || die "the layers are broken"
say "$files files clean"
