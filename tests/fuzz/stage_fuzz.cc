// SPDX-License-Identifier: Apache-2.0
//
// The stage: a whole stage file is damaged as the input says (bytes replaced, at places that matter more often than by
// chance, the header's checksum made to fit again, the file cut or extended), then opened in both ways. Nothing
// crashes or hangs, and every copy that succeeds is of a label and has bytes that were published for it.
//
// Input: operations of 8 bytes: kind, 3 bytes of place, 4 bytes of value.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "plugin/file/stage.h"
#include "plugin/file/stage_view.h"
#include "util/checksum.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace {

using furrow::ChunkHeader;
using furrow::ChunkKind;
using furrow::ChunkLabel;
using furrow::kStageHeaderBytes;
using furrow::StagedChunk;
using furrow::StageView;

constexpr uint32_t kZones = 40;

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Published {
  ChunkLabel label;
  std::string bytes;
};

// A stage that a process left behind, kept in memory but for the empty chunks behind it.
class LeftBehind {
 public:
  LeftBehind() {
    std::string directory = (std::filesystem::temp_directory_path() / "furrow-fuzz-XXXXXX").string();
    Require(mkdtemp(directory.data()) != nullptr);
    directory_ = directory;
    furrow::StageOptions options;
    options.directory = directory_;
    options.clock = furrow::SystemClock();
    options.logger = furrow::NullLogger();
    furrow::StageIdentity identity;
    identity.boot_id = "01234567-89ab-cdef-0123-456789abcdef";
    identity.device = "device";
    identity.uri = "furrow://dir:/zones";
    auto stage = furrow::Stage::Create(identity, kZones, options);
    Require(stage.ok());
    path_ = (*stage)->path();
    FillChunks(**stage);
    stage->reset();
    used_.resize(Layout().chunk_offset(static_cast<uint32_t>(published_.size()) + 2));
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    Require(pread(fd, used_.data(), used_.size(), 0) == static_cast<ssize_t>(used_.size()));
    close(fd);
  }
  ~LeftBehind() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;

  static furrow::StageLayout Layout() { return {2 * furrow::kChunksPerSegment, kZones}; }
  const std::string& path() const { return path_; }
  const std::string& used() const { return used_; }
  // The chunk that was published under this label; null: none.
  const Published* Find(const ChunkLabel& label) const {
    for (const Published& p : published_) {
      if (p.label == label) return &p;
    }
    return nullptr;
  }

 private:
  void FillChunks(furrow::Stage& stage) {
    for (uint32_t i = 0; i < 9; ++i) {
      const auto kind = static_cast<ChunkKind>(1 + i % 3);
      const ChunkLabel label{kind, furrow::FileId(100 + i), i, i * 3, i * 1000};
      const auto chunk = stage.Take(label);
      Require(chunk.has_value());
      std::string bytes;
      for (uint32_t at = 0; at < 50 + i * 700; ++at) bytes.push_back(static_cast<char>(at * (i + 3)));
      const bool second = kind == ChunkKind::kBulk && i % 2 == 0;
      std::memcpy(chunk->data + (second ? furrow::kStageChunkBytes / 2 : 0), bytes.data(), bytes.size());
      stage.Publish(*chunk, {static_cast<uint32_t>(bytes.size()), furrow::Crc32c(bytes), second});
      published_.push_back({label, std::move(bytes)});
    }
  }

  std::string directory_, path_, used_;
  std::vector<Published> published_;
};

struct Damaged {
  std::string bytes;    // from the beginning of the file
  uint64_t length = 0;  // of the file
};

void Put(std::string* bytes, uint64_t at, uint64_t value, size_t n) {
  char word[8];
  furrow::EncodeFixed64(word, value);
  for (size_t i = 0; i < n; ++i) (*bytes)[(at + i) % bytes->size()] = word[i];
}

void Apply(const uint8_t* operation, Damaged* d) {
  const uint64_t place = operation[1] | operation[2] << 8 | operation[3] << 16;
  const uint32_t value = furrow::DecodeFixed32(reinterpret_cast<const char*>(operation) + 4);
  const furrow::StageLayout layout = LeftBehind::Layout();
  const uint64_t table = layout.table_offset();
  switch (operation[0] % 8) {
    case 0: Put(&d->bytes, place, value, 4); break;
    case 1: Put(&d->bytes, place % 200, value, 1 + place % 4); break;  // the header
    case 2: Put(&d->bytes, table + place % (12 * sizeof(ChunkHeader)), value, 1 + place % 4); break;
    case 3: Put(&d->bytes, table + place % (12 * 8) * 8, value, 8); break;  // a whole word of the table
    case 4:                                                                 // one chunk's header over another's
      d->bytes.replace(table + place % 12 * sizeof(ChunkHeader), sizeof(ChunkHeader), d->bytes,
                       table + value % 12 * sizeof(ChunkHeader), sizeof(ChunkHeader));
      break;
    case 5: Put(&d->bytes, layout.chunk_offset(static_cast<uint32_t>(place % 10)) + value % 8192, place >> 8, 1); break;
    case 6: d->length = place % 2 == 0 ? value % (d->length + 5) : d->length + value % 5; break;
    default: {
      const uint64_t checksum = furrow::Checksum(d->bytes.data(), kStageHeaderBytes - 8);
      furrow::EncodeFixed64(d->bytes.data() + kStageHeaderBytes - 8, checksum);
    }
  }
}

void WriteOut(const std::string& path, const Damaged& d) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  Require(fd >= 0 && ftruncate(fd, 0) == 0);
  const size_t n = std::min<uint64_t>(d.bytes.size(), d.length);
  Require(pwrite(fd, d.bytes.data(), n, 0) == static_cast<ssize_t>(n));
  Require(ftruncate(fd, static_cast<off_t>(d.length)) == 0);
  close(fd);
}

void LookAt(const LeftBehind& whole, StageView::Access access) {
  const auto view = StageView::Open(whole.path(), access);
  if (!view.ok()) {
    Require(view.status().message().find(whole.path()) != std::string::npos);
    return;
  }
  Require((*view)->header().layout.file_bytes() == std::filesystem::file_size(whole.path()));
  Require(!(*view)->writer_lives() || access == StageView::Access::kLookOn);
  (*view)->generation(furrow::ZoneId(kZones));
  uint32_t damaged = 0;
  for (const StagedChunk& seen : (*view)->Chunks(&damaged)) {
    const Published* published = whole.Find(seen.label);
    Require(published != nullptr);
    const auto copy = (*view)->Copy(seen);
    // A state may have been damaged to say less than was published: to nothing, or to a prefix with its checksum.
    if (copy.ok() && copy->has_value()) Require(published->bytes.starts_with(**copy));
    char bytes[100];
    const auto n = (*view)->Read(seen, 20, sizeof(bytes), bytes);
    Require(!n || *n <= sizeof(bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const LeftBehind whole;
  Damaged damaged{whole.used(), LeftBehind::Layout().file_bytes()};
  for (size_t at = 0; at + 8 <= std::min<size_t>(size, 400); at += 8) Apply(data + at, &damaged);
  WriteOut(whole.path(), damaged);
  LookAt(whole, StageView::Access::kReplay);
  LookAt(whole, StageView::Access::kLookOn);
  return 0;
}
