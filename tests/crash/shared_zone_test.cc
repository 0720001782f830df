// SPDX-License-Identifier: Apache-2.0
//
// Logs that share zones: frames that one of them has written without a flush lie before frames that another one has
// synced, and are lost with the power. Whatever was synced is found behind the hole. FURROW_SIM_SEED and
// FURROW_SIM_STATES give another, or a wider run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/drainer.h"
#include "plugin/file/file_reader.h"
#include "plugin/fs/volume.h"
#include "tests/crash/shared_device.h"
#include "tests/testing/seeded_scheduler.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kStates = 200;  // mounts that were compared
constexpr size_t kLogs = 3;

struct Log {
  std::string path;
  OpenedWriter opened;
  std::string content;
  uint64_t synced = 0;  // bytes
};

class SharedZones {
 public:
  explicit SharedZones(uint64_t seed) : scheduler_(seed), rng_(seed) {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    geometry.zone_count = 32;
    geometry.max_open = geometry.max_active = 4;  // one for logs
    device_ =
        std::make_shared<FaultDevice>(std::make_unique<MemDevice>(std::make_shared<MemZones>("logs", geometry)), seed);
  }

  // Work, a power cut, a mount. "", or what is wrong.
  std::string Live();

 private:
  Status Mount();
  Status Create();
  Status OneCall();
  std::string Compare(const Log& log);

  testing::SeededScheduler scheduler_;  // outlives the mount and its threads
  Rng rng_;
  std::shared_ptr<FaultDevice> device_;
  std::shared_ptr<Volume> volume_;
  std::vector<Log> logs_;
};

Status SharedZones::Mount() {
  MountOptions options;
  options.buffer_bytes = 128 << 10;  // more is drained without a flush
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<SharedDevice>(device_), options, NullLogger(), scheduler_.clock());
  if (volume.ok()) volume_ = *volume;
  return volume.status();
}

Status SharedZones::Create() {
  FURROW_RETURN_IF_ERROR(MetadataLog::Format(device_.get(), FormatOptions{Uuid{1, 2, 3}, "logs", 1}));
  FURROW_RETURN_IF_ERROR(Mount());
  for (size_t i = 0; i < kLogs; ++i) {
    Log log;
    log.path = "/" + std::to_string(i) + ".log";
    FURROW_ASSIGN_OR_RETURN(log.opened, volume_->files().Create(log.path, FileKind::kWal));
    logs_.push_back(std::move(log));
  }
  return volume_->files().SyncNames();
}

Status SharedZones::OneCall() {
  Log& log = logs_[rng_.Uniform(kLogs)];
  const bool large = rng_.OneIn(2);
  const std::string data(1 + rng_.Uniform(large ? 200000 : 2000), static_cast<char>('a' + rng_.Uniform(26)));
  log.content += data;
  FURROW_RETURN_IF_ERROR(log.opened.writer->Append(data));
  if (large) {
    volume_->engine().drainer->Kick();
    scheduler_.RunOthers();
    return Status::Ok();
  }
  FURROW_RETURN_IF_ERROR(log.opened.writer->Sync());
  log.synced = log.content.size();
  return Status::Ok();
}

std::string SharedZones::Compare(const Log& log) {
  const Result<FileHandle> handle = volume_->files().OpenForRead(log.path);
  if (!handle.ok()) return log.path + ": " + handle.status().ToString();
  std::string found(handle->file()->size + 10, '?');
  const Result<size_t> got = ReadFile(volume_->engine(), handle->file(), FileOffset(0), found.size(), found.data());
  if (!got.ok()) return log.path + ": " + got.status().ToString();
  found.resize(*got);
  if (found.size() >= log.synced && log.content.starts_with(found)) return "";
  return log.path + " has " + std::to_string(found.size()) + " bytes; synced were " + std::to_string(log.synced);
}

std::string SharedZones::Live() {
  if (const Status s = Create(); !s.ok()) return "create: " + s.ToString();
  for (uint64_t calls = 2 + rng_.Uniform(8); calls > 0; --calls) {
    if (const Status s = OneCall(); !s.ok()) return "without any fault: " + s.ToString();
  }
  device_->PowerOff();
  logs_.front().opened.writer->Sync().IgnoreError();  // nothing waits for a device that will not answer
  for (Log& log : logs_) log.opened = OpenedWriter();
  volume_.reset();
  if (const Status s = device_->PowerLoss(); !s.ok()) return "the simulated power loss: " + s.ToString();
  if (const Status s = Mount(); !s.ok()) return "mount: " + s.ToString();
  for (const Log& log : logs_) {
    if (std::string wrong = Compare(log); !wrong.empty()) return wrong;
  }
  return "";
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

TEST(SharedZoneTest, WhatWasSyncedBehindWhatWasLost) {
  const uint64_t wanted = FromEnvironment("FURROW_SIM_STATES", kStates);
  const uint64_t first = FromEnvironment("FURROW_SIM_SEED", 1);
  uint64_t states = 0;
  for (uint64_t seed = first; states < wanted && !HasFailure(); ++seed, ++states) {
    const std::string violation = SharedZones(seed).Live();
    EXPECT_EQ(violation, "") << "FURROW_SIM_SEED=" << seed << " repeats it";
  }
  std::printf("%llu states\n", static_cast<unsigned long long>(states));
}

}  // namespace
}  // namespace furrow
