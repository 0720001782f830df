// SPDX-License-Identifier: Apache-2.0
//
// How long a mount takes, and how much memory it holds, with many files: 100,000 files of 1,000,000 extents on 30,000
// zones. Builds an emulated device in a new directory (sparse: its zone files are as long as full zones, their
// blocks were never written), mounts it in processes of their own, and prints the times; exit 1 when one is above the
// bound.
//   mount_benchmark [--dir=PARENT] [--files=100000] [--extents=1000000] [--zones=30000] [--bound-seconds=2] [--runs=3]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "plugin/fs/volume.h"
#include "plugin/zone/zone_header.h"

namespace furrow {
namespace {

constexpr uint32_t kBlock = 4096;
constexpr uint64_t kZoneSize = 64ull << 20;
constexpr uint32_t kOwnZones = 64;  // at the front, for superblocks, journal and checkpoints
constexpr uint32_t kFilesPerDirectory = 1000;
constexpr uint32_t kBatch = 2000;  // files between two syncs

struct Shape {
  std::string parent = std::filesystem::temp_directory_path();
  uint32_t files = 100000;
  uint32_t extents = 1000000;
  uint32_t zones = 30000;
  double bound_seconds = 2;
  uint32_t runs = 3;

  uint32_t data_zones() const { return zones - kOwnZones; }
};

bool Report(const char* what, const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "mount_benchmark: %s: %s\n", what, status.ToString().c_str());
  return status.ok();
}

// --- the device ---------------------------------------------------------------------------

PersistedZone DataZone(const Shape& shape, uint32_t index) {
  PersistedZone zone;
  zone.zone = ZoneId(kOwnZones + index % shape.data_zones());
  zone.role = ZoneRole::kBulk;
  zone.lifetime = LifetimeClass::kMedium;
  zone.owner_directory = kRootDirectory;
  return zone;
}

// Extent `index` of the device: round robin over the zones, one block each, behind the zone's header.
Extent MakeExtent(const Shape& shape, uint32_t index, uint32_t in_file) {
  Extent e;
  e.file_offset = FileOffset(uint64_t{in_file} * kBlock);
  e.zone = DataZone(shape, index).zone;
  e.zone_offset = ZoneOffset(uint64_t{1 + index / shape.data_zones()} * kBlock);
  e.length = e.piece_length = kBlock;
  e.checksum = index;
  return e;
}

// The records of file `i`, as its creation and its first sync would have made them.
void AppendFile(const Shape& shape, MetadataLog* log, uint32_t i, FileId id, FileId directory) {
  char name[32];
  std::snprintf(name, sizeof(name), "%06u.sst", i);
  log->Append(
      CreateFileRecord{.file = id, .kind = FileKind::kBulk, .directory = directory, .name = name, .replaced = kNoFile});
  ExtentsRecord extents;
  extents.file = id;
  const uint64_t first = uint64_t{shape.extents} * i / shape.files;
  const uint64_t end = uint64_t{shape.extents} * (i + 1) / shape.files;
  for (uint64_t n = first; n < end; ++n) {
    extents.added.push_back(MakeExtent(shape, static_cast<uint32_t>(n), static_cast<uint32_t>(n - first)));
  }
  extents.size = (end - first) * kBlock;
  log->Append(extents);
}

Status AppendRecords(const Shape& shape, MetadataLog* log) {
  // Far above what this mount has given out itself.
  uint64_t next_id = 1ull << 40;
  FileId directory;
  for (uint32_t z = 0; z < shape.data_zones(); ++z) log->Append(ZoneRecord{DataZone(shape, z)});
  for (uint32_t i = 0; i < shape.files; ++i) {
    if (i % kFilesPerDirectory == 0) {
      directory = FileId(next_id++);
      log->Append(MakeDirectoryRecord{directory, kRootDirectory, "db" + std::to_string(i / kFilesPerDirectory), 0});
    }
    AppendFile(shape, log, i, FileId(next_id++), directory);
    if (i % kBatch == 0) FURROW_RETURN_IF_ERROR(log->SyncAll());
  }
  return log->SyncAll();
}

// Makes the zones what the records say: full, with a header.
Status FillZones(const Shape& shape, const std::string& path, const Uuid& uuid) {
  for (uint32_t i = 0; i < shape.data_zones(); ++i) {
    const PersistedZone zone = DataZone(shape, i);
    const std::string header = EncodeZoneHeader(
        ZoneHeader{uuid, zone.zone, zone.generation, zone.role, zone.lifetime, zone.owner_directory}, kBlock);
    char name[16];
    std::snprintf(name, sizeof(name), "/zones/%06u", zone.zone.value());
    const int fd = ::open((path + name).c_str(), O_WRONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && ::pwrite(fd, header.data(), header.size(), 0) == static_cast<ssize_t>(header.size()) &&
                    ::ftruncate(fd, static_cast<off_t>(kZoneSize)) == 0;
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    if (!ok) return Status::IoError(path + name + ": " + why);
  }
  return Status::Ok();
}

Status Build(const Shape& shape, const std::string& path) {
  const std::string uri = "furrow://dir:" + path;
  MkfsOptions options;
  options.zones = shape.zones;
  options.zone_size = kZoneSize;
  FURROW_RETURN_IF_ERROR(Volume::Mkfs(uri, options));
  Uuid uuid;
  {
    // No checkpoint: this mount does not know the files whose records it carries.
    FURROW_ASSIGN_OR_RETURN(
        const std::shared_ptr<Volume> volume,
        Volume::Mount(uri, MountOptions{.checkpoint_bytes = 1ull << 50}, StderrLogger(LogLevel::kWarning)));
    uuid = volume->engine().fs_uuid;
    FURROW_RETURN_IF_ERROR(AppendRecords(shape, volume->engine().log));
    FURROW_RETURN_IF_ERROR(volume->Unmount());
  }
  return FillZones(shape, path, uuid);
}

// --- measuring ----------------------------------------------------------------------------

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// What a child hands back; plain bytes in shared memory.
struct Measured {
  double seconds = 0;
  uint64_t resident_bytes = 0;                                // grown by the mount
  uint64_t memory_bytes = 0;                                  // as the file system counts itself
  uint64_t file_bytes = 0, extent_bytes = 0, zone_bytes = 0;  // its parts
  uint64_t files = 0, extents = 0, zones = 0;
};

bool MountOnce(const std::string& path, bool checkpoint, Measured* out) {
  const uint64_t before = ResidentBytes();
  const auto start = std::chrono::steady_clock::now();
  Result<std::shared_ptr<Volume>> mounted = Volume::Mount(
      "furrow://dir:" + path, MountOptions{.checkpoint_bytes = 1ull << 50}, StderrLogger(LogLevel::kWarning));
  if (!Report("mount", mounted.status())) return false;
  out->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out->resident_bytes = ResidentBytes() - before;
  Volume& volume = **mounted;
  const UsageSnapshot usage = volume.Usage();
  out->memory_bytes = usage.memory_bytes;
  out->files = usage.files;
  out->extents = usage.extents;
  out->zones = usage.zone_count;
  for (const FileRef& file : volume.files().table().All()) {
    ReaderLock lock(file->mu);
    out->extent_bytes += file->extents.MemoryBytes();
  }
  out->file_bytes = volume.files().MemoryBytes() - out->extent_bytes;
  out->zone_bytes = volume.engine().zones->MemoryBytes();
  if (checkpoint && !Report("checkpoint", volume.engine().log->Checkpoint())) return false;
  return Report("unmount", volume.Unmount());
}

// Runs `work` in a process of its own, so that memory is measured from a clean start. False: it failed.
bool InChild(const std::function<bool()>& work) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int state = 0;
  return child > 0 && ::waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

double Per(uint64_t bytes, uint64_t count) {
  return count ? static_cast<double>(bytes) / static_cast<double>(count) : 0;
}

void PrintMemory(const Measured& m) {
  std::printf("memory of the mount: %.1f MiB as it counts itself, %.1f MiB of resident growth during the mount\n",
              static_cast<double>(m.memory_bytes) / (1 << 20), static_cast<double>(m.resident_bytes) / (1 << 20));
  std::printf(
      "  per file %.0f B (at most 200; its name is not counted), per extent %.0f B (at most 64), per zone %.0f B (at "
      "most 128)\n",
      Per(m.file_bytes, m.files), Per(m.extent_bytes, m.extents), Per(m.zone_bytes, m.zones));
}

bool WithinMemory(const Measured& m) {
  return Per(m.file_bytes, m.files) <= 200 && Per(m.extent_bytes, m.extents) <= 64 && Per(m.zone_bytes, m.zones) <= 128;
}

// Mounts `runs` times and prints; the last run may write a checkpoint. False: failed, or above the bound.
bool Measure(const Shape& shape, const std::string& path, const char* what, bool checkpoint, Measured* shared) {
  std::vector<double> seconds;
  for (uint32_t run = 0; run < shape.runs; ++run) {
    *shared = Measured();
    if (!InChild([&] { return MountOnce(path, checkpoint && run + 1 == shape.runs, shared); })) return false;
    seconds.push_back(shared->seconds);
  }
  if (shared->files != shape.files || shared->extents != shape.extents) {
    std::fprintf(stderr, "mount_benchmark: %lu files and %lu extents were found, %u and %u were written\n",
                 shared->files, shared->extents, shape.files, shape.extents);
    return false;
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  std::printf("%s: %u files, %u extents, %u zones in %.2f s (median of %u; %.2f to %.2f), bound %.2f s: %s\n", what,
              shape.files, shape.extents, shape.zones, median, shape.runs, seconds.front(), seconds.back(),
              shape.bound_seconds, median <= shape.bound_seconds ? "ok" : "MISSED");
  return median <= shape.bound_seconds;
}

bool RunIn(const Shape& shape, const std::string& path, Measured* shared) {
  if (!InChild([&] { return Report("build", Build(shape, path)); })) return false;
  const bool journal = Measure(shape, path, "mount from the journal alone", true, shared);
  const bool checkpoint = Measure(shape, path, "mount from a checkpoint", false, shared);
  PrintMemory(*shared);
  if (!WithinMemory(*shared)) std::printf("memory: MISSED\n");
  return journal && checkpoint && WithinMemory(*shared);
}

bool Parse(int argc, char** argv, Shape* shape) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    const auto number = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (name == "--dir") {
      shape->parent = value;
    } else if (name == "--files") {
      shape->files = number;
    } else if (name == "--extents") {
      shape->extents = number;
    } else if (name == "--zones") {
      shape->zones = number;
    } else if (name == "--bound-seconds") {
      shape->bound_seconds = std::strtod(value.c_str(), nullptr);
    } else if (name == "--runs") {
      shape->runs = number;
    } else {
      return false;
    }
  }
  const uint64_t room = uint64_t{shape->data_zones()} * (kZoneSize / kBlock - 1);
  return shape->runs > 0 && shape->files > 0 && shape->zones > 2 * kOwnZones && shape->extents <= room;
}

int Main(int argc, char** argv) {
  Shape shape;
  if (!Parse(argc, argv, &shape)) {
    std::fprintf(stderr,
                 "usage: mount_benchmark [--dir=] [--files=] [--extents=] [--zones=] [--bound-seconds=] [--runs=]\n");
    return 2;
  }
  std::string directory = shape.parent + "/furrow-mount.XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return Report("mkdtemp", Status::IoError(directory)) ? 0 : 1;
  void* page = ::mmap(nullptr, sizeof(Measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const bool ok = page != MAP_FAILED && RunIn(shape, directory + "/device", static_cast<Measured*>(page));
  std::error_code ignored;  // what is left lies in the directory of temporary files
  std::filesystem::remove_all(directory, ignored);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) { return furrow::Main(argc, argv); }
