// SPDX-License-Identifier: Apache-2.0
//
// Stages of earlier mounts: a file that somebody has put back under the name that the journal states, files that were
// used up and that nobody could remove. Only the stage of the very mount that died last is replayed: nothing that has
// returned is lost, and nothing of before comes back. FURROW_SIM_SEED and FURROW_SIM_STATES give another, or a wider
// run.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/fs/volume.h"
#include "tests/crash/shared_device.h"
#include "tests/testing/seeded_scheduler.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kStates = 60;  // mounts that were compared, in each test
constexpr size_t kMounts = 3;     // that die, on each device

// A device whose mounts die, each with a stage that has something in it. What they have returned is there.
class DyingMounts {
 public:
  explicit DyingMounts(uint64_t seed) : scheduler_(seed), rng_(seed), seed_(seed) {}
  ~DyingMounts() {
    volume_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void Live();
  Status Mount();
  // The process dies: its stage stays as it is, under `directory_` and in stages_.
  void Die();
  // "", or how the mount differs from what was done.
  std::string Compare();
  // Bytes of the stage of dead mount `i`, as the file `name`.
  void PutStage(size_t i, const std::string& name);
  const std::string& StageName(size_t i) const { return stages_[i].first; }
  std::vector<std::string> StagesThere() const;
  // The first that is not "" counts.
  void Fail(const std::string& what) {
    if (violation_.empty() && !what.empty()) violation_ = what + "\ncalls:" + calls_;
  }
  const std::string& violation() const { return violation_; }
  uint64_t Uniform(uint64_t n) { return rng_.Uniform(n); }

 private:
  void OneCall();
  void Append(const std::string& path);
  void Truncate(const std::string& path);
  bool Ok(const Status& status, const std::string& call);

  testing::SeededScheduler scheduler_;  // outlives the mount and its threads
  Rng rng_;
  const uint64_t seed_;
  std::shared_ptr<FaultDevice> device_;
  std::string directory_;
  std::shared_ptr<Volume> volume_;
  std::map<std::string, std::string> model_;
  std::vector<std::pair<std::string, std::string>> stages_;  // name and bytes, by mount
  uint64_t made_ = 0;
  std::string calls_;
  std::string violation_;
};

bool DyingMounts::Ok(const Status& status, const std::string& call) {
  calls_ += " " + call;
  if (!status.ok()) Fail(call + " without any fault: " + status.ToString());
  return status.ok();
}

// Closed without the sync of everything that the last close of a database brings.
void DyingMounts::Append(const std::string& path) {
  Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
  if (!Ok(opened.status(), "open " + path)) return;
  const std::string data(1 + rng_.Uniform(rng_.OneIn(3) ? 20000 : 3000), static_cast<char>('a' + rng_.Uniform(26)));
  if (Ok(opened->writer->Append(data), "append " + std::to_string(data.size()))) model_[path] += data;
  Ok(rng_.OneIn(4) ? opened->writer->Sync() : opened->writer->Flush(), "flush");
  Ok(opened->writer->Close(), "close");
}

void DyingMounts::Truncate(const std::string& path) {
  Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
  if (!Ok(opened.status(), "open " + path)) return;
  const uint64_t size = rng_.Uniform(model_[path].size() + 1);
  if (Ok(opened->writer->Truncate(size), "truncate " + std::to_string(size))) model_[path].resize(size);
  Ok(opened->writer->Close(), "close");
}

void DyingMounts::OneCall() {
  NameSpace& names = volume_->files().names();
  const uint64_t dice = rng_.Uniform(10);
  if (model_.size() < 3 || dice < 2) {
    static constexpr const char* kSuffixes[] = {".sst", ".log", ".dbtmp"};
    return Append("/" + std::to_string(++made_) + kSuffixes[rng_.Uniform(std::size(kSuffixes))]);
  }
  const std::string path = std::next(model_.begin(), static_cast<std::ptrdiff_t>(rng_.Uniform(model_.size())))->first;
  if (dice < 6) return Append(path);
  if (dice < 8) {
    Truncate(path);
  } else if (dice < 9) {
    if (Ok(names.Unlink(path), "unlink " + path)) model_.erase(path);
  } else {
    const std::string to = "/" + std::to_string(++made_) + path.substr(path.find('.'));
    if (!Ok(names.Rename(path, to), "rename " + path + " " + to)) return;
    model_[to] = std::move(model_[path]);
    model_.erase(path);
  }
}

void DyingMounts::Live() {
  const std::filesystem::path memory = "/dev/shm";
  std::string name =
      (access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path()) / "furrow-epochs.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return Fail("no directory for stages: " + name);
  directory_ = name;
  DeviceGeometry geometry;
  geometry.zone_size = geometry.zone_capacity = 256 << 10;
  geometry.zone_count = 64;
  geometry.max_open = geometry.max_active = 14;
  device_ = std::make_shared<FaultDevice>(std::make_unique<MemDevice>(std::make_shared<MemZones>("epochs", geometry)),
                                          seed_, /*volatile_cache=*/false);
  const Status formatted = MetadataLog::Format(device_.get(), FormatOptions{Uuid{1, 2, 3}, "epochs", 1});
  if (!formatted.ok()) return Fail("mkfs: " + formatted.ToString());
  for (size_t i = 0; i < kMounts && violation_.empty(); ++i) {
    if (!Ok(Mount(), "mount")) return;
    if (std::string wrong = Compare(); !wrong.empty()) return Fail(wrong);
    for (uint64_t calls = 5 + rng_.Uniform(15); calls > 0 && violation_.empty(); --calls) OneCall();
    Die();
  }
}

Status DyingMounts::Mount() {
  MountOptions options;
  options.buffer_bytes = 256 << 10;
  options.stage_directory = directory_;
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<SharedDevice>(device_, true), options, NullLogger(), scheduler_.clock());
  if (volume.ok()) volume_ = *volume;
  return volume.status();
}

std::vector<std::string> DyingMounts::StagesThere() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
  return names;
}

void DyingMounts::Die() {
  const std::vector<std::string> names = StagesThere();
  if (names.size() != 1) return Fail(std::to_string(names.size()) + " stages are there, not the one of the mount");
  std::ifstream in(directory_ + "/" + names[0], std::ios::binary);
  stages_.emplace_back(names[0], std::string(std::istreambuf_iterator<char>(in), {}));
  device_->PowerOff();
  // The journal notices; nothing waits for a device that will not answer.
  volume_->files().names().MakeDirectory("/late", false).IgnoreError();
  volume_->files().SyncNames().IgnoreError();
  volume_.reset();
  if (const Status s = device_->PowerLoss(); !s.ok()) return Fail("the end of the process: " + s.ToString());
  PutStage(stages_.size() - 1, names[0]);
}

void DyingMounts::PutStage(size_t i, const std::string& name) {
  const std::string path = directory_ + "/" + name;
  std::ofstream out(path, std::ios::binary);
  out << stages_[i].second;
  out.close();
  if (!out || chmod(path.c_str(), 0600) != 0) Fail(path + " cannot be written");
}

std::string DyingMounts::Compare() {
  std::map<std::string, std::string> found;
  std::string wrong;
  volume_->files().names().ForEach([&](const std::string& path, const NameEntry& entry) {
    if (!entry.file) return;
    std::string content(entry.file->size + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), entry.file, FileOffset(0), content.size(), content.data());
    if (!got.ok()) wrong = path + ": " + got.status().ToString();
    content.resize(got.ok() ? *got : 0);
    found[path] = std::move(content);
  });
  for (const auto& [path, content] : model_) {
    if (found == model_ || !wrong.empty()) break;
    const auto it = found.find(path);
    if (it == found.end()) {
      wrong = path + " is lost";
    } else if (it->second != content) {
      wrong = path + " has " + std::to_string(it->second.size()) + " bytes, not the " + std::to_string(content.size()) +
              " that it had when the process died";
    }
  }
  if (wrong.empty() && found != model_) wrong = "files are back that had been deleted";
  return wrong;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

// `life` returns how many mounts it has compared.
template <typename Life>
void ForSeeds(Life&& life) {
  const uint64_t wanted = FromEnvironment("FURROW_SIM_STATES", kStates);
  uint64_t states = 0;
  for (uint64_t seed = FromEnvironment("FURROW_SIM_SEED", 1); states < wanted; ++seed) {
    DyingMounts mounts(seed);
    mounts.Live();
    states += kMounts;
    if (mounts.violation().empty()) states += life(&mounts);
    EXPECT_EQ(mounts.violation(), "") << "FURROW_SIM_SEED=" << seed << " repeats it";
    if (::testing::Test::HasFailure()) break;
  }
  std::printf("%llu states\n", static_cast<unsigned long long>(states));
}

// The name is right, and all else: but not the epoch, nor the token.
TEST(StageEpochTest, AnEarlierStageUnderTheNameOfTheLast) {
  ForSeeds([](DyingMounts* mounts) {
    const std::string& name = mounts->StageName(kMounts - 1);
    const size_t earlier = mounts->Uniform(kMounts - 1);
    mounts->PutStage(earlier, name);
    const Status refused = mounts->Mount();
    if (refused.ok()) {
      const std::string wrong = mounts->Compare();
      mounts->Fail("the stage of mount " + std::to_string(earlier) +
                   " was replayed as that of the last: " + (wrong.empty() ? "by chance all is there" : wrong));
    } else if (refused.code() != StatusCode::kCorruption) {
      mounts->Fail("mount: " + refused.ToString());
    }
    if (!mounts->violation().empty()) return 1;
    // Nothing was changed: with the right one all is there.
    mounts->PutStage(kMounts - 1, name);
    const Status mounted = mounts->Mount();
    mounts->Fail(mounted.ok() ? mounts->Compare() : "mount: " + mounted.ToString());
    return 2;
  });
}

TEST(StageEpochTest, StagesThatWereUsedUpAndNotRemoved) {
  ForSeeds([](DyingMounts* mounts) {
    for (size_t i = 0; i + 1 < kMounts; ++i) mounts->PutStage(i, mounts->StageName(i));
    const Status mounted = mounts->Mount();
    mounts->Fail(mounted.ok() ? mounts->Compare() : "mount: " + mounted.ToString());
    const size_t left = mounts->StagesThere().size();
    if (left != 1) mounts->Fail(std::to_string(left) + " stages are left");
    return 1;
  });
}

}  // namespace
}  // namespace furrow
