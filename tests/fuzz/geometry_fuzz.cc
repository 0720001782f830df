// SPDX-License-Identifier: Apache-2.0
//
// furrow.geometry of emulated devices: any text decodes to an error that names the file, or to a geometry that encodes
// to an equal one; also with a right checksum in front of what lies behind it.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "plugin/device/zone_file_layout.h"
#include "util/checksum.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Decode(const std::string& text) {
  const auto decoded = furrow::DecodeGeometry(text, "/d/furrow.geometry");
  if (!decoded.ok()) {
    Require(decoded.status().message().find("/d/furrow.geometry") != std::string::npos);
    return;
  }
  const furrow::DeviceGeometry& g = decoded->geometry;
  Require(g.block_size != 0 && g.zone_count != 0 && g.zone_capacity % g.block_size == 0);
  Require(g.zone_capacity != 0 && g.zone_capacity <= g.zone_size);
  const std::string encoded = furrow::EncodeGeometry(*decoded);
  const auto again = furrow::DecodeGeometry(encoded, "/d/furrow.geometry");
  Require(again.ok() && furrow::EncodeGeometry(*again) == encoded);
}

std::string WithChecksum(const std::string& text) {
  char line[40];
  std::snprintf(line, sizeof(line), "checksum %016" PRIx64 "\n", furrow::Checksum(text));
  return text + line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  Decode(input);
  Decode(WithChecksum("furrow zoned device 1\n" + input + "\n"));
  return 0;
}
