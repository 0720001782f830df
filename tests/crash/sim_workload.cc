// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/sim_workload.h"

#include <algorithm>
#include <map>

#include "plugin/zone/zone_manager.h"
#include "tests/crash/crash_run.h"

namespace furrow {
namespace {

using When = CrashEvent::When;

CrashShape WithCache(uint64_t seed) {
  CrashShape shape;
  shape.volatile_cache = seed % 5 != 0;
  return shape;
}

CrashShape WithStage(uint64_t) {
  CrashShape shape;
  shape.stage = true;
  return shape;
}

// A journal that is for ever at its next checkpoint.
CrashShape Checkpoints(uint64_t seed) {
  CrashShape shape;
  shape.checkpoint_bytes = 8 << 10;
  shape.mix = kMixNames;
  shape.stage = seed % 3 == 0;
  return shape;
}

// 40 x 4 KiB of small files in zones of 64 KiB: three zones for a checkpoint.
CrashShape BigCheckpoint(uint64_t seed) {
  CrashShape shape;
  shape.zones = 128;
  shape.zone_bytes = 64 << 10;
  shape.small_files = 40;
  shape.checkpoint_bytes = 64 << 10;
  shape.mix = kMixNames;
  shape.slots = seed % 2 == 0 ? 14 : 6;
  return shape;
}

// Few small zones and few slots: zones fill up, are finished, closed and reset all the time.
CrashShape SmallZones(uint64_t seed) {
  CrashShape shape;
  shape.zones = static_cast<uint32_t>(MinimumZones() + 6 + seed % 24);
  shape.zone_bytes = (64 << 10) << seed % 3;
  shape.slots = static_cast<uint32_t>(4 + seed % 6);
  shape.mix = kMixSpace;
  return shape;
}

CrashShape Updates(uint64_t seed) {
  CrashShape shape = WithCache(seed);
  shape.mix = kMixUpdates;
  return shape;
}

CrashShape StagedUpdates(uint64_t seed) {
  CrashShape shape = WithStage(seed);
  shape.mix = kMixUpdates;
  return shape;
}

std::vector<CrashEvent> PowerLosses() {
  CrashEvent blocks, sectors;
  sectors.tear_unit = 512;
  sectors.variant = 1;
  return {blocks, sectors};
}

CrashEvent EndingIn(CrashEnd end, When when, uint64_t variant = 0) {
  CrashEvent event;
  event.end = end;
  event.when = when;
  event.variant = variant;
  return event;
}

std::vector<CrashEvent> Failures(std::vector<FaultAction> actions, When when, CrashEnd end) {
  std::vector<CrashEvent> events;
  for (const FaultAction action : actions) {
    CrashEvent& event = events.emplace_back();
    event.action = action;
    event.when = when;
    event.end = end;
  }
  return events;
}

std::vector<CrashEvent> Flips() {
  std::vector<CrashEvent> events;
  for (uint64_t variant = 0; variant < 4; ++variant) {
    CrashEvent& event = events.emplace_back();
    event.when = When::kStop;
    event.flip = true;
    event.end = variant == 3 ? CrashEnd::kPowerLoss : CrashEnd::kCleanExit;
    event.variant = variant * 3 + 2;  // the clean ones unmount
  }
  return events;
}

const std::vector<FaultAction> kFailures{FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kShortWrite,
                                         FaultAction::kTornWrite};

std::vector<SimWorkload> Make() {
  std::vector<SimWorkload> w;
  w.push_back({"calls", "every kind of call; the power goes at each change", false, WithCache, PowerLosses()});
  w.push_back({"staged", "the same with a stage, which goes with the power", false, WithStage, PowerLosses()});
  w.push_back({"process-death",
               "the process dies at each change, the stage stays",
               false,
               WithStage,
               {EndingIn(CrashEnd::kProcessDeath, When::kChange)}});
  w.push_back({"crash-points",
               "the process dies at each crash point, the stage stays",
               false,
               WithStage,
               {EndingIn(CrashEnd::kProcessDeath, When::kCrashPoint)}});
  w.push_back({"clean-exit",
               "all is closed, or the process exits; then the power goes, and the stage",
               false,
               WithStage,
               {EndingIn(CrashEnd::kCleanExit, When::kStop, 0), EndingIn(CrashEnd::kCleanExit, When::kStop, 1),
                EndingIn(CrashEnd::kCleanExit, When::kStop, 2)}});
  w.push_back({"checkpoints", "a checkpoint is always under way", false, Checkpoints, PowerLosses()});
  w.push_back({"big-checkpoint", "checkpoints of three zones", false, BigCheckpoint, PowerLosses()});
  w.push_back({"zones", "small zones and few slots: full, finish, close, reset", false, SmallZones, PowerLosses()});
  w.push_back({"updates", "random writes, rewrites, truncates", false, Updates, PowerLosses()});
  w.push_back({"staged-updates",
               "the same with a stage; the process dies",
               false,
               StagedUpdates,
               {EndingIn(CrashEnd::kProcessDeath, When::kChange), EndingIn(CrashEnd::kProcessDeath, When::kCrashPoint),
                EndingIn(CrashEnd::kPowerLoss, When::kChange)}});
  w.push_back({"failures", "one change fails: not done, done, short, torn", true, WithCache,
               Failures(kFailures, When::kChange, CrashEnd::kPowerLoss)});
  w.push_back({"staged-failures", "the same with a stage; then the process dies", true, WithStage,
               Failures(kFailures, When::kChange, CrashEnd::kProcessDeath)});
  w.push_back({"read-errors", "one read fails", true, Updates,
               Failures({FaultAction::kFail}, When::kRead, CrashEnd::kPowerLoss)});
  w.push_back({"mount-errors", "one call of the mount fails", true, WithCache,
               Failures({FaultAction::kFail}, When::kMount, CrashEnd::kPowerLoss)});
  w.push_back({"read-only-zones", "a zone turns read-only", true, SmallZones,
               Failures({FaultAction::kZoneReadOnly}, When::kChange, CrashEnd::kPowerLoss)});
  w.push_back({"offline-zones", "a zone goes offline, with all that is in it", true, WithCache,
               Failures({FaultAction::kZoneOffline}, When::kChange, CrashEnd::kPowerLoss)});
  w.push_back({"flipped-bits", "a bit of a written block changes", true, WithCache, Flips()});
  return w;
}

}  // namespace

const std::vector<SimWorkload>& SimWorkloads() {
  static const std::vector<SimWorkload> workloads = Make();
  return workloads;
}

const SimWorkload* FindWorkload(std::string_view name) {
  const auto& all = SimWorkloads();
  const auto it = std::find_if(all.begin(), all.end(), [name](const SimWorkload& w) { return w.name == name; });
  return it == all.end() ? nullptr : &*it;
}

SimResult RunSeed(const SimWorkload& workload, uint64_t seed, SimPlace only,
                  const std::function<bool(uint64_t)>& more) {
  SimResult result;
  const CrashShape shape = workload.shape(seed);
  std::vector<uint64_t> places;  // of each event
  std::map<std::pair<int, int>, uint64_t> counted;
  for (const CrashEvent& event : workload.events) {
    const auto [it, fresh] = counted.try_emplace({static_cast<int>(event.when), static_cast<int>(event.end)}, 0);
    if (fresh) it->second = CrashRun(shape, seed).Count(event);
    places.push_back(it->second);
  }
  const uint64_t last = *std::max_element(places.begin(), places.end());
  for (uint64_t at = std::max<uint64_t>(only.at, 1); at <= (only.at ? only.at : last); ++at) {
    for (size_t i = 0; i < workload.events.size(); ++i) {
      if (at > places[i] || (only.at != 0 && only.event != i)) continue;
      CrashEvent event = workload.events[i];
      event.at = at;
      CrashRun run(shape, seed, event.variant);
      const bool met = run.Live(event);
      result.states += run.states();
      ++result.lives;
      result.violation = run.violation();
      if (result.violation.empty() && !met) result.violation = "the run was not repeated";
      if (!result.violation.empty()) {
        result.violation = event.Describe() + "\n" + result.violation;
        result.place = {at, i};
        return result;
      }
      if (!more(result.states)) return result;
    }
  }
  return result;
}

}  // namespace furrow
