// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of file-system calls on POSIX and on Furrow, every answer compared; what differs is shrunk to a
// short sequence and written to a file that replays it.
//
//   differential_test [--operations=20000] [--seed=1] [--target=all|mem|dir|dir_unstaged] [--round=1000]
//                     [--out=DIRECTORY]       where the sequence of a difference goes (the temporary directory)
//   differential_test --replay=FILE [--target=mem]
//   differential_test --self-test             plants wrong answers, which must be found and shrunk
//
// Each round of --round operations has two fresh file systems, and the seed after that of the round before it. Exit
// status: 0 no difference, 1 a difference, 2 it could not run.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/conformance/differential_run.h"
#include "tests/conformance/differential_shrink.h"

namespace furrow {
namespace {

using Plan = std::vector<DifferentialOp>;
constexpr size_t kMaxShrinkRuns = 1000;
constexpr int kDiffers = 1, kCannotRun = 2;

struct Arguments {
  uint64_t operations = 20'000;
  uint64_t seed = 1;
  uint64_t round = 1000;
  std::string target = "all";
  std::string replay{};
  std::string out = std::filesystem::temp_directory_path().string();
  PlantedFault::Kind fault = PlantedFault::Kind::kNone;
  bool self_test = false;
};

bool ParseNumber(const std::string& text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseArgument(const std::string& argument, Arguments* arguments) {
  const size_t equals = argument.find('=');
  const std::string key = argument.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (argument == "--self-test") return arguments->self_test = true;
  if (key == "--operations") return ParseNumber(value, &arguments->operations);
  if (key == "--seed") return ParseNumber(value, &arguments->seed);
  if (key == "--round") return ParseNumber(value, &arguments->round) && arguments->round > 0;
  if (key == "--fault") return ParseFault(value, &arguments->fault);
  std::string* const text = key == "--target"   ? &arguments->target
                            : key == "--replay" ? &arguments->replay
                            : key == "--out"    ? &arguments->out
                                                : nullptr;
  if (text == nullptr || value.empty()) return false;
  *text = value;
  return true;
}

// The kinds that take turns. None: the word is not known.
std::vector<FsTarget::Kind> KindsOf(const std::string& word) {
  std::vector<FsTarget::Kind> kinds;
  for (const FsTarget::Kind kind :
       {FsTarget::Kind::kMemory, FsTarget::Kind::kDirectory, FsTarget::Kind::kDirectoryUnstaged}) {
    if (word == "all" || word == FsTarget::NameOf(kind)) kinds.push_back(kind);
  }
  return kinds;
}

struct RunResult {
  Status could_run;
  std::optional<Difference> difference{};
  uint64_t calls = 0;
};

RunResult RunOnce(FsTarget::Kind kind, PlantedFault::Kind fault, const Plan& plan) {
  Result<std::unique_ptr<DifferentialRun>> run = DifferentialRun::Make(kind, fault);
  if (!run.ok()) return {run.status()};
  RunResult result{Status::Ok(), (*run)->Apply(plan)};
  result.calls = (*run)->calls();
  return result;
}

void Show(const Difference& difference) {
  std::printf("  %s\n    POSIX:  %s\n    Furrow: %s\n", difference.operation.c_str(), difference.posix.c_str(),
              difference.furrow.c_str());
}

bool Save(const Plan& plan, const std::string& path) {
  std::ofstream file(path);
  for (const DifferentialOp& op : plan) file << ToLine(op) << "\n";
  return static_cast<bool>(file.flush());
}

Result<Plan> Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::NotFound("cannot read " + path);
  Plan plan;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    FURROW_ASSIGN_OR_RETURN(DifferentialOp op, FromLine(line));
    plan.push_back(std::move(op));
  }
  return plan;
}

Shrunk ShrinkOn(FsTarget::Kind kind, PlantedFault::Kind fault, const Plan& plan, const Difference& difference) {
  return Shrink(plan, difference, kMaxShrinkRuns,
                [&](const Plan& candidate) { return RunOnce(kind, fault, candidate).difference; });
}

void Report(FsTarget::Kind kind, const Arguments& arguments, uint64_t seed, const Plan& plan, const Difference& found) {
  const char* const target = FsTarget::NameOf(kind);
  std::printf("differential_test: %s, seed %llu: operation %zu of %zu differs:\n", target,
              static_cast<unsigned long long>(seed), found.at, plan.size());
  Show(found);
  std::printf("the whole round: differential_test --target=%s --seed=%llu --operations=%zu --round=%zu\n", target,
              static_cast<unsigned long long>(seed), plan.size(), plan.size());
  std::fflush(stdout);
  const Shrunk shrunk = ShrinkOn(kind, arguments.fault, plan, found);
  std::printf("shrunk to %zu operations in %zu runs:\n", shrunk.plan.size(), shrunk.runs);
  for (const DifferentialOp& op : shrunk.plan) std::printf("  %s\n", ToLine(op).c_str());
  std::printf("differs in:\n");
  Show(shrunk.difference);
  const std::string path = arguments.out + "/differential-" + target + "-" + std::to_string(seed) + ".plan";
  if (Save(shrunk.plan, path)) {
    std::printf("again: differential_test --target=%s --replay=%s\n", target, path.c_str());
  } else {
    std::printf("the sequence could not be written to %s\n", path.c_str());
  }
}

int RunRounds(const Arguments& arguments, const std::vector<FsTarget::Kind>& kinds) {
  uint64_t done = 0, calls = 0, seed = arguments.seed;
  for (uint64_t round = 0; done < arguments.operations; ++round, ++seed) {
    const FsTarget::Kind kind = kinds[seed % kinds.size()];
    const Plan plan = MakePlan(seed, std::min(arguments.round, arguments.operations - done));
    const RunResult result = RunOnce(kind, arguments.fault, plan);
    if (!result.could_run.ok()) {
      std::fprintf(stderr, "differential_test: %s\n", result.could_run.ToString().c_str());
      return kCannotRun;
    }
    if (result.difference) {
      Report(kind, arguments, seed, plan, *result.difference);
      return kDiffers;
    }
    done += plan.size();
    calls += result.calls;
  }
  std::printf("differential_test: %llu operations from seed %llu on, %llu calls compared: no difference\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(arguments.seed),
              static_cast<unsigned long long>(calls));
  return 0;
}

int Replay(const Arguments& arguments, const std::vector<FsTarget::Kind>& kinds) {
  const Result<Plan> plan = Load(arguments.replay);
  if (!plan.ok()) {
    std::fprintf(stderr, "differential_test: %s\n", plan.status().ToString().c_str());
    return kCannotRun;
  }
  for (const FsTarget::Kind kind : kinds) {
    const RunResult result = RunOnce(kind, arguments.fault, *plan);
    if (!result.could_run.ok()) {
      std::fprintf(stderr, "differential_test: %s\n", result.could_run.ToString().c_str());
      return kCannotRun;
    }
    if (!result.difference) continue;
    std::printf("differential_test: %s: operation %zu of %zu differs:\n", FsTarget::NameOf(kind), result.difference->at,
                plan->size());
    Show(*result.difference);
    return kDiffers;
  }
  std::printf("differential_test: %zu operations replayed: no difference\n", plan->size());
  return 0;
}

// --- the self-test ---

// A planted wrong answer is found, shrunk to what it takes, and nothing is found without it. "": so it is.
std::string CheckPlanted(PlantedFault::Kind fault, const Arguments& arguments) {
  constexpr FsTarget::Kind kKind = FsTarget::Kind::kMemory;
  constexpr size_t kFewest = 8;  // create, append, close, open, read: five, and some to spare
  const Plan plan = MakePlan(arguments.seed, arguments.round);
  const RunResult result = RunOnce(kKind, fault, plan);
  if (!result.could_run.ok()) return result.could_run.ToString();
  if (!result.difference) return "not found";
  const Shrunk shrunk = ShrinkOn(kKind, fault, plan, *result.difference);
  if (shrunk.plan.size() > kFewest) return "shrunk to " + std::to_string(shrunk.plan.size()) + " operations only";
  const std::string path = arguments.out + "/differential-self-test-" + NameOf(fault) + ".plan";
  if (!Save(shrunk.plan, path)) return "cannot write " + path;
  const Result<Plan> loaded = Load(path);
  std::filesystem::remove(path);
  if (!loaded.ok()) return loaded.status().ToString();
  if (!RunOnce(kKind, fault, *loaded).difference) return "the sequence that was written does not show it";
  if (RunOnce(kKind, PlantedFault::Kind::kNone, *loaded).difference) return "the sequence differs without it, too";
  std::printf("differential_test: planted '%s': found at operation %zu of %zu, shrunk to %zu in %zu runs\n",
              NameOf(fault), result.difference->at, plan.size(), shrunk.plan.size(), shrunk.runs);
  return "";
}

int SelfTest(const Arguments& arguments) {
  int outcome = 0;
  for (const PlantedFault::Kind fault :
       {PlantedFault::Kind::kByte, PlantedFault::Kind::kSize, PlantedFault::Kind::kLost}) {
    const std::string wrong = CheckPlanted(fault, arguments);
    if (wrong.empty()) continue;
    std::printf("differential_test: planted '%s', seed %llu: %s\n", NameOf(fault),
                static_cast<unsigned long long>(arguments.seed), wrong.c_str());
    outcome = kDiffers;
  }
  return outcome;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (ParseArgument(argv[i], &arguments)) continue;
    std::fprintf(stderr, "differential_test: '%s' is not understood; see the head of differential_test.cc\n", argv[i]);
    return kCannotRun;
  }
  const std::vector<FsTarget::Kind> kinds = KindsOf(arguments.target);
  if (kinds.empty()) {
    std::fprintf(stderr, "differential_test: --target=%s: all, mem, dir and dir_unstaged are known\n",
                 arguments.target.c_str());
    return kCannotRun;
  }
  if (arguments.self_test) return SelfTest(arguments);
  return arguments.replay.empty() ? RunRounds(arguments, kinds) : Replay(arguments, kinds);
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) { return furrow::Main(argc, argv); }
