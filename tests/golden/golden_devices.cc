// SPDX-License-Identifier: Apache-2.0
//
// golden_devices make NAME DIRECTORY: makes the emulated device that golden/NAME.tar.xz holds, for `golden_test.py
// --write`. What the files hold follows from a seed; ids, places and times are those of the run. golden_devices mount
// URI: mounts read-write, and unmounts.
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "plugin/device/device_factory.h"
#include "plugin/file/file_store.h"
#include "plugin/file/random_writer.h"
#include "plugin/fs/volume.h"
#include "plugin/meta/journal_dump.h"
#include "util/aligned_buffer.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kSeed = 20261201;
constexpr uint32_t kBlock = 4096;

// Bytes that compress well, yet no two pieces of 64 bytes are the same.
std::string Text(uint64_t seed, size_t bytes) {
  std::string text;
  for (uint64_t line = 0; text.size() < bytes; ++line) {
    text += "line " + std::to_string(line) + " of " + std::to_string(seed) + std::string(44, '.') + "\n";
  }
  text.resize(bytes);
  return text;
}

std::string Random(Rng* rng, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += static_cast<char>(rng->Uniform(256));
  return text;
}

Result<std::shared_ptr<Volume>> Mount(const std::string& uri, bool stage) {
  MountOptions options;
  options.mode = MountMode::kReadWrite;
  options.stage = stage;
  return Volume::Mount(uri, options, StderrLogger(LogLevel::kError));
}

Status Put(Volume* volume, const std::string& path, const std::string& bytes, size_t piece = 0, bool sync = true) {
  FURROW_ASSIGN_OR_RETURN(OpenedWriter file, volume->files().Create(path, KindOfName(path)));
  for (size_t at = 0; at < bytes.size(); at += piece ? piece : bytes.size()) {
    FURROW_RETURN_IF_ERROR(file.writer->Append(Bytes(bytes).substr(at, piece ? piece : bytes.size())));
    if (piece) FURROW_RETURN_IF_ERROR(file.writer->Sync());
  }
  if (sync) FURROW_RETURN_IF_ERROR(file.writer->Sync());
  return volume->files().CloseWriter(&file);
}

Status PutNames(Volume* volume) {
  NameSpace& names = volume->files().names();
  FURROW_RETURN_IF_ERROR(names.MakeDirectory("/db/archive", true));
  FURROW_RETURN_IF_ERROR(names.MakeDirectory("/db/empty", true));
  FURROW_RETURN_IF_ERROR(names.MakeDirectory("/db/old", true));
  FURROW_RETURN_IF_ERROR(names.MakeDirectory("/db/removed", true));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/000010.sst", Text(10, 1500000)));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/000011.sst", Text(11, 30000), 7000));  // small pieces, no summaries
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/000012.sst", Text(12, 400000)));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/000013.sst", Text(13, 5000)));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/CURRENT.dbtmp", "MANIFEST-000004\n"));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/CURRENT", "MANIFEST-000003\n"));
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/a\n\xc3\xbc\xff", "a name that is no text"));
  FURROW_RETURN_IF_ERROR(names.Rename("/db/CURRENT.dbtmp", "/db/CURRENT"));
  FURROW_RETURN_IF_ERROR(names.Link("/db/000012.sst", "/db/archive/000012.sst"));
  FURROW_RETURN_IF_ERROR(names.Rename("/db/old", "/db/renamed"));
  FURROW_RETURN_IF_ERROR(names.RemoveDirectory("/db/removed"));
  return names.Unlink("/db/000013.sst");
}

Status PutStreams(Volume* volume) {
  FURROW_RETURN_IF_ERROR(Put(volume, "/db/MANIFEST-000004", Text(4, 9000), 1000));
  FURROW_ASSIGN_OR_RETURN(OpenedWriter log, volume->files().Create("/db/000014.log", FileKind::kWal));
  FURROW_RETURN_IF_ERROR(log.writer->Append(Text(14, 20000)));
  FURROW_RETURN_IF_ERROR(log.writer->Sync());
  FURROW_RETURN_IF_ERROR(log.writer->Truncate(12345));  // from here on another incarnation
  FURROW_RETURN_IF_ERROR(log.writer->Append(Text(15, 5000)));
  FURROW_RETURN_IF_ERROR(log.writer->Sync());
  FURROW_RETURN_IF_ERROR(log.writer->Append("and a last frame"));
  return volume->files().CloseWriter(&log);
}

Status Overwrite(Volume* volume, Rng* rng) {
  FURROW_ASSIGN_OR_RETURN(OpenedUpdate file, volume->files().OpenForUpdate("/db/000010.sst"));
  for (int i = 0; i < 12; ++i) {
    const FileOffset at(rng->Uniform(1400000));
    FURROW_RETURN_IF_ERROR(file.writer->Write(at, Text(100 + static_cast<uint64_t>(i), 1 + rng->Uniform(20000))));
  }
  FURROW_RETURN_IF_ERROR(file.writer->Sync());
  FURROW_RETURN_IF_ERROR(volume->files().CloseUpdate(&file));
  return volume->files().TruncateFile("/db/000012.sst", 333333);
}

Status MakeDevice(const std::string& uri, uint32_t zones, uint64_t zone_size) {
  MkfsOptions options;
  options.zones = zones;
  options.zone_size = zone_size;
  options.label = "golden";
  return Volume::Mkfs(uri, options);
}

// Unmounted in order, with all that the format has; the second half of it behind the checkpoint.
Status MakeEverything(const std::string& uri) {
  Rng rng(kSeed);
  FURROW_RETURN_IF_ERROR(MakeDevice(uri, 24, 1 << 20));
  FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, Mount(uri, true));
  FURROW_RETURN_IF_ERROR(PutNames(volume.get()));
  FURROW_RETURN_IF_ERROR(PutStreams(volume.get()));
  FURROW_RETURN_IF_ERROR(volume->engine().log->Checkpoint());
  FURROW_RETURN_IF_ERROR(Overwrite(volume.get(), &rng));
  FURROW_RETURN_IF_ERROR(Put(volume.get(), "/db/000020.sst", Text(20, 100000)));
  FURROW_RETURN_IF_ERROR(Put(volume.get(), "/db/OPTIONS-000021", Text(21, 900)));
  FURROW_RETURN_IF_ERROR(volume->files().names().Link("/db/000020.sst", "/db/archive/000020.sst"));
  return volume->Unmount();
}

// The end of the journal, from a walk over it.
class EndFinder final : public JournalVisitor {
 public:
  void OnSuperblock(const Superblock& s, const SuperblockPlace&) override { superblock = s; }
  bool OnGroup(const GroupPlaced&) override { return true; }
  void OnRecord(const GroupPlaced&, Sequence, const Record&) override {}
  void OnChunk(const GroupPlaced&, const ChunkHead&) override {}
  void OnObject(const GroupPlaced&, uint64_t, const CheckpointObject&) override {}
  void OnCheckpointEnd(const GroupPlaced&, uint64_t, const CheckpointEnd&) override {}
  void OnProblem(const JournalProblem&) override {}
  void OnEnd(const JournalDumpEnd& e) override { end = e; }
  Superblock superblock;
  JournalDumpEnd end;
};

// The first block of a group of two: what a power cut leaves of its write.
Status TearJournal(const std::string& uri) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<ZonedDevice> device, OpenDevice(parsed, OpenMode::kReadWrite));
  EndFinder found;
  FURROW_RETURN_IF_ERROR(JournalDump(device.get(), &found).Run());
  GroupHeader header;
  header.zone = found.end.zone;
  header.number = found.end.next_group;
  header.durable = header.number - 1;
  header.first_sequence = found.end.last_sequence + 1;
  const std::string payload(kBlock + 100, 't');
  std::string unit(GroupBytes(payload.size(), kBlock), '\0');
  EncodeGroup(header, UuidHash(found.superblock.uuid), payload, kBlock, unit.data());
  AlignedBuffer block(kBlock);
  std::copy_n(unit.begin(), kBlock, block.data());
  const Bytes piece(block.data(), kBlock);
  FURROW_RETURN_IF_ERROR(device->Open(header.zone.zone, ZoneUse::kDurable));
  FURROW_RETURN_IF_ERROR(device->WriteDurable(header.zone.zone, found.end.offset, ConstBuffers(&piece, 1)));
  return device->Close(header.zone.zone);
}

// As a power cut leaves it: frames that no record speaks of, a journal with a torn end, a file that was not closed.
Status MakePowerCut(const std::string& uri) {
  const std::string path = DeviceUri::Parse(uri)->target;
  const std::string live = path + ".live";
  {
    FURROW_RETURN_IF_ERROR(MakeDevice("furrow://dir:" + live, 20, 1 << 20));
    FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Mount("furrow://dir:" + live, false));
    FURROW_RETURN_IF_ERROR(Put(volume.get(), "/000001.sst", Text(1, 200000)));
    FURROW_ASSIGN_OR_RETURN(OpenedWriter log, volume->files().Create("/000002.log", FileKind::kWal));
    for (uint64_t i = 0; i < 9; ++i) {
      FURROW_RETURN_IF_ERROR(log.writer->Append(Text(30 + i, 3000 + 700 * i)));
      FURROW_RETURN_IF_ERROR(log.writer->Sync());
      // The names are durable; from here on the log grows by frames alone.
      if (i == 2) FURROW_RETURN_IF_ERROR(volume->SyncAll());
    }
    std::filesystem::copy(live, path, std::filesystem::copy_options::recursive);
    FURROW_RETURN_IF_ERROR(volume->files().CloseWriter(&log));
    FURROW_RETURN_IF_ERROR(volume->Unmount());
  }
  std::filesystem::remove_all(live);
  return TearJournal(uri);
}

// More objects than a zone takes, which no compression makes smaller.
Status MakeLargeCheckpoint(const std::string& uri) {
  Rng rng(kSeed + 1);
  FURROW_RETURN_IF_ERROR(MakeDevice(uri, 48, 64 << 10));
  FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, Mount(uri, false));
  for (int i = 0; i < 70; ++i) {
    FURROW_RETURN_IF_ERROR(Put(volume.get(), "/OPTIONS-" + std::to_string(100000 + i), Random(&rng, 1000)));
  }
  FURROW_RETURN_IF_ERROR(volume->engine().log->Checkpoint());
  FURROW_RETURN_IF_ERROR(Put(volume.get(), "/OPTIONS-000001", "behind the checkpoint"));
  return volume->Unmount();
}

Status Make(const std::string& name, const std::string& directory) {
  static const std::map<std::string, std::function<Status(const std::string&)>> kMakers = {
      {"everything", MakeEverything}, {"power_cut", MakePowerCut}, {"large_checkpoint", MakeLargeCheckpoint}};
  const auto maker = kMakers.find(name);
  if (maker == kMakers.end()) return Status::InvalidArgument("no golden device is called " + name);
  return maker->second("furrow://dir:" + directory);
}

Status MountOnce(const std::string& uri) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Mount(uri, false));
  return volume->Unmount();
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  furrow::Status status = furrow::Status::InvalidArgument("usage: golden_devices make NAME DIRECTORY | mount URI");
  if (words.size() == 3 && words[0] == "make") status = furrow::Make(words[1], words[2]);
  if (words.size() == 2 && words[0] == "mount") status = furrow::MountOnce(words[1]);
  if (!status.ok()) std::cerr << "golden_devices: " << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
