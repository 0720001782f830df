// SPDX-License-Identifier: Apache-2.0
//
// face_mkfs URI ZONES ZONE_MIB: formats an emulated device through the public API; for stock_tools.sh.
#include <cstdio>
#include <cstdlib>

#include "furrow/furrow.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: face_mkfs URI ZONES ZONE_MIB\n");
    return 2;
  }
  furrow::MkfsOptions options;
  options.zones = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  options.zone_size = std::strtoull(argv[3], nullptr, 10) << 20;
  const rocksdb::Status status = furrow::Mkfs(argv[1], options);
  if (!status.ok()) std::fprintf(stderr, "face_mkfs: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
