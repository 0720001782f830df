// SPDX-License-Identifier: Apache-2.0
//
// What a program with RocksDB linked into it looks like from outside: the symbol, or, stripped, the string.
#include <cstdio>

#ifdef RUN_STRIPPED
int main() { return std::puts("rocksdb.num-files-at-level") < 0 ? 1 : 0; }
#else
namespace rocksdb {
class DB {
 public:
  static int Open(int how);
};
[[gnu::noinline]] int DB::Open(int how) { return std::printf("%d\n", how); }
}  // namespace rocksdb
int main(int argc, char**) { return rocksdb::DB::Open(argc) < 0 ? 1 : 0; }
#endif
