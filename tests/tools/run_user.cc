// SPDX-License-Identifier: Apache-2.0
//
// run_user DATABASE [EXIT_CODE]: counts its runs in a database; prints the count.
#include <cstdio>
#include <cstdlib>

int CountInDatabase(const char* path);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int count = CountInDatabase(argv[1]);
  if (count < 0) return 1;
  std::printf("count %d\n", count);
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
