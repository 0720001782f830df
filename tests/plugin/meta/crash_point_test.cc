// SPDX-License-Identifier: Apache-2.0
//
// A crash at every named point of a busy life: what had been acknowledged is there at the next mount,
// and that mount can go on.
#include "util/crash_point.h"

#include <set>

#include "tests/plugin/meta/meta_test_util.h"

namespace furrow::testing {
namespace {

// Lets a copy see the device between two calls, never in the middle of one.
class CutDevice final : public ZonedDevice {
 public:
  explicit CutDevice(const std::shared_ptr<MemZones>& memory)
      : ZonedDevice("cut", memory->geometry()), inner_(memory) {}
  std::string Identity() const override { return inner_.Identity(); }
  std::shared_ptr<MemZones> Cut() {
    MutexLock lock(mu_);
    return CopyDevice(&inner_);
  }

 private:
  Status ReportImpl(ZoneId f, uint32_t n, std::vector<ZoneReport>* out) override { return inner_.Report(f, n, out); }
  Status ReadImpl(ZoneId z, ZoneOffset o, size_t n, char* d) override { return inner_.Read(z, o, n, d); }
  Status WriteImpl(ZoneId z, ZoneOffset o, ConstBuffers p, bool durable) override {
    MutexLock lock(mu_);
    return durable ? inner_.WriteDurable(z, o, p) : inner_.Write(z, o, p);
  }
  Status FlushImpl(std::span<const ZoneId> z) override { return inner_.Flush(z); }
  Status OpenImpl(ZoneId z, ZoneUse u) override { return inner_.Open(z, u); }
  Status CloseImpl(ZoneId z) override { return inner_.Close(z); }
  Result<uint64_t> FinishImpl(ZoneId z) override {
    MutexLock lock(mu_);
    FURROW_RETURN_IF_ERROR(inner_.Finish(z));
    return uint64_t{0};
  }
  Status ResetImpl(ZoneId z) override {
    MutexLock lock(mu_);
    return inner_.Reset(z);
  }

  MemDevice inner_;
  Mutex mu_;
};

using Contents = std::map<uint64_t, std::string>;

// What the handler sees. One at a time: crash_point_handler has no argument for it.
struct Scene {
  struct Shot {
    std::string name;
    std::shared_ptr<MemZones> memory;
    size_t acknowledged = 0;  // index in the history, before the copy
    size_t pending = 0;       // after it: with the change being made
  };
  Mutex mu;
  CutDevice* device GUARDED_BY(mu) = nullptr;
  std::vector<Contents> history GUARDED_BY(mu);  // the state after each change
  size_t acknowledged GUARDED_BY(mu) = 0;
  std::vector<Shot> shots GUARDED_BY(mu);
  std::map<std::string, int> hits GUARDED_BY(mu);
};
Scene scene;

constexpr int kShotsOfAName = 60;

void Shoot(const char* name) {
  CutDevice* device = nullptr;
  Scene::Shot shot;
  {
    MutexLock lock(scene.mu);
    device = scene.device;
    if (device == nullptr || ++scene.hits[name] > kShotsOfAName) return;
    shot.acknowledged = scene.acknowledged;
  }
  shot.name = name;
  shot.memory = device->Cut();
  MutexLock lock(scene.mu);
  shot.pending = scene.history.size() - 1;
  scene.shots.push_back(std::move(shot));
}

// One of the states from `first` to `last`. A new file is created by one record and filled by the next.
bool IsBetween(const Contents& found, const std::vector<Contents>& history, size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i) {
    if (found == history[i]) return true;
    if (i == last) break;
    for (const auto& [id, content] : history[i + 1]) {
      Contents created = history[i];
      if (created.emplace(id, "").second && found == created) return true;
    }
  }
  return false;
}

class CrashPointTest : public ::testing::Test {
 protected:
  ~CrashPointTest() override {
    crash_point_handler = nullptr;
    MutexLock lock(scene.mu);
    scene.device = nullptr;
    scene.shots.clear();
    scene.history.clear();
    scene.acknowledged = 0;
  }
  void SetPending(const Contents& c) {
    MutexLock lock(scene.mu);
    scene.history.push_back(c);
  }
  void Acknowledge() {
    MutexLock lock(scene.mu);
    scene.acknowledged = scene.history.size() - 1;
  }
  // One mount with creates, changes, removes, rolls and checkpoints.
  void Live(const std::shared_ptr<MemZones>& memory, uint64_t life) {
    auto cut = std::make_unique<CutDevice>(memory);
    {
      MutexLock lock(scene.mu);
      scene.device = cut.get();
    }
    TestMount mount(std::move(cut));
    ASSERT_OK(mount.Mount());
    Rng rng(life + 1);
    for (uint64_t i = 0; i < 60; ++i) {
      Contents next = mount.model()->Contents();
      const uint64_t id = 2 + rng.Uniform(8);
      const bool remove = next.count(id) != 0 && rng.OneIn(3);
      const std::string content = std::to_string(life * 1000 + i) + std::string(rng.Uniform(6000), '.');
      if (remove) {
        next.erase(id);
      } else {
        next[id] = content;
      }
      SetPending(next);
      const Sequence s = remove                                ? mount.model()->Remove(mount.log(), id)
                         : mount.model()->Contents().count(id) ? mount.model()->Set(mount.log(), id, content)
                                                               : mount.model()->Create(mount.log(), id, content);
      ASSERT_OK(mount.log()->Sync(s));
      Acknowledge();
      if (i % 20 == 19) {
        ASSERT_OK(mount.log()->Checkpoint());
      }
    }
    ASSERT_OK(mount.zones()->WaitForResets());
    ASSERT_OK(mount.Unmount());
    MutexLock lock(scene.mu);
    scene.device = nullptr;
  }
};

TEST_F(CrashPointTest, AcknowledgedChangesSurviveEveryOne) {
  auto memory = FormatMemory(MetaGeometry(20, 16));
  SetPending({});
  crash_point_handler = &Shoot;
  for (uint64_t life = 0; life < 3; ++life) Live(memory, life);
  crash_point_handler = nullptr;

  std::vector<Scene::Shot> shots;
  std::vector<Contents> history;
  {
    MutexLock lock(scene.mu);
    shots.swap(scene.shots);
    history = scene.history;
  }
  std::set<std::string> names;
  for (const Scene::Shot& shot : shots) {
    SCOPED_TRACE(shot.name);
    names.insert(shot.name);
    TestMount mount(shot.memory);
    ASSERT_OK(mount.Mount());
    const Contents found = mount.model()->Contents();
    EXPECT_TRUE(IsBetween(found, history, shot.acknowledged, shot.pending))
        << "after " << shot.acknowledged << " to " << shot.pending << " changes";
    ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 99, "goes on")));
    ASSERT_OK(mount.log()->Checkpoint());
    ASSERT_OK(mount.Unmount());
  }
  const std::set<std::string> expected = {
      "checkpoint.begun",    "checkpoint.chunk",      "checkpoint.complete",  "checkpoint.released",
      "checkpoint.switched", "checkpoint.verified",   "journal.group.before", "journal.group.durable",
      "journal.zone.listed", "journal.zone.rolled",   "mount.epoch_durable",  "superblock.before",
      "superblock.durable",  "superblock.zone_reset", "unmount.synced",       "zone.resets_committed"};
  EXPECT_EQ(names, expected);
}

// mkfs over an old file system: the old one, none, or the new one, never a mixture.
TEST_F(CrashPointTest, Mkfs) {
  auto memory = FormatMemory(MetaGeometry(20, 16));
  {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2, "old")));
    ASSERT_OK(mount.Unmount());
  }
  CutDevice device(memory);
  {
    MutexLock lock(scene.mu);
    scene.device = &device;
  }
  crash_point_handler = &Shoot;
  FormatOptions options;
  options.uuid = {7};
  ASSERT_OK(MetadataLog::Format(&device, options));
  crash_point_handler = nullptr;
  MutexLock lock(scene.mu);
  EXPECT_EQ(scene.shots.size(), 3u);
  for (const Scene::Shot& shot : scene.shots) {
    TestMount mount(shot.memory);
    const Status s = mount.Replay();
    if (shot.name == "mkfs.superblock_durable") {
      EXPECT_OK(s);
      EXPECT_TRUE(mount.model()->Contents().empty());
    } else {
      EXPECT_EQ(s.code(), StatusCode::kNotFound) << shot.name;
    }
  }
}

}  // namespace
}  // namespace furrow::testing
