// SPDX-License-Identifier: Apache-2.0
//
// flips [--devices=N] [--seed=N]: on each of N small devices one bit is flipped, of each structure in turn, and a deep
// check has to find it: in a file with its path and bytes, in metadata with the structure's name and zone. Whatever was
// not hit can still be read. Prints how many flips of each structure there were; exit 1 if anything is wrong.
#include <cstdlib>
#include <iostream>
#include <string>

#include "plugin/fs/volume_check.h"
#include "tests/plugin/fs/flips_device.h"

namespace furrow::testing {
namespace {

struct Kind {
  CheckStructure structure;
  const char* name;
};
constexpr Kind kKinds[] = {
    {CheckStructure::kSuperblock, "superblock"},
    {CheckStructure::kJournal, "journal"},
    {CheckStructure::kCheckpoint, "checkpoint"},
    {CheckStructure::kZoneHeader, "zone header"},
    {CheckStructure::kData, "data"},
    {CheckStructure::kFrame, "frame"},
    {CheckStructure::kSummary, "summary"},
    {CheckStructure::kName, "dead space"},
};
constexpr size_t kKindCount = std::size(kKinds);
constexpr size_t kDead = kKindCount - 1;

bool IsOfFile(CheckStructure s) {
  return s == CheckStructure::kData || s == CheckStructure::kFrame || s == CheckStructure::kSummary;
}

class Flip {
 public:
  Flip(uint64_t seed, size_t kind) : device_(seed), kind_(kind) {}

  // "": found, as it has to be.
  std::string Run() {
    if (const std::string wrong = device_.Build(); !wrong.empty()) return "cannot make the device: " + wrong;
    const Result<CheckReport> before = Check();
    if (!before.ok()) return before.status().ToString();
    if (!before->consistent() || before->notes > 0) return "a finding on a whole device: " + before->findings[0].text;
    if (!Choose()) return "no such structure on the device";
    device_.FlipBit(zone_, offset_, static_cast<int>(device_.rng().Uniform(8)));
    const Result<CheckReport> after = Check();
    if (!after.ok()) return after.status().ToString();
    std::string wrong = kind_ == kDead ? "" : WrongFindings(*after);
    if (wrong.empty()) wrong = WrongReads(*after);
    return wrong.empty() ? "" : Place() + ": " + wrong + "\n" + Findings(*after);
  }
  std::string Place() const {
    return std::string(kKinds[kind_].name) + " in zone " + std::to_string(zone_.value()) + " at " +
           std::to_string(offset_);
  }

 private:
  Result<CheckReport> Check() const {
    CheckOptions options;
    options.deep = true;
    return CheckDevice(device_.Open(false), options, NullLogger(), SystemClock());
  }
  static std::string Findings(const CheckReport& report) {
    std::string text;
    for (const Finding& f : report.findings) {
      text += std::string("    ") + SeverityName(f.severity) + ": " + CheckStructureName(f.structure) + ": zone " +
              std::to_string(f.zone.value_or(0)) + " offset " + std::to_string(f.zone_offset.value_or(0)) + " " +
              f.path + " " + std::to_string(f.file_offset.value_or(0)) + "+" + std::to_string(f.length) + ": " +
              f.text + "\n";
    }
    return text;
  }

  // A range of the structure, and a byte of it.
  bool Choose() {
    if (kind_ == kDead) return device_.DeadByte(&zone_, &offset_);
    std::vector<const LiveRange*> ranges;
    for (const LiveRange& r : device_.live()) {
      if (r.structure == kKinds[kind_].structure) ranges.push_back(&r);
    }
    if (ranges.empty()) return false;
    const LiveRange& range = *ranges[device_.rng().Uniform(ranges.size())];
    zone_ = range.zone;
    offset_ = range.begin + device_.rng().Uniform(range.end - range.begin);
    return true;
  }

  // The ranges that the flipped byte is in: a summary may be that of several extents.
  std::vector<LiveRange> Hit() const {
    std::vector<LiveRange> hit;
    for (const LiveRange& r : device_.live()) {
      if (r.zone == zone_ && r.begin <= offset_ && offset_ < r.end) hit.push_back(r);
    }
    return hit;
  }

  // Does the finding tell of this range, with the byte in question?
  bool Tells(const Finding& f, const LiveRange& r) const {
    if (f.severity == Severity::kNote || f.zone != zone_.value()) return false;
    if (!IsOfFile(r.structure)) {
      // Records that lie between the parts of the checkpoint are named by either.
      const bool journal = r.structure == CheckStructure::kJournal || r.structure == CheckStructure::kCheckpoint;
      const bool named = f.structure == CheckStructure::kJournal || f.structure == CheckStructure::kCheckpoint;
      return journal ? named : f.structure == r.structure;
    }
    if (f.structure != r.structure || f.file != r.file || !f.file_offset) return false;
    const uint64_t begin = *f.file_offset, end = *f.file_offset + f.length;
    if (r.structure != CheckStructure::kData) {
      return (begin <= r.file_begin && r.file_end <= end) || (f.length == 0 && begin == r.file_end);
    }
    const uint64_t at = r.file_begin + (offset_ - r.begin);
    // Behind the file's end: padding, or what was cut off it and shares a checksum with its last bytes.
    return at < r.file_end ? begin <= at && at < end : begin <= r.file_end && end == r.file_end;
  }

  std::string WrongFindings(const CheckReport& report) const {
    if (report.consistent()) return "called consistent";
    const std::vector<LiveRange> hit = Hit();
    for (const LiveRange& r : hit) {
      const bool told =
          std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return Tells(f, r); });
      if (!told) return std::string("no finding of it as ") + CheckStructureName(r.structure);
    }
    for (const Finding& f : report.findings) {
      const bool concerns = std::any_of(hit.begin(), hit.end(), [&f](const LiveRange& r) { return f.file == r.file; });
      if (f.file != 0 && report.mountable && !concerns) return "a finding about a file that was not hit: " + f.path;
    }
    return "";
  }

  // What a mount reads, against what it read before.
  std::string WrongReads(const CheckReport& report) const {
    const Result<std::shared_ptr<Volume>> volume = device_.Mount(false);
    if (!volume.ok()) {
      if (report.mountable) return "the check says that it can be mounted: " + volume.status().ToString();
      if (volume.status().code() != StatusCode::kCorruption) return volume.status().ToString();
      return volume.status().message().find("furrow check") == std::string::npos ? volume.status().ToString() : "";
    }
    if (!report.mountable) return "mounted, although the check says that it cannot be";
    const std::map<std::string, std::string> now = FlipsDevice::ReadAll(volume->get());
    std::vector<std::string> hit;
    for (const LiveRange& r : Hit()) {
      const auto names = device_.names().find(r.file);
      if (names != device_.names().end()) hit.insert(hit.end(), names->second.begin(), names->second.end());
    }
    for (const auto& [path, data] : device_.content()) {
      const auto found = now.find(path);
      if (found == now.end()) return path + " is gone";
      if (found->second == data) continue;
      if (report.consistent()) return path + " reads differently, and the check is content";
      if (std::find(hit.begin(), hit.end(), path) == hit.end()) return path + " reads differently: it was not hit";
    }
    return now.size() == device_.content().size() ? "" : "there are files that were not there";
  }

  FlipsDevice device_;
  const size_t kind_;
  ZoneId zone_;
  uint64_t offset_ = 0;
};

int Main(uint64_t devices, uint64_t seed) {
  uint64_t hits[kKindCount] = {};
  int wrong = 0;
  for (uint64_t i = 0; i < devices; ++i) {
    const size_t kind = i % kKindCount;
    Flip flip(seed + i, kind);
    const std::string outcome = flip.Run();
    if (outcome.empty()) {
      hits[kind]++;
    } else {
      wrong++;
      std::cout << "seed " << seed + i << " (--seed=" << seed << ", device " << i << "): " << outcome << "\n";
    }
  }
  std::cout << "flips: " << devices << " devices, seed " << seed << ":";
  for (size_t k = 0; k < kKindCount; ++k)
    std::cout << " " << kKinds[k].name << " " << hits[k] << (k == kDead ? "" : ",");
  std::cout << "; " << wrong << " wrong\n";
  for (size_t k = 0; k < kKindCount; ++k) {
    if (hits[k] > 0 || devices < kKindCount) continue;
    std::cout << "flips: no flip of a " << kKinds[k].name << " was found\n";
    wrong++;
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace furrow::testing

int main(int argc, char** argv) {
  uint64_t devices = 200, seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--devices=", 0) == 0) {
      devices = std::strtoull(word.c_str() + 10, nullptr, 10);
    } else if (word.rfind("--seed=", 0) == 0) {
      seed = std::strtoull(word.c_str() + 7, nullptr, 10);
    } else {
      std::cerr << "usage: flips [--devices=N] [--seed=N]\n";
      return 2;
    }
  }
  return furrow::testing::Main(devices, seed);
}
