// SPDX-License-Identifier: Apache-2.0
//
// furrow_sim: the crash simulator as a program. Runs workloads, seed after seed, each workload as many states as the
// others, until there are enough or the time is over. With --json the result is kept in a file, and a run that was
// interrupted goes on from there. Exit 1: a violation was found.
#include <gflags/gflags.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/crash/sim_workload.h"

DEFINE_string(workload, "all", "a workload, or: all, crash, media");
DEFINE_uint64(seed, 1, "the first seed");
DEFINE_uint64(states, 1000, "end behind so many states in all; 0: never");
DEFINE_double(minutes, 0, "end behind so many minutes in all; 0: never");
DEFINE_uint64(at, 0, "only this place of the seed");
DEFINE_uint64(event, 0, "only this event there");
DEFINE_string(json, "", "file that keeps the result; an interrupted run goes on with it");
DEFINE_bool(list, false, "list the workloads");

namespace furrow {
namespace {

constexpr int kSchemaVersion = 1;
constexpr size_t kMostViolations = 20;

// What has been done of one workload.
struct Progress {
  const SimWorkload* workload = nullptr;
  uint64_t next_seed = 0;
  uint64_t states = 0;
  uint64_t lives = 0;
};

class Simulation {
 public:
  explicit Simulation(std::vector<const SimWorkload*> workloads) {
    for (const SimWorkload* w : workloads) progress_.push_back({w, FLAGS_seed, 0, 0});
    begin_ = std::chrono::steady_clock::now();
  }

  // False: the file is of another run.
  bool Resume() {
    std::ifstream in(FLAGS_json);
    if (FLAGS_json.empty() || !in) return true;
    const nlohmann::json was = nlohmann::json::parse(in, nullptr, false);
    if (was.is_discarded() || was.value("schema", "") != "furrow.sim" || was.value("version", 0) != kSchemaVersion ||
        was.value("seed", uint64_t{0}) != FLAGS_seed || was.value("selection", "") != FLAGS_workload) {
      return false;
    }
    seconds_before_ = was.value("seconds", 0.0);
    violations_ = was.value("violations", nlohmann::json::array());
    for (Progress& p : progress_) {
      const auto it = was["workloads"].find(p.workload->name);
      if (it == was["workloads"].end()) continue;
      p = {p.workload, it->value("next_seed", FLAGS_seed), it->value("states", uint64_t{0}),
           it->value("lives", uint64_t{0})};
    }
    return true;
  }

  void Run() {
    while (!Over(0)) {
      Progress* least = &progress_[0];
      for (Progress& p : progress_) {
        if (p.states < least->states) least = &p;
      }
      RunOne(least);
      Save();
    }
  }

  // The exit code.
  int Report() const {
    uint64_t states = 0;
    for (const Progress& p : progress_) {
      std::printf("%-16s %10" PRIu64 " states  %8" PRIu64 " devices  %6" PRIu64 " seeds  %s\n",
                  p.workload->name.c_str(), p.states, p.lives, p.next_seed - FLAGS_seed, p.workload->what.c_str());
      states += p.states;
    }
    std::printf("%" PRIu64 " states, %zu violations, %.1f s, seeds from %" PRIu64 "\n", states, violations_.size(),
                Seconds(), FLAGS_seed);
    return violations_.empty() ? 0 : 1;
  }

 private:
  double Seconds() const {
    return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  bool Over(uint64_t states) const {
    for (const Progress& p : progress_) states += p.states;
    return violations_.size() >= kMostViolations || (FLAGS_states != 0 && states >= FLAGS_states) ||
           (FLAGS_minutes > 0 && Seconds() >= FLAGS_minutes * 60);
  }

  void RunOne(Progress* p) {
    const SimPlace only{FLAGS_at, FLAGS_event};
    const SimResult result =
        RunSeed(*p->workload, p->next_seed, only, [this](uint64_t of_seed) { return !Over(of_seed); });
    p->states += result.states;
    p->lives += result.lives;
    if (!result.violation.empty()) Note(*p, result);
    ++p->next_seed;
    if (FLAGS_at != 0) FLAGS_states = 1;  // that was all
  }

  void Note(const Progress& p, const SimResult& result) {
    const std::string repeat = "furrow_sim --workload=" + p.workload->name + " --seed=" + std::to_string(p.next_seed) +
                               " --at=" + std::to_string(result.place.at) +
                               " --event=" + std::to_string(result.place.event);
    std::printf("VIOLATION: %s\n%s\n", repeat.c_str(), result.violation.c_str());
    std::fflush(stdout);
    violations_.push_back({{"repeat", repeat}, {"text", result.violation}});
  }

  void Save() const {
    if (FLAGS_json.empty()) return;
    nlohmann::json out = {{"schema", "furrow.sim"},
                          {"version", kSchemaVersion},
                          {"selection", FLAGS_workload},
                          {"seed", FLAGS_seed},
                          {"seconds", Seconds()},
                          {"violations", violations_},
                          {"workloads", nlohmann::json::object()}};
    uint64_t states = 0;
    for (const Progress& p : progress_) {
      out["workloads"][p.workload->name] = {{"states", p.states}, {"lives", p.lives}, {"next_seed", p.next_seed}};
      states += p.states;
    }
    out["states"] = states;
    const std::string fresh = FLAGS_json + ".new";
    std::ofstream file(fresh);
    file << out.dump(2) << "\n";
    file.close();
    if (!file) {
      std::fprintf(stderr, "%s cannot be written\n", fresh.c_str());
      std::exit(2);
    }
    std::filesystem::rename(fresh, FLAGS_json);
  }

  std::vector<Progress> progress_;
  nlohmann::json violations_ = nlohmann::json::array();
  std::chrono::steady_clock::time_point begin_;
  double seconds_before_ = 0;  // of the runs that this one goes on with
};

std::vector<const SimWorkload*> Selected() {
  std::vector<const SimWorkload*> selected;
  for (const SimWorkload& w : SimWorkloads()) {
    const std::string group = w.media ? "media" : "crash";
    if (FLAGS_workload == "all" || FLAGS_workload == group || FLAGS_workload == w.name) selected.push_back(&w);
  }
  return selected;
}

int Main() {
  const std::vector<const SimWorkload*> selected = Selected();
  if (selected.empty()) {
    std::fprintf(stderr, "no workload '%s'; see --list\n", FLAGS_workload.c_str());
    return 2;
  }
  if (FLAGS_list) {
    for (const SimWorkload* w : selected) std::printf("%-16s %s\n", w->name.c_str(), w->what.c_str());
    return 0;
  }
  Simulation simulation(selected);
  if (!simulation.Resume()) {
    std::fprintf(stderr, "%s is the result of another run: remove it, or give its --seed and --workload\n",
                 FLAGS_json.c_str());
    return 2;
  }
  simulation.Run();
  return simulation.Report();
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) {
  gflags::SetUsageMessage("runs Furrow's crash simulator; see tests/scripts/sim.sh");
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  return furrow::Main();
}
