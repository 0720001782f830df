// SPDX-License-Identifier: Apache-2.0
//
// What is special about zones that are files: how they are found again after a restart,
// and what happens when the files are not as they were left.
#include "plugin/device/zone_file_device.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "plugin/device/device_factory.h"
#include "tests/plugin/device/device_test_util.h"
#include "util/checksum.h"
#include "util/clock.h"

namespace furrow {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kCapacity = 4 << 20;

class ZoneFileDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { Create(EmulatedShape{8, kCapacity + 65536, kCapacity, kBlock, 6, 6, false}); }
  void Create(const EmulatedShape& shape) {
    device_.reset();
    DeviceUri uri;
    uri.target = tmp_.path();
    ASSERT_OK(CreateEmulatedDevice(uri, shape, true));
    ASSERT_OK(Reopen());
  }
  Status Reopen() {
    device_.reset();
    auto opened = ZoneFileDevice::OpenPath(tmp_.path(), true);
    if (opened.ok()) device_ = std::move(opened).value();
    return opened.ok() ? Status::Ok() : opened.status();
  }
  std::string Path(uint32_t zone) { return tmp_.path() + "/zones/" + ZoneFileName(ZoneId{zone}); }
  std::string Slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Status WriteDurable(uint32_t zone, uint64_t offset, const std::string& data) {
    return device_->WriteDurable(ZoneId{zone}, ZoneOffset{offset}, OnePiece(data));
  }
  ZoneReport Report(uint32_t zone) {
    auto r = device_->ReportOne(ZoneId{zone});
    EXPECT_OK(r.status());
    return r.ok() ? *r : ZoneReport{};
  }
  uint64_t Pointer(uint32_t zone) { return Report(zone).write_pointer.value(); }

  TemporaryDirectory tmp_;
  std::unique_ptr<ZonedDevice> device_;
};

TEST_F(ZoneFileDeviceTest, BulkZonePointerIsTheFileSize) {
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, 0, Pattern('a', 3 * kBlock)));
  EXPECT_EQ(fs::file_size(Path(0)), 3 * kBlock);
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, 3 * kBlock, std::string(2 * kBlock, '\0')));
  ASSERT_OK(Reopen());
  EXPECT_EQ(Pointer(0), 5 * kBlock) << "zeros at the end count";
}

TEST_F(ZoneFileDeviceTest, HalfABlockAtTheEndIsOverwritten) {
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, 0, Pattern('a', 2 * kBlock)));
  device_.reset();
  ASSERT_EQ(truncate(Path(0).c_str(), kBlock + 700), 0);
  ASSERT_EQ(truncate(Path(1).c_str(), 100), 0);
  ASSERT_OK(Reopen());
  EXPECT_EQ(Pointer(0), kBlock);
  EXPECT_EQ(Report(1).condition, ZoneCondition::kEmpty);
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, kBlock, Pattern('b', kBlock)));
  EXPECT_EQ(ReadString(device_.get(), ZoneId{0}, 0, 2 * kBlock), Pattern('a', kBlock) + Pattern('b', kBlock));
}

TEST_F(ZoneFileDeviceTest, DurableZoneIsRecognisedByItsLength) {
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kDurable));
  EXPECT_EQ(fs::file_size(Path(0)), kCapacity + 1);
  struct stat info {};
  ASSERT_EQ(stat(Path(0).c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 1 << 20) << "the first MiB is allocated before the first write";
  ASSERT_OK(WriteDurable(0, 0, Pattern('a', kBlock)));
  std::string inner(3 * kBlock, '\0');
  inner.back() = 1;
  ASSERT_OK(WriteDurable(0, kBlock, inner));
  EXPECT_EQ(fs::file_size(Path(0)), kCapacity + 1);
  ASSERT_OK(Reopen());
  EXPECT_EQ(Pointer(0), 4 * kBlock);
  EXPECT_EQ(Report(0).condition, ZoneCondition::kClosed);
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kDurable));
  ASSERT_OK(WriteDurable(0, 4 * kBlock, Pattern('c', kBlock)));
  ASSERT_OK(Reopen());
  EXPECT_EQ(Pointer(0), 5 * kBlock);
  EXPECT_EQ(ReadString(device_.get(), ZoneId{0}, 0, 5 * kBlock), Pattern('a', kBlock) + inner + Pattern('c', kBlock));
}

TEST_F(ZoneFileDeviceTest, ZeroingAheadNeverTouchesWhatIsWritten) {
  // Far faster than the background, in sizes that meet its ranges at every angle.
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kDurable));
  std::string all;
  for (int i = 1; all.size() < kCapacity; ++i) {
    const size_t n = std::min<size_t>((i * 7 % 40 + 1) * kBlock, kCapacity - all.size());
    const std::string data = Pattern(static_cast<char>('a' + i % 20), n);
    ASSERT_OK(WriteDurable(0, all.size(), data));
    all += data;
  }
  EXPECT_EQ(Report(0).condition, ZoneCondition::kFull);
  ASSERT_OK(Reopen());
  EXPECT_EQ(Report(0).condition, ZoneCondition::kFull);
  EXPECT_EQ(ReadString(device_.get(), ZoneId{0}, 0, kCapacity), all);
}

TEST_F(ZoneFileDeviceTest, ResetGivesTheHostItsSpaceBack) {
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kDurable));
  ASSERT_OK(WriteDurable(0, 0, Pattern('a', kBlock)));
  ASSERT_OK(device_->Reset(ZoneId{0}));
  struct stat info {};
  ASSERT_EQ(stat(Path(0).c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 0);
  EXPECT_EQ(info.st_blocks, 0);
  ASSERT_OK(Reopen());
  EXPECT_EQ(Report(0).condition, ZoneCondition::kEmpty);
}

TEST_F(ZoneFileDeviceTest, PreallocatedSpaceStaysReserved) {
  Create(EmulatedShape{3, kCapacity, 0, kBlock, 0, 0, true});
  const auto reserved = [&](uint32_t zone) {
    struct stat info {};
    EXPECT_EQ(stat(Path(zone).c_str(), &info), 0);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  };
  for (uint32_t z = 0; z < 3; ++z) EXPECT_GE(reserved(z), kCapacity);
  EXPECT_EQ(Report(0).condition, ZoneCondition::kEmpty);
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, 0, Pattern('a', kBlock)));
  ASSERT_OK(device_->Open(ZoneId{1}, ZoneUse::kDurable));
  ASSERT_OK(WriteDurable(1, 0, Pattern('a', kBlock)));
  ASSERT_OK(Reopen());
  EXPECT_EQ(Pointer(1), kBlock);
  for (uint32_t z = 0; z < 2; ++z) {
    ASSERT_OK(device_->Reset(ZoneId{z}));
    EXPECT_GE(reserved(z), kCapacity);
  }
}

TEST_F(ZoneFileDeviceTest, MissingAndOversizedZoneFilesAreNamed) {
  device_.reset();
  fs::remove(Path(3));
  Status s = Reopen();
  EXPECT_STATUS(s, kCorruption);
  EXPECT_THAT(s.message(), HasSubstr(Path(3)));
  EXPECT_THAT(s.message(), HasSubstr("restore the file"));
  auto reader = ZoneFileDevice::OpenPath(tmp_.path(), false);
  ASSERT_OK(reader.status());
  EXPECT_STATUS((*reader)->ReportOne(ZoneId{3}).status(), kCorruption);
  EXPECT_OK((*reader)->ReportOne(ZoneId{2}).status());
  std::ofstream(Path(3)).flush();
  ASSERT_OK(Reopen());
  device_.reset();
  ASSERT_EQ(truncate(Path(4).c_str(), kCapacity + 2), 0);
  s = Reopen();
  EXPECT_STATUS(s, kCorruption);
  EXPECT_THAT(s.message(), HasSubstr(Path(4)));
  EXPECT_THAT(s.message(), HasSubstr("truncate -s"));
}

TEST_F(ZoneFileDeviceTest, ModesTellReadOnlyAndOfflineZones) {
  ASSERT_OK(WriteString(device_.get(), ZoneId{1}, 0, Pattern('a', kBlock)));
  device_.reset();
  ASSERT_EQ(chmod(Path(1).c_str(), 0444), 0);
  ASSERT_EQ(chmod(Path(2).c_str(), 0), 0);
  ASSERT_OK(Reopen());
  EXPECT_EQ(Report(1).condition, ZoneCondition::kReadOnly);
  EXPECT_EQ(Pointer(1), kBlock);
  EXPECT_EQ(Report(2).condition, ZoneCondition::kOffline);
  EXPECT_STATUS(WriteString(device_.get(), ZoneId{1}, kBlock, Pattern('a', kBlock)), kReadOnly);
  EXPECT_STATUS(device_->Reset(ZoneId{1}), kReadOnly);
  EXPECT_STATUS(device_->Finish(ZoneId{2}), kIoError);
  EXPECT_EQ(ReadString(device_.get(), ZoneId{1}, 0, kBlock), Pattern('a', kBlock));
  chmod(Path(2).c_str(), 0644);
}

TEST_F(ZoneFileDeviceTest, DamagedAndNewerGeometry) {
  device_.reset();
  const std::string file = tmp_.path() + "/furrow.geometry";
  const std::string good = Slurp(file);
  std::string text = good;
  text[text.find("zone_count ") + 11] = '9';
  std::ofstream(file, std::ios::trunc) << text;
  EXPECT_STATUS(Reopen(), kCorruption);
  std::ofstream(file, std::ios::trunc) << good.substr(0, 30);
  EXPECT_STATUS(Reopen(), kCorruption);
  std::ofstream(file, std::ios::trunc) << "hello";
  EXPECT_STATUS(Reopen(), kInvalidArgument);
  std::ofstream(file, std::ios::trunc) << std::string(5000, 'x');
  EXPECT_STATUS(Reopen(), kInvalidArgument);
  // A newer version keeps the form of the first and the last line.
  const std::string newer = "furrow zoned device 2\nsomething new\n";
  char checksum[40];
  std::snprintf(checksum, sizeof(checksum), "checksum %016" PRIx64 "\n", Checksum(newer));
  std::ofstream(file, std::ios::trunc) << newer << checksum;
  const Status s = Reopen();
  EXPECT_STATUS(s, kNotSupported);
  EXPECT_THAT(s.message(), HasSubstr("use a newer Furrow"));
  std::ofstream(file, std::ios::trunc) << newer << "checksum 0123456789abcdef\n";
  EXPECT_STATUS(Reopen(), kCorruption);
  std::ofstream(file, std::ios::trunc) << good;
  EXPECT_OK(Reopen());
}

// Each with a right checksum: nothing is cut to what fits, nothing is guessed.
TEST_F(ZoneFileDeviceTest, GeometryOfImpossibleNumbers) {
  const std::string good = EncodeGeometry(ZoneFileGeometry{{512, 1 << 20, 1 << 20, 64, 7, 9, true}, false});
  const std::string body = good.substr(0, good.rfind("checksum"));
  const auto decode = [&](const std::string& line, const std::string& instead) {
    std::string text = body;
    text.replace(text.find(line), line.size(), instead);
    char checksum[40];
    std::snprintf(checksum, sizeof(checksum), "checksum %016" PRIx64 "\n", Checksum(text));
    return DecodeGeometry(text + checksum, "/d/furrow.geometry").status();
  };
  EXPECT_OK(decode("zone_count 64\n", "zone_count 65\nfrom_later 7\n"));
  for (const char* count : {"4294967360", "-64", "+64", "64 0", "64x", "0x40", "", "18446744073709551616"}) {
    EXPECT_STATUS(decode("zone_count 64", std::string("zone_count ") + count), kCorruption);
  }
  EXPECT_STATUS(decode("block_size 512", "block_size 4294967808"), kCorruption);
  EXPECT_STATUS(decode("max_open 7", "max_open 4294967303"), kCorruption);
  EXPECT_STATUS(decode("preallocate 0", "preallocate 2"), kCorruption);
  EXPECT_STATUS(decode("zone_count 64\n", "zone_count 64\nzone_count 65\n"), kCorruption);
  EXPECT_STATUS(decode("zone_count 64\n", ""), kCorruption);
}

TEST_F(ZoneFileDeviceTest, GeometryRoundTrip) {
  ZoneFileGeometry g;
  g.geometry.block_size = 512;
  g.geometry.zone_size = 1 << 30;
  g.geometry.zone_capacity = 1000 * 512;
  g.geometry.zone_count = 100000;
  g.geometry.max_open = 7;
  g.geometry.max_active = 9;
  g.preallocate = true;
  const auto back = DecodeGeometry(EncodeGeometry(g), "test");
  ASSERT_OK(back.status());
  EXPECT_EQ(back->geometry.block_size, 512u);
  EXPECT_EQ(back->geometry.zone_size, 1u << 30);
  EXPECT_EQ(back->geometry.zone_capacity, 1000u * 512);
  EXPECT_EQ(back->geometry.zone_count, 100000u);
  EXPECT_EQ(back->geometry.max_open, 7u);
  EXPECT_EQ(back->geometry.max_active, 9u);
  EXPECT_TRUE(back->preallocate);
  EXPECT_TRUE(back->geometry.volatile_cache);
}

TEST_F(ZoneFileDeviceTest, BusyNamesTheHolder) {
  device_.reset();
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  char c = 'x';
  if (child == 0) {
    auto held = ZoneFileDevice::OpenPath(tmp_.path(), true);
    c = held.ok() ? 'y' : 'n';
    if (write(ready[1], &c, 1) != 1 || read(done[0], &c, 1) < 0) _exit(1);
    _exit(0);
  }
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, 'y');
  const Status s = Reopen();
  EXPECT_STATUS(s, kBusy);
  EXPECT_THAT(s.message(), HasSubstr("process " + std::to_string(child)));
  EXPECT_OK(ZoneFileDevice::OpenPath(tmp_.path(), false).status());
  ASSERT_EQ(write(done[1], &c, 1), 1);
  int code = 0;
  ASSERT_EQ(waitpid(child, &code, 0), child);
  EXPECT_EQ(code, 0);
  EXPECT_OK(Reopen());
  for (int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
}

// The size limit of a process stands in for a full host: the kernel cuts the write short.
TEST_F(ZoneFileDeviceTest, AWriteThatTheHostCutsShortChangesNothing) {
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, 0, Pattern('a', 2 * kBlock)));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 3 * kBlock + 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status s = WriteString(device_.get(), ZoneId{0}, 2 * kBlock, Pattern('b', 4 * kBlock));
  const Status first = WriteString(device_.get(), ZoneId{1}, 0, Pattern('b', 4 * kBlock));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_STATUS(s, kIoError);
  EXPECT_EQ(fs::file_size(Path(0)), 2 * kBlock);
  EXPECT_EQ(Pointer(0), 2 * kBlock);
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(Report(1).condition, ZoneCondition::kEmpty);
  EXPECT_EQ(fs::file_size(Path(1)), 0u);
  ASSERT_OK(WriteString(device_.get(), ZoneId{0}, 2 * kBlock, Pattern('c', kBlock)));
  EXPECT_EQ(ReadString(device_.get(), ZoneId{0}, 2 * kBlock, kBlock), Pattern('c', kBlock));
}

TEST_F(ZoneFileDeviceTest, ManyZonesOpenFast) {
  Create(EmulatedShape{30000, 1 << 20, 0, kBlock, 0, 0, false});
  device_.reset();
  const auto start = SystemClock()->Now();
  ASSERT_OK(Reopen());
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(SystemClock()->Now() - start).count();
  RecordProperty("open_ms", static_cast<int>(ms));
  std::cout << "open of 30000 zones: " << ms << " ms\n";
  EXPECT_LT(ms, 3000) << "a guard against quadratic work; the aim is 300 ms";
}

}  // namespace
}  // namespace furrow
