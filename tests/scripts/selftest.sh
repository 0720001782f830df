#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Do the checks catch what they are for? Plants one violation at a time in a small tree and expects a complaint that names
# the file; and expects none of the clean tree.
. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
spdx='// SPDX-License-Identifier: Apache-2.0'
cases=0

fresh() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"/{util,plugin/zone,plugin/fs,include/furrow,tests/util,tools}
  cp "$ROOT/.clang-format" "$work/tree/"
  cd "$work/tree"
  printf '%s\n#pragma once\n\nint One();\n' "$spdx" >util/one.h
  printf '%s\n#include "util/one.h"\n\nint One() { return 1; }\n' "$spdx" >util/one.cc
  printf '%s\n#pragma once\n\n#include "util/one.h"\n' "$spdx" >plugin/zone/two.h
  printf '%s\n#include "plugin/zone/two.h"\n\n#include <rocksdb/env.h>\n' "$spdx" >plugin/fs/face.cc
  printf '# SPDX-License-Identifier: Apache-2.0\nadd_library(furrow_util one.cc)\n' >util/CMakeLists.txt
  printf '# SPDX-License-Identifier: Apache-2.0\nadd_library(furrow_fs face.cc)\n' >plugin/fs/CMakeLists.txt
  printf '# SPDX-License-Identifier: Apache-2.0\nfurrow_SOURCES := \\\n  plugin/fs/face.cc \\\n  util/one.cc\n' >furrow.mk
}

run_check() {
  FURROW_ROOT=$work/tree "$SCRIPTS/$1" >"$work/out" 2>&1
}

expect_clean() {
  cases=$((cases + 1))
  run_check "$1" || {
    cat "$work/out" >&2
    die "$1 complains about a clean tree"
  }
}

# caught CHECK FILE WORDS: CHECK must fail with a line that names FILE and has WORDS.
caught() {
  cases=$((cases + 1))
  if run_check "$1"; then die "$1 does not see: $3 ($2)"; fi
  grep -F "$2" "$work/out" | grep -qF -- "$3" || {
    cat "$work/out" >&2
    die "$1 failed, but without \"$3\" for $2"
  }
}

# plant FILE: appends stdin to it.
plant() { cat >>"$work/tree/$1"; }

say "layers"
fresh; expect_clean check-layers.sh
fresh; plant util/one.cc <<<'#include "plugin/zone/two.h"'; caught check-layers.sh util/one.cc "above it"
fresh; plant plugin/zone/two.h <<<'#include <rocksdb/env.h>'; caught check-layers.sh plugin/zone/two.h "RocksDB's headers"
fresh; plant plugin/zone/two.h <<<'#  include "rocksdb/env.h"'; caught check-layers.sh plugin/zone/two.h "RocksDB's headers"
fresh; plant plugin/zone/two.h <<<'#include "two_more.h"'; caught check-layers.sh plugin/zone/two.h "from the root"
fresh; plant include/furrow/api.h <<<'#include "util/one.h"'; caught check-layers.sh include/furrow/api.h "public headers"
fresh; plant util/one.cc <<<'#include <gtest/gtest.h>'; caught check-layers.sh util/one.cc "test library"
fresh; plant tests/util/one_test.cc <<<'#include <gtest/gtest.h>'; expect_clean check-layers.sh
fresh; plant util/one.cc <<<'#include "gtest/gtest.h"'; caught check-layers.sh util/one.cc "test library"
fresh; plant util/CMakeLists.txt <<<'target_link_libraries(furrow_util furrow_fs)'
caught check-layers.sh util/CMakeLists.txt "furrow_fs"
fresh; mkdir -p "$work/tree/plugin/misc"; plant plugin/misc/x.h <<<"$spdx"; caught check-layers.sh plugin/misc/x.h "unknown layer"

say "list of sources"
fresh; expect_clean check-intree.sh
fresh; plant util/three.cc <<<"$spdx"; caught check-intree.sh util/three.cc ">"
fresh; sed -i '/face/d' "$work/tree/furrow.mk"; caught check-intree.sh plugin/fs/face.cc ">"

say "style"
fresh; expect_clean check-style.sh
fresh; sed -i 1d "$work/tree/util/one.cc"; caught check-style.sh util/one.cc "SPDX"
fresh; plant util/one.cc <<<'using namespace std;'; caught check-style.sh util/one.cc "using namespace"
fresh; plant util/one.cc <<<'thread_local int buffer[4];'; caught check-style.sh util/one.cc "thread_local"
fresh; plant util/one.cc <<<'int* p = new int(1);'; caught check-style.sh util/one.cc "naked new"
fresh; plant util/one.cc <<<'void F(int* p) { delete p; }'; caught check-style.sh util/one.cc "naked delete"
fresh; plant util/one.cc <<<'void F(int* p) { delete[] p; }'; caught check-style.sh util/one.cc "naked delete"
fresh; plant util/one.h <<<'struct A { A(const A&) = delete; };  // new things, delete old'
cases=$((cases + 1)); python3 "$SCRIPTS/check_style.py" "$work/tree" >/dev/null || die "check_style.py dislikes = delete"
fresh; plant util/one.h <<<'class A { std::mutex mu_; };'; caught check-style.sh util/one.h "util/mutex.h"
fresh; sed -i '/pragma/d' "$work/tree/util/one.h"; caught check-style.sh util/one.h "#pragma once"
fresh; seq -f '// line %g' 700 | plant util/one.cc; caught check-style.sh util/one.cc "lines, at most"
fresh; { echo 'int Long() {'; seq -f '  One();  // %g' 80; echo '  return 1;'; echo '}'; } | plant util/one.cc
caught check-style.sh util/one.cc "function of 83 lines"
fresh; printf '// TO%s: later\n' DO | plant util/one.cc; caught check-style.sh util/one.cc "unfinished"
fresh; printf '%s\nvoid F() { std::this_thread::sleep_for(t); }\n' "$spdx" | plant tests/util/x_test.cc
caught check-style.sh tests/util/x_test.cc "do not sleep"
fresh; plant util/one.cc <<<'int  Two( ) {return 2 ;}'; caught check-style.sh util/one.cc "clang-formatted"

say "headers"
fresh; expect_clean check-headers.sh
fresh; plant util/one.h <<<'std::string Name();'; caught check-headers.sh util/one.h "does not compile alone"

say "thread-safety analysis"
cases=$((cases + 1))
cat >"$work/guarded.cc" <<'END'
#include "util/mutex.h"
class A {
 public:
  int Get() { return value_; }

 private:
  furrow::Mutex mu_;
  int value_ GUARDED_BY(mu_) = 0;
};
int main() { return A().Get(); }
END
if clang++ -std=c++20 -fsyntax-only -Wthread-safety -Werror -I"$ROOT" "$work/guarded.cc" 2>"$work/out"; then
  die "clang does not see an unguarded access"
fi
grep -q "requires holding mutex 'mu_'" "$work/out" || {
  cat "$work/out" >&2
  die "clang failed for another reason"
}

say "$cases cases: all planted violations are caught"
