// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/fs/flips_device.h"

#include <algorithm>

#include "plugin/file/file_reader.h"
#include "plugin/file/random_writer.h"
#include "plugin/meta/journal_dump.h"

namespace furrow::testing {
namespace {

constexpr uint32_t kZones = 96;

// Where the groups are.
class GroupMap final : public JournalVisitor {
 public:
  explicit GroupMap(std::vector<LiveRange>* live) : live_(live) {}
  void OnSuperblock(const Superblock& superblock, const SuperblockPlace& place) override {
    checkpoint_ = superblock.start.group;
    Add(CheckStructure::kSuperblock, place.zone, place.offset.value(), kSuperblockBytes);
  }
  bool OnGroup(const GroupPlaced& group) override {
    const bool records = group.header.kind == GroupKind::kRecords;
    Add(records || complete_ ? CheckStructure::kJournal : CheckStructure::kCheckpoint, group.header.zone.zone,
        group.offset.value(), group.bytes);
    return true;
  }
  void OnRecord(const GroupPlaced&, Sequence, const Record&) override {}
  void OnChunk(const GroupPlaced&, const ChunkHead&) override {}
  void OnObject(const GroupPlaced&, uint64_t, const CheckpointObject&) override {}
  void OnCheckpointEnd(const GroupPlaced&, uint64_t checkpoint, const CheckpointEnd&) override {
    if (checkpoint == checkpoint_) complete_ = true;
  }
  void OnProblem(const JournalProblem& problem) override { problem_ = problem.detail; }
  void OnEnd(const JournalDumpEnd&) override {}
  const std::string& problem() const { return problem_; }

 private:
  void Add(CheckStructure structure, ZoneId zone, uint64_t at, uint64_t bytes) {
    live_->push_back({structure, zone, at, at + bytes});
  }
  std::vector<LiveRange>* const live_;
  uint64_t checkpoint_ = 0;
  bool complete_ = false;
  std::string problem_;
};

}  // namespace

FlipsDevice::FlipsDevice(uint64_t seed) : rng_(seed) {
  DeviceGeometry geometry;
  geometry.block_size = seed % 4 == 3 ? 512 : 4096;
  geometry.zone_size = geometry.zone_capacity = 256 << 10;
  geometry.zone_count = kZones;
  geometry.max_open = geometry.max_active = 14;
  memory_ = std::make_shared<MemZones>("flips", geometry);
}

std::string FlipsDevice::Random(size_t n) {
  std::string data(n, '\0');
  for (char& c : data) c = static_cast<char>(rng_.Next());
  return data;
}

Result<std::shared_ptr<Volume>> FlipsDevice::Mount(bool read_only) const {
  MountOptions options;
  options.mode = read_only ? MountMode::kReadOnly : MountMode::kReadWrite;
  return Volume::MountDevice(Open(!read_only), options, NullLogger(), SystemClock());
}

// --- content ------------------------------------------------------------------------------------

Status FlipsDevice::WriteBulk(Volume* volume, const std::string& path, size_t bytes) {
  FURROW_ASSIGN_OR_RETURN(OpenedWriter opened, volume->files().Create(path, FileKind::kBulk));
  FURROW_RETURN_IF_ERROR(opened.writer->Append(Random(bytes)));
  FURROW_RETURN_IF_ERROR(opened.writer->Sync());
  return volume->files().CloseWriter(&opened);
}

Status FlipsDevice::WriteStream(Volume* volume, const std::string& path, int appends) {
  FURROW_ASSIGN_OR_RETURN(OpenedWriter opened, volume->files().Create(path, KindOfName(path)));
  for (int i = 0; i < appends; ++i) {
    FURROW_RETURN_IF_ERROR(opened.writer->Append(Random(1 + rng_.Uniform(9000))));
    if (rng_.Uniform(3) != 0) FURROW_RETURN_IF_ERROR(opened.writer->Sync());
  }
  return volume->files().CloseWriter(&opened);
}

Status FlipsDevice::WriteSmall(Volume* volume, const std::string& path, size_t bytes) {
  FURROW_ASSIGN_OR_RETURN(OpenedWriter opened, volume->files().Create(path, FileKind::kSmall));
  FURROW_RETURN_IF_ERROR(opened.writer->Append(Random(bytes)));
  FURROW_RETURN_IF_ERROR(opened.writer->Sync());
  return volume->files().CloseWriter(&opened);
}

Status FlipsDevice::WriteAtRandom(Volume* volume, const std::string& path) {
  FURROW_ASSIGN_OR_RETURN(OpenedUpdate opened, volume->files().OpenForUpdate(path));
  for (int i = 0; i < 6; ++i) {
    const std::string data = Random(1 + rng_.Uniform(20000));
    FURROW_RETURN_IF_ERROR(opened.writer->Write(FileOffset(rng_.Uniform(150000)), data));
  }
  FURROW_RETURN_IF_ERROR(opened.writer->Sync());
  return volume->files().CloseUpdate(&opened);
}

Status FlipsDevice::ChangeNames(Volume* volume) {
  NameSpace& names = volume->files().names();
  FURROW_RETURN_IF_ERROR(names.Link("/db/000010.sst", "/backup/000010.sst"));
  FURROW_RETURN_IF_ERROR(names.Rename("/db/000011.sst", "/db/000099.sst"));
  FURROW_RETURN_IF_ERROR(names.Rename("/db/OPTIONS-1", "/db/OPTIONS-2"));
  FURROW_RETURN_IF_ERROR(names.Unlink("/db/000012.sst"));
  FURROW_RETURN_IF_ERROR(names.Unlink("/db/000001.log"));
  return volume->files().TruncateFile("/db/000014.sst", 1 + rng_.Uniform(60000));
}

std::string FlipsDevice::Fill(Volume* volume) {
  Status s = volume->files().names().MakeDirectory("/db", false);
  if (s.ok()) s = volume->files().names().MakeDirectory("/backup", false);
  const auto step = [&s](const Status& next) {
    if (s.ok()) s = next;
  };
  for (int i = 10; i < 16; ++i) {
    step(WriteBulk(volume, "/db/0000" + std::to_string(i) + ".sst", 70000 + rng_.Uniform(300000)));
    if (i == 12) step(volume->engine().log->Checkpoint());
  }
  step(WriteStream(volume, "/db/000001.log", 10));
  step(WriteStream(volume, "/db/000002.log", 12));
  step(WriteStream(volume, "/db/MANIFEST-000003", 12));
  step(WriteSmall(volume, "/db/CURRENT", 16));
  step(WriteSmall(volume, "/db/OPTIONS-1", 3000));
  step(WriteAtRandom(volume, "/db/000013.sst"));
  if (rng_.Uniform(2) != 0) step(volume->engine().log->Checkpoint());
  step(ChangeNames(volume));
  for (int i = 0; i < 4; ++i) step(WriteSmall(volume, "/backup/small" + std::to_string(i), 100 + rng_.Uniform(5000)));
  step(WriteAtRandom(volume, "/db/000015.sst"));
  return s.ok() ? "" : s.ToString();
}

std::string FlipsDevice::Build() {
  {
    MemDevice device(memory_);
    const Status s = MetadataLog::Format(&device, FormatOptions{Uuid{9, 8, 7}, "flips", 1});
    if (!s.ok()) return s.ToString();
  }
  {
    const Result<std::shared_ptr<Volume>> volume = Mount(false);
    if (!volume.ok()) return volume.status().ToString();
    if (const std::string wrong = Fill(volume->get()); !wrong.empty()) return wrong;
    if (const Status s = (*volume)->Unmount(); !s.ok()) return s.ToString();
  }
  if (const std::string wrong = MapMetadata(); !wrong.empty()) return wrong;
  const Result<std::shared_ptr<Volume>> volume = Mount(true);
  if (!volume.ok()) return volume.status().ToString();
  MapFiles(volume->get());
  content_ = ReadAll(volume->get());
  return "";
}

// --- what is live ---------------------------------------------------------------------------------

std::string FlipsDevice::MapMetadata() {
  const std::unique_ptr<ZonedDevice> device = Open(false);
  GroupMap groups(&live_);
  const Status walked = JournalDump(device.get(), &groups).Run();
  return walked.ok() ? groups.problem() : walked.ToString();
}

void FlipsDevice::MapExtent(const FileRef& file, const Extent& e) {
  const uint32_t block = memory_->geometry().block_size;
  LiveRange range;
  range.zone = e.zone;
  range.file = file->id.value();
  range.file_begin = e.file_offset.value();
  range.file_end = e.end().value();
  if (e.is_frame()) {
    range.structure = CheckStructure::kFrame;
    range.begin = e.zone_offset.value() - e.piece_skip - kFrameHeaderBytes;
    range.end = range.begin + FrameBytes(e.piece_length, block);
    live_.push_back(range);
    return;
  }
  range.begin = e.zone_offset.value();
  range.end = range.begin + RoundUp(e.length, block);
  live_.push_back(range);
  if (e.summary_unit == 0) return;
  range.structure = CheckStructure::kSummary;
  range.begin = uint64_t{e.summary_unit} * 512;
  range.end = range.begin + kSummaryBytes;
  live_.push_back(range);
}

void FlipsDevice::MapFiles(Volume* volume) {
  const uint32_t block = memory_->geometry().block_size;
  volume->files().names().ForEach([this](const std::string& path, const NameEntry& entry) {
    if (entry.file) names_[entry.file->id.value()].push_back(path);
  });
  for (const FileRef& file : volume->files().table().All()) {
    ReaderLock lock(file->mu);
    for (const Extent& e : file->extents.all()) MapExtent(file, e);
  }
  for (const ZoneUsage& zone : volume->Zones(false)) {
    const bool superblocks = zone.role == "superblock" && zone.write_pointer_bytes > 0;
    if (zone.live_bytes == 0 && !superblocks) continue;
    live_.push_back({CheckStructure::kZoneHeader, ZoneId(zone.zone), 0, block});
  }
}

bool FlipsDevice::DeadByte(ZoneId* zone, uint64_t* offset) {
  for (int tries = 0; tries < 200; ++tries) {
    *zone = ZoneId(static_cast<uint32_t>(rng_.Uniform(kZones)));
    const uint64_t end = memory_->states().Report(*zone).write_pointer.value();
    if (end == 0) continue;
    *offset = rng_.Uniform(end);
    const bool live = std::any_of(live_.begin(), live_.end(), [&](const LiveRange& r) {
      return r.zone == *zone && r.begin <= *offset && *offset < r.end;
    });
    if (!live) return true;
  }
  return false;
}

void FlipsDevice::FlipBit(ZoneId zone, uint64_t offset, int bit) {
  std::string bytes(memory_->states().Report(zone).write_pointer.value(), '\0');
  memory_->Read(zone, 0, bytes.size(), bytes.data()).IgnoreError();  // all of it is written
  bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << bit));
  memory_->Erase(zone);
  const Bytes piece(bytes);
  memory_->Write(zone, 0, ConstBuffers(&piece, 1)).IgnoreError();
}

std::map<std::string, std::string> FlipsDevice::ReadAll(Volume* volume) {
  std::map<std::string, std::string> content;
  std::vector<std::pair<std::string, FileRef>> files;
  volume->files().names().ForEach([&files](const std::string& path, const NameEntry& entry) {
    if (entry.file) files.emplace_back(path, entry.file);
  });
  for (const auto& [path, file] : files) {
    std::string data(file->size, '\0');
    const Result<size_t> got = ReadFile(volume->engine(), file, FileOffset(0), data.size(), data.data());
    if (got.ok()) {
      data.resize(*got);
      // What a damaged file has lost at its end cannot be read past it.
      char more = 0;
      const Result<size_t> past = ReadFile(volume->engine(), file, FileOffset(data.size()), 1, &more);
      if (!past.ok()) data += "<" + past.status().ToString() + ">";
    } else {
      data = "<" + got.status().ToString() + ">";
    }
    content[path] = std::move(data);
  }
  return content;
}

}  // namespace furrow::testing
