// SPDX-License-Identifier: Apache-2.0
//
// Cases of whole devices that file systems on zones have got wrong: what is no device, zones larger than 4 GiB, hosts
// that write short, block sizes, files that share a zone when the power goes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/device/sequential_zones.h"
#include "plugin/file/file_reader.h"
#include "plugin/fs/volume.h"
#include "tests/conformance/features_child.h"
#include "tests/conformance/small_cases_fixture.h"
#include "tests/crash/shared_device.h"
#include "tests/plugin/device/conventional_device.h"

namespace furrow {
namespace {

// --- a host that writes short -------------------------------------------------------------------

enum class HostFault : int { kNone, kShort, kInterrupted, kNothing };
std::atomic<HostFault> host_fault{HostFault::kNone};
std::atomic<int> host_fault_every{0};  // one write in so many
std::atomic<int> host_faults_left{0};
std::atomic<int> host_writes{0};

// What this write has to suffer.
HostFault NextFault() {
  const int every = host_fault_every.load();
  if (every == 0 || host_writes.fetch_add(1) % every != 0) return HostFault::kNone;
  return host_faults_left.fetch_sub(1) > 0 ? host_fault.load() : HostFault::kNone;
}

// One call on its way to the host.
struct HostWrite {
  const iovec* vectors;
  int count;
  iovec cut{};
  ssize_t answer = 0;

  // True: it never gets there, and this is the answer.
  bool Suffers() {
    switch (NextFault()) {
      case HostFault::kNone: break;
      case HostFault::kShort:
        cut = {vectors[0].iov_base, (vectors[0].iov_len + 1) / 2};
        vectors = &cut;
        count = 1;
        break;
      case HostFault::kInterrupted:
        errno = EINTR;
        answer = -1;
        return true;
      case HostFault::kNothing: return true;
    }
    return false;
  }
};

}  // namespace
}  // namespace furrow

// The host's calls as this program sees them.
extern "C" ssize_t pwritev(int fd, const iovec* vectors, int count, off_t offset) {
  furrow::HostWrite write{vectors, count};
  return write.Suffers() ? write.answer : syscall(SYS_pwritev, fd, write.vectors, write.count, offset, 0);
}
extern "C" ssize_t pwritev2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  furrow::HostWrite write{vectors, count};
  return write.Suffers() ? write.answer : syscall(SYS_pwritev2, fd, write.vectors, write.count, offset, 0, flags);
}

namespace furrow {
namespace {

class HostCase : public SmallCase {
 protected:
  ~HostCase() override { Arm(HostFault::kNone, 0, 0); }
  static void Arm(HostFault fault, int every, int times) {
    host_fault.store(fault);
    host_faults_left.store(times);
    host_fault_every.store(every);
  }
  static std::string Name(int i) { return "/" + std::to_string(i) + (i % 2 == 0 ? ".sst" : ".log"); }
};

TEST_F(HostCase, ShortAndInterruptedWritesLoseNothing) {
  for (const HostFault fault : {HostFault::kShort, HostFault::kInterrupted}) {
    Arm(fault, 2, INT32_MAX);
    for (int i = 0; i < 6; ++i) {
      const auto file = Create(Name(i));
      for (uint64_t at = 0; at < 2000000; at += 200000) {
        ASSERT_TRUE(Ok(file->Append(BytesOf(i, at, 200000), {}, nullptr)));
        ASSERT_TRUE(Ok(file->Sync({}, nullptr)));
      }
      ASSERT_TRUE(Ok(file->Close({}, nullptr)));
    }
    ASSERT_LT(host_faults_left.load(), INT32_MAX - 20) << "the host was never short";
    Arm(HostFault::kNone, 0, 0);
    Remount();
    for (int i = 0; i < 6; ++i) EXPECT_EQ(Read(Name(i)) == BytesOf(i, 0, 2000000), true) << Name(i);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(Ok(fs_->DeleteFile(Name(i), {}, nullptr)));
  }
}

TEST_F(HostCase, AWriteOfNothingIsNoLoopAndLosesNothingThatWasAcknowledged) {
  int errors = 0;
  for (int i = 0; i < 40; ++i) {
    const auto file = Create(Name(i));
    ASSERT_TRUE(Ok(file->Append(BytesOf(i, 0, 300000), {}, nullptr)));
    Arm(HostFault::kNothing, 1, i % 3 == 0 ? 1 : 0);  // once, in the middle of some
    const rdb::IOStatus synced = file->Sync({}, nullptr);
    Arm(HostFault::kNone, 0, 0);
    if (!synced.ok()) {
      errors++;
      EXPECT_TRUE(synced.IsIOError()) << synced.ToString();
    }
    // Acknowledged, or put elsewhere: then the bytes are there. The next file is none the worse.
    const rdb::IOStatus closed = file->Close({}, nullptr);
    if (synced.ok()) {
      ASSERT_TRUE(Ok(closed));
      EXPECT_EQ(Read(Name(i)) == BytesOf(i, 0, 300000), true) << Name(i);
    }
  }
  std::printf("%d of 14 were told of\n", errors);
  Remount();
  int right = 0;
  for (int i = 0; i < 40; ++i) right += Read(Name(i)) == BytesOf(i, 0, 300000);
  EXPECT_GE(right, 40 - errors) << "what was acknowledged is there";
}

// --- what is no device ----------------------------------------------------------------------------

size_t OpenDescriptors() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) n++;
  return n;
}

class UriCase : public SmallCase {
 protected:
  void Spoil(const std::string& name, const std::string& file, const std::string& content) {
    const std::string path = host_.path() + "/" + name;
    std::filesystem::copy(host_.path() + "/zones", path, std::filesystem::copy_options::recursive);
    std::filesystem::remove(path + "/" + file);
    if (content != "gone") std::ofstream(path + "/" + file) << content;
    uris_.push_back("furrow://dir:" + path);
  }
  std::vector<std::string> uris_;
};

TEST_F(UriCase, WhatIsNoDeviceIsRefusedWithAReasonAndLeaksNothing) {
  Write("/1.sst", BytesOf(1, 0, 100000), true);
  Unmount();
  const std::string host = host_.path();
  uris_ = {"",
           "furrow:",
           "furrow://",
           "furrow://dir:",
           "furrow://tape:0",
           "furrow://dir:" + host + "/nowhere",
           "furrow://dir:" + host,
           "furrow://dir:/proc/self/environ",
           "furrow://dir:/dev/null",
           "furrow://dir:" + host + "/loop",
           "furrow://uuid:01234567-89ab-cdef-0123-456789abcdef",
           "furrow://uuid:nonsense",
           "furrow://dev:null",
           "furrow://dev:nowhere0",
           "furrow://zonefs:" + host,
           "furrow://mem:never-made",
           uri_ + "?mount=sideways",
           uri_ + "?nonsense=1",
           uri_ + "?buffer=-1"};
  std::filesystem::create_symlink(host + "/loop", host + "/loop");
  Spoil("no-geometry", "furrow.geometry", "gone");
  Spoil("empty-geometry", "furrow.geometry", "");
  Spoil("foreign-geometry", "furrow.geometry", std::string(5000, 'x'));
  Spoil("no-superblocks", "zones/000000", "");
  std::filesystem::resize_file(host + "/no-superblocks/zones/000001", 0);
  Spoil("foreign-superblocks", "zones/000000", std::string(8192, 'f'));
  std::filesystem::resize_file(host + "/foreign-superblocks/zones/000001", 0);
  Spoil("zone-gone", "zones/000005", "gone");
  // Nobody may read these two; root may, so it becomes somebody else for the tries.
  Spoil("unreadable-geometry", "furrow.geometry", "secret");
  chmod((host + "/unreadable-geometry/furrow.geometry").c_str(), 0);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chmod(host.c_str(), 0755), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  const auto refused = [&](const std::string& uri, const MountOptions& options) {
    std::shared_ptr<rdb::FileSystem> fs;
    rdb::Status status = NewFurrowFileSystem(uri, options, &fs);
    EXPECT_EQ(fs != nullptr, status.ok()) << uri;
    // Without a mode, more than the superblock is read when it is wanted.
    if (status.ok() && options.mode == MountMode::kAuto) {
      std::vector<std::string> names;
      status = fs->GetChildren("/", {}, &names, nullptr);
    }
    EXPECT_FALSE(status.ok()) << uri;
    EXPECT_GT(status.ToString().size(), 20u) << uri << " says only: " << status.ToString();
  };
  MountOptions modes[3];
  modes[1].mode = MountMode::kReadWrite;
  modes[2].mode = MountMode::kReadOnly;
  for (const std::string& uri : uris_) refused(uri, modes[0]);  // what is opened once may stay open
  const size_t before = OpenDescriptors();
  // Where a writer might just be at work, a try takes a fifth of a second.
  const uint64_t tries = Amount(200, 1000, 3000);
  for (uint64_t i = 0; i < tries; ++i) refused(uris_[i % uris_.size()], modes[i / uris_.size() % 3]);
  EXPECT_EQ(OpenDescriptors(), before);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  // The device itself is none the worse.
  Mount();
  EXPECT_EQ(Read("/1.sst") == BytesOf(1, 0, 100000), true);
}

// --- shapes ---------------------------------------------------------------------------------------

struct Shape {
  uint32_t zones;
  uint64_t zone_bytes;
  uint32_t block;
};

class ShapeCase : public ::testing::TestWithParam<Shape> {
 protected:
  ShapeCase() : uri_("furrow://dir:" + host_.path() + "/zones") {}
  void Mount() {
    fs_.reset();
    ASSERT_TRUE(Ok(NewFurrowFileSystem(uri_, MountOptions(), &fs_)));
  }
  // A file of `size` bytes, written in pieces.
  void Write(const std::string& path, uint64_t size, uint64_t piece) {
    std::unique_ptr<rdb::FSWritableFile> file;
    ASSERT_TRUE(Ok(fs_->NewWritableFile(path, {}, &file, nullptr)));
    for (uint64_t at = 0; at < size; at += piece) {
      ASSERT_TRUE(Ok(file->Append(BytesOf(9, at, std::min(piece, size - at)), {}, nullptr)));
    }
    ASSERT_TRUE(Ok(file->Sync({}, nullptr)));
    ASSERT_TRUE(Ok(file->Close({}, nullptr)));
  }
  void ExpectBytes(const std::string& path, uint64_t offset, size_t n) {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    ASSERT_TRUE(Ok(fs_->NewRandomAccessFile(path, {}, &file, nullptr)));
    std::string buffer(n, '\0');
    rdb::Slice result;
    ASSERT_TRUE(Ok(file->Read(offset, n, {}, &result, buffer.data(), nullptr)));
    ASSERT_EQ(result == rdb::Slice(BytesOf(9, offset, n)), true) << n << " bytes at " << offset;
  }

  const HostDirectory host_;
  const std::string uri_;
  std::shared_ptr<rdb::FileSystem> fs_;
};

using BlockCase = ShapeCase;
INSTANTIATE_TEST_SUITE_P(Blocks, BlockCase,
                         ::testing::Values(Shape{64, 1 << 20, 512}, Shape{64, 1 << 20, 4096},
                                           Shape{64, (1 << 20) + 512 * 3, 512}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.block) + "_" + std::to_string(shape.param.zone_bytes);
                         });

TEST_P(BlockCase, FormattedByOneProcessFilledAndVerifiedByOthers) {
  ChildProcess mkfs("mkfs", uri_);
  ASSERT_EQ(mkfs.Ask("mkfs " + std::to_string(GetParam().zones) + " " + std::to_string(GetParam().zone_bytes) + " " +
                     std::to_string(GetParam().block)),
            "done");
  ASSERT_EQ(mkfs.End(), 0);
  ChildProcess child("holder", uri_);
  ASSERT_EQ(child.Ask("write /child.sst 1000001"), "done");
  ASSERT_EQ(child.End(), 0);
  Mount();
  UsageSnapshot usage;
  ASSERT_TRUE(Ok(Usage(fs_.get(), &usage)));
  ASSERT_EQ(usage.block_size, GetParam().block);
  int files = 0;
  for (rdb::IOStatus status; status.ok() && files < 1000; files++) {
    std::unique_ptr<rdb::FSWritableFile> file;
    const std::string path = "/" + std::to_string(files) + (files % 4 == 0 ? ".log" : ".sst");
    status = fs_->NewWritableFile(path, {}, &file, nullptr);
    if (status.ok()) status = file->Append(BytesOf(9, 0, 700001), {}, nullptr);
    if (status.ok()) status = file->Sync({}, nullptr);
    if (status.ok()) status = file->Close({}, nullptr);
    if (status.ok()) continue;
    ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
    break;
  }
  EXPECT_GT(files, 50);
  Mount();
  for (int i = 0; i < files; ++i) {
    ExpectBytes("/" + std::to_string(i) + (i % 4 == 0 ? ".log" : ".sst"), 0, 700001);
    if (HasFatalFailure()) return;
  }
  std::string child_file;
  ASSERT_TRUE(Ok(rdb::ReadFileToString(rdb::NewCompositeEnv(fs_).get(), "/child.sst", &child_file)));
  EXPECT_EQ(child_file == std::string(1000001, 'h'), true);
}

using LargeZoneCase = ShapeCase;
INSTANTIATE_TEST_SUITE_P(GiB, LargeZoneCase,
                         ::testing::Values(Shape{24, uint64_t{4} << 30, 4096}, Shape{24, uint64_t{8} << 30, 4096}),
                         [](const auto& shape) { return std::to_string(shape.param.zone_bytes >> 30); });

TEST_P(LargeZoneCase, HoldsALargeFileWithTheRightBytes) {
  MkfsOptions mkfs;
  mkfs.zones = GetParam().zones;
  mkfs.zone_size = GetParam().zone_bytes;
  ASSERT_TRUE(Ok(Mkfs(uri_, mkfs)));
  Mount();
  // In zones of 8 GiB all of it lies in one; beyond 4 GiB only in the long run.
  const uint64_t size = Amount(uint64_t{48} << 20, uint64_t{128} << 20, uint64_t{5} << 30) + 12345;
  Write("/large.sst", size, 1 << 20);
  Mount();
  const uint64_t step = size / 512;
  for (uint64_t at = 0; at < size && !HasFatalFailure(); at += step) {
    ExpectBytes("/large.sst", at, std::min<uint64_t>(20000, size - at));
  }
  for (const uint64_t boundary : {uint64_t{1} << 31, uint64_t{1} << 32, GetParam().zone_bytes - 4096}) {
    if (boundary + (1 << 20) < size) ExpectBytes("/large.sst", boundary - (1 << 20), 2 << 20);
  }
  UsageSnapshot usage;
  ASSERT_TRUE(Ok(Usage(fs_.get(), &usage)));
  EXPECT_GE(usage.live_bytes, size);
  ASSERT_TRUE(Ok(fs_->DeleteFile("/large.sst", {}, nullptr)));
  std::printf("%llu bytes\n", static_cast<unsigned long long>(size));
}

// --- conventional zones ----------------------------------------------------------------------------

// Which zones of 40 are conventional.
class ConventionalCase : public ::testing::TestWithParam<std::vector<uint32_t>> {
 protected:
  ConventionalCase() {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    geometry.zone_count = 40;
    geometry.max_open = geometry.max_active = 14;
    memory_ = std::make_shared<MemDevice>(geometry);
    for (const uint32_t zone : GetParam()) contents_[zone] = std::string(1 << 20, 'c');  // of an earlier use
  }
  // The drive, opened anew.
  std::unique_ptr<ZonedDevice> Open() {
    Result<std::unique_ptr<ZonedDevice>> device =
        SequentialZones::Of(std::make_unique<ConventionalDevice>(memory_, &contents_));
    EXPECT_TRUE(device.ok()) << device.status().ToString();
    return std::move(device).value();
  }
  std::shared_ptr<MemDevice> memory_;
  ConventionalDevice::Contents contents_;
};
INSTANTIATE_TEST_SUITE_P(Zones, ConventionalCase,
                         ::testing::Values(std::vector<uint32_t>{}, std::vector<uint32_t>{0, 1, 2},
                                           std::vector<uint32_t>{0, 7, 8, 39}));

TEST_P(ConventionalCase, FilledAndVerified) {
  ASSERT_TRUE(MetadataLog::Format(Open().get(), FormatOptions{Uuid{1, 2, 3}, "test", 1}).ok());
  MountOptions options;
  options.mode = MountMode::kReadWrite;
  int files = 0;
  for (const bool fill : {true, false}) {
    Result<std::shared_ptr<Volume>> volume = Volume::MountDevice(Open(), options, NullLogger(), SystemClock());
    ASSERT_TRUE(volume.ok()) << volume.status().ToString();
    for (Status status; fill && status.ok();) {
      Result<OpenedWriter> opened =
          (*volume)->files().Create("/" + std::to_string(files) + (files % 4 == 0 ? ".log" : ".sst"),
                                    files % 4 == 0 ? FileKind::kWal : FileKind::kBulk);
      status = opened.status();
      if (status.ok()) status = opened->writer->Append(BytesOf(files, 0, 300001));
      if (status.ok()) status = opened->writer->Sync();
      if (status.ok()) status = (*volume)->files().CloseWriter(&*opened);
      if (status.ok()) files++;
      ASSERT_TRUE(status.ok() || status.code() == StatusCode::kNoSpace) << status.ToString();
    }
    for (int i = 0; i < files; ++i) {
      const Result<FileHandle> handle =
          (*volume)->files().OpenForRead("/" + std::to_string(i) + (i % 4 == 0 ? ".log" : ".sst"));
      ASSERT_TRUE(handle.ok()) << handle.status().ToString();
      std::string data(300001, '?');
      const Result<size_t> got = ReadFile((*volume)->engine(), handle->file(), FileOffset(0), data.size(), data.data());
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      ASSERT_EQ(data == BytesOf(i, 0, data.size()), true) << "file " << i;
    }
    ASSERT_TRUE((*volume)->Unmount().ok());
  }
  EXPECT_GT(files, 50);
  for (const auto& [zone, content] : contents_) EXPECT_EQ(content == std::string(1 << 20, 'c'), true) << zone;
}

// --- the power goes while two files share a zone ----------------------------------------------------

class SharedZoneCase : public ::testing::TestWithParam<const char*> {
 protected:
  // Few slots, so that files have to share zones.
  SharedZoneCase() {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    geometry.zone_count = 64;
    geometry.max_open = geometry.max_active = 6;
    device_ = std::make_shared<FaultDevice>(std::make_unique<MemDevice>(geometry), /*seed=*/1);
    SharedDevice shared(device_);
    EXPECT_TRUE(MetadataLog::Format(&shared, FormatOptions{Uuid{1, 2, 3}, "test", 1}).ok());
    Mount();
  }
  void Mount() {
    MountOptions options;
    options.mode = MountMode::kReadWrite;
    Result<std::shared_ptr<Volume>> volume =
        Volume::MountDevice(std::make_unique<SharedDevice>(device_), options, NullLogger(), SystemClock());
    ASSERT_TRUE(volume.ok()) << volume.status().ToString();
    volume_ = *volume;
  }
  std::string Read(const std::string& path) {
    const Result<FileHandle> handle = volume_->files().OpenForRead(path);
    if (!handle.ok()) return "";
    std::string data(handle->file()->size, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), handle->file(), FileOffset(0), data.size(), data.data());
    return got.ok() && *got == data.size() ? data : "<" + got.status().ToString() + ">";
  }
  std::shared_ptr<FaultDevice> device_;
  std::shared_ptr<Volume> volume_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, SharedZoneCase, ::testing::Values(".sst", ".log"),
                         [](const auto& kind) { return std::string(kind.param + 1); });

TEST_P(SharedZoneCase, InterleavedFilesHaveNoBytesOfEachOtherAfterACrash) {
  constexpr int kFiles = 6;  // more than there are slots: some share
  std::vector<OpenedWriter> open;
  std::vector<std::string> names;
  for (int i = 0; i < kFiles; ++i) {
    names.push_back("/" + std::to_string(i) + GetParam());
    Result<OpenedWriter> opened = volume_->files().Create(names.back(), KindOfName(names.back()));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    open.push_back(std::move(*opened));
  }
  std::vector<uint64_t> synced(kFiles);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < kFiles; ++i) {
      const uint64_t at = uint64_t(round) * 20000;
      ASSERT_TRUE(open[i].writer->Append(BytesOf(i, at, 20000)).ok());
      if (round % 3 == i % 3) {
        ASSERT_TRUE(open[i].writer->Sync().ok());
        synced[i] = at + 20000;
      }
    }
  }
  ASSERT_TRUE(volume_->files().CloseWriter(&open[0]).ok());  // the others are still open when the power goes
  int shared = 0;
  for (const ZoneUsage& zone : volume_->Zones(/*with_files=*/true)) shared += zone.files.size() > 1;
  EXPECT_GT(shared, 0) << "no zone has two files: this tests nothing";
  device_->PowerOff();
  open.clear();
  volume_.reset();
  ASSERT_TRUE(device_->PowerLoss().ok());
  Mount();
  for (int i = 0; i < kFiles; ++i) {
    const std::string found = Read(names[i]);
    EXPECT_GE(found.size(), synced[i]) << names[i];
    EXPECT_EQ(found == BytesOf(i, 0, found.size()), true) << names[i] << " has bytes that are not its own";
  }
}

}  // namespace
}  // namespace furrow
