// SPDX-License-Identifier: Apache-2.0
//
// FlipsDevice: a small device in memory with varied content, closed in order, and a map of what is live on it, taken
// from the undamaged device without the check that is under test. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/device/mem_device.h"
#include "plugin/fs/check_report.h"
#include "plugin/fs/volume.h"
#include "util/rng.h"

namespace furrow::testing {

// Bytes of a zone that are live.
struct LiveRange {
  CheckStructure structure = CheckStructure::kData;
  ZoneId zone;
  uint64_t begin = 0, end = 0;
  // Of a file: the bytes of it that are damaged when any byte of the range is; kData: where `begin` lies in the file.
  uint64_t file = 0;
  uint64_t file_begin = 0, file_end = 0;
};

class FlipsDevice {
 public:
  explicit FlipsDevice(uint64_t seed);

  // Makes the content, and the map. An error text, or "".
  std::string Build();
  const std::vector<LiveRange>& live() const { return live_; }
  // Everything written, by path.
  const std::map<std::string, std::string>& content() const { return content_; }
  // id -> paths.
  const std::map<uint64_t, std::vector<std::string>>& names() const { return names_; }
  // A written byte that is in no live range; false: there is none.
  bool DeadByte(ZoneId* zone, uint64_t* offset);

  void FlipBit(ZoneId zone, uint64_t offset, int bit);
  std::unique_ptr<ZonedDevice> Open(bool writable) const { return std::make_unique<MemDevice>(memory_, writable); }
  Result<std::shared_ptr<Volume>> Mount(bool read_only) const;
  // Of each path: the content, or the error in angle brackets.
  static std::map<std::string, std::string> ReadAll(Volume* volume);
  Rng& rng() { return rng_; }

 private:
  std::string Fill(Volume* volume);
  Status WriteBulk(Volume* volume, const std::string& path, size_t bytes);
  Status WriteStream(Volume* volume, const std::string& path, int appends);
  Status WriteSmall(Volume* volume, const std::string& path, size_t bytes);
  Status WriteAtRandom(Volume* volume, const std::string& path);
  Status ChangeNames(Volume* volume);
  std::string Random(size_t n);

  std::string MapMetadata();
  void MapFiles(Volume* volume);
  void MapExtent(const FileRef& file, const Extent& e);

  Rng rng_;
  std::shared_ptr<MemZones> memory_;
  std::vector<LiveRange> live_;
  std::map<std::string, std::string> content_;
  std::map<uint64_t, std::vector<std::string>> names_;
};

}  // namespace furrow::testing
