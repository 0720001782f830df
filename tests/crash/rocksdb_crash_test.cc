// SPDX-License-Identifier: Apache-2.0
//
// A real RocksDB with all its threads, once; then the power goes at many moments of what it did to the device, and each
// time the database must open and hold every synced batch, whole, and nothing that was never written.
// FURROW_CRASH_SEED, FURROW_CRASH_STATES. What has failed is kept as a file, from which the printed command repeats it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "plugin/device/mem_device.h"
#include "plugin/fs/rocksdb_file_system.h"
#include "rocksdb/db.h"
#include "tests/testing/recording_device.h"
#include "util/coding.h"
#include "util/rng.h"

namespace furrow {
namespace {

using testing::CallLog;
using testing::RecordingDevice;

constexpr int kThreads = 3;
constexpr int kKeys = 60;      // of a thread
constexpr int kBatches = 400;  // of a thread

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

DeviceGeometry Geometry() {
  DeviceGeometry g;
  g.zone_size = g.zone_capacity = 512 << 10;
  g.zone_count = 128;
  g.max_open = g.max_active = 14;
  g.volatile_cache = true;
  return g;
}

// What thread `thread` writes in batch `number`, from 1 on: three keys, of which two change from batch to batch.
std::map<std::string, std::string> BatchOf(int thread, int number) {
  std::map<std::string, std::string> out;
  Rng rng(static_cast<uint64_t>(thread) * 1000003 + static_cast<uint64_t>(number));
  for (int i = 0; i < 3; ++i) {
    const std::string key = "t" + std::to_string(thread) + "-" + std::to_string(i == 0 ? 0 : rng.Uniform(kKeys));
    out[key] = std::to_string(number) + ":" + std::string(rng.Uniform(900), static_cast<char>('a' + number % 26));
  }
  return out;
}

// A database on a device, which the mount owns.
class Database {
 public:
  explicit Database(std::unique_ptr<ZonedDevice> device) {
    Result<std::shared_ptr<Volume>> mounted =
        Volume::MountDevice(std::move(device), MountOptions(), NullLogger(), SystemClock());
    if (!mounted.ok()) {
      why_ = "mount: " + mounted.status().ToString();
      return;
    }
    MountPoint::Parts parts;
    parts.name = "crash";
    parts.mode = MountMode::kReadWrite;
    parts.clock = SystemClock();
    parts.find = [volume = *mounted] { return volume; };
    parts.mount = [volume = *mounted] { return Result<std::shared_ptr<Volume>>(volume); };
    env_ =
        rdb::NewCompositeEnv(std::make_shared<FurrowFileSystem>("furrow://crash", MountPoint::Make(std::move(parts))));
    rdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.write_buffer_size = 48 << 10;
    options.target_file_size_base = 64 << 10;
    options.max_bytes_for_level_base = 128 << 10;
    options.level0_file_num_compaction_trigger = 2;
    options.max_manifest_file_size = 4 << 10;  // CURRENT is replaced often
    options.paranoid_checks = true;
    rdb::DB* db = nullptr;
    const rdb::Status opened = rdb::DB::Open(options, "/db", &db);
    if (!opened.ok()) why_ = "open: " + opened.ToString();
    db_.reset(db);
  }
  rdb::DB* db() { return db_.get(); }
  const std::string& why() const { return why_; }

 private:
  std::string why_;  // there is no database
  std::unique_ptr<rdb::Env> env_;
  std::unique_ptr<rdb::DB> db_;
};

struct Acknowledged {
  uint64_t moment = 0;
  int thread = 0, number = 0;
};

class RocksDbCrashTest : public ::testing::Test {
 protected:
  static std::unique_ptr<FaultDevice> NewDevice(uint64_t seed) {
    return std::make_unique<FaultDevice>(std::make_unique<MemDevice>(std::make_shared<MemZones>("crash", Geometry())),
                                         seed);
  }

  void RunWorkload() {
    std::unique_ptr<ZonedDevice> device = std::make_unique<RecordingDevice>(NewDevice(1), log_);
    ASSERT_TRUE(MetadataLog::Format(device.get(), FormatOptions{Uuid{1, 2, 3}, "crash", 1}).ok());
    formatted_ = log_->now();
    Database database(std::move(device));
    ASSERT_EQ(database.why(), "");
    Mutex mu;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int number = 1; number <= kBatches; ++number) {
          rdb::WriteBatch batch;
          for (const auto& [key, value] : BatchOf(t, number)) batch.Put(key, value).PermitUncheckedError();
          rdb::WriteOptions options;
          options.sync = number % 3 == 0;
          const rdb::Status status = database.db()->Write(options, &batch);
          ASSERT_TRUE(status.ok()) << status.ToString();
          MutexLock lock(mu);
          if (options.sync) acknowledged_.push_back({log_->now(), t, number});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // "" if the database of this device holds what it must at `moment`.
  std::string Judge(uint64_t moment, Database* database) const {
    std::map<std::string, std::string> found;
    std::unique_ptr<rdb::Iterator> it(database->db()->NewIterator(rdb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) found[it->key().ToString()] = it->value().ToString();
    if (!it->status().ok()) return "scan: " + it->status().ToString();
    for (int t = 0; t < kThreads; ++t) {
      int least = 0;
      for (const Acknowledged& a : acknowledged_) {
        if (a.thread == t && a.moment <= moment) least = std::max(least, a.number);
      }
      // Key 0 is in each batch, so it tells how far this thread has come.
      const std::string prefix = "t" + std::to_string(t) + "-";
      const auto newest = found.find(prefix + "0");
      const int reached = newest == found.end() ? 0 : std::atoi(newest->second.c_str());
      if (reached < least) {
        return "thread " + std::to_string(t) + ": batch " + std::to_string(least) + " was synced, found is " +
               std::to_string(reached);
      }
      std::map<std::string, std::string> expected;
      for (int number = 1; number <= reached; ++number) {
        for (const auto& [key, value] : BatchOf(t, number)) expected[key] = value;
      }
      std::map<std::string, std::string> of_thread;
      for (const auto& [key, value] : found) {
        if (key.starts_with(prefix)) of_thread[key] = value;
      }
      if (of_thread != expected) return "thread " + std::to_string(t) + ": not what its batches make";
    }
    return "";
  }

  // "" if the database is as it must be behind a power cut at a moment that seed and state decide.
  std::string TryState(uint64_t seed, uint64_t state) const {
    Rng rng(seed * 1000003 + state);
    const uint64_t moment = formatted_ + rng.Uniform(log_->now() - formatted_);
    std::unique_ptr<FaultDevice> device = NewDevice(rng.Next());
    Status status = log_->Replay(moment, rng.Next(), device.get());
    if (status.ok()) status = device->PowerLoss();
    if (!status.ok()) return "the simulated power loss: " + status.ToString();
    Database database(std::move(device));
    const std::string wrong = database.why().empty() ? Judge(moment, &database) : database.why();
    return wrong.empty() ? wrong : "moment " + std::to_string(moment) + ": " + wrong;
  }

  std::string Encode() const {
    std::string out;
    PutVarint(&out, formatted_);
    PutVarint(&out, acknowledged_.size());
    for (const Acknowledged& a : acknowledged_) {
      PutVarint(&out, a.moment);
      PutVarint(&out, static_cast<uint64_t>(a.thread));
      PutVarint(&out, static_cast<uint64_t>(a.number));
    }
    PutString(&out, log_->Encode());
    return out;
  }

  bool Decode(const std::string& encoded) {
    Decoder in(encoded);
    formatted_ = in.Varint();
    acknowledged_.clear();
    for (uint64_t left = in.Varint(); left > 0 && !in.failed(); --left) {
      Acknowledged& a = acknowledged_.emplace_back();
      a.moment = in.Varint();
      a.thread = static_cast<int>(in.Varint());
      a.number = static_cast<int>(in.Varint());
    }
    return log_->Decode(in.String()).ok() && in.Done();
  }

  const std::shared_ptr<CallLog> log_ = std::make_shared<CallLog>();
  uint64_t formatted_ = 0;  // moment
  std::vector<Acknowledged> acknowledged_;
};

TEST_F(RocksDbCrashTest, EverySyncedBatchSurvivesEveryPowerCut) {
  const uint64_t seed = FromEnvironment("FURROW_CRASH_SEED", 20261201);
  const uint64_t states = FromEnvironment("FURROW_CRASH_STATES", 150);
  const char* const kept = std::getenv("FURROW_CRASH_RUN");
  std::printf("FURROW_CRASH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::string run;
  if (kept != nullptr) {
    std::ifstream in(kept, std::ios::binary);
    run.assign(std::istreambuf_iterator<char>(in), {});
  } else {
    RunWorkload();
    if (HasFatalFailure()) return;
    run = Encode();
  }
  ASSERT_TRUE(Decode(run)) << (kept ? kept : "what was just encoded");  // always, so that a kept run is as good
  const uint64_t first = FromEnvironment("FURROW_CRASH_STATE", 0);
  const uint64_t last = kept ? first + 1 : states;
  for (uint64_t state = first; state < last; ++state) {
    const std::string wrong = TryState(seed, state);
    if (wrong.empty()) continue;
    const std::string path = kept ? kept : (std::filesystem::temp_directory_path() / "furrow-crash.run").string();
    if (kept == nullptr) std::ofstream(path, std::ios::binary) << run;
    FAIL() << wrong << "\nrepeat it: FURROW_CRASH_RUN=" << path << " FURROW_CRASH_SEED=" << seed
           << " FURROW_CRASH_STATE=" << state << " rocksdb_crash_test";
  }
  std::printf("rocksdb: %llu states, power cuts in %llu moments\n", static_cast<unsigned long long>(last - first),
              static_cast<unsigned long long>(log_->now() - formatted_));
}

}  // namespace
}  // namespace furrow
