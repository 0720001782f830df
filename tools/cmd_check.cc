// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "plugin/fs/volume_check.h"
#include "tools/cmd_repair_plan.h"
#include "tools/command_table.h"
#include "tools/format.h"
#include "tools/reading.h"
#include "tools/report_check.h"

namespace furrow::tools {
namespace {

// One line on a terminal, drawn anew at each whole percent.
class ProgressBar {
 public:
  explicit ProgressBar(std::ostream* err) : err_(err) {}
  ~ProgressBar() {
    if (percent_ >= 0) *err_ << "\r\x1b[K" << std::flush;
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(uint64_t done, uint64_t all) {
    const int percent = all == 0 ? 100 : static_cast<int>(done * 100 / all);
    if (percent == percent_) return;
    percent_ = percent;
    constexpr int kWidth = 40;  // columns
    const int full = percent * kWidth / 100;
    *err_ << "\r[" << std::string(static_cast<size_t>(full), '#')
          << std::string(static_cast<size_t>(kWidth - full), '.') << "] " << percent << " % of " << FormatBytes(all)
          << std::flush;
  }

 private:
  std::ostream* const err_;
  int percent_ = -1;
};

Result<CheckReport> Check(const Invocation& invocation, Console* console) {
  CheckOptions options;
  options.deep = invocation.Bool("deep");
  ProgressBar bar(console->err);
  if (console->err_is_terminal) options.on_progress = [&bar](uint64_t done, uint64_t all) { bar.Show(done, all); };
  return CheckUri(invocation.uri, options, NullLogger());
}

Status RunCheck(const Invocation& invocation, Console* console) {
  if (invocation.Has("repair")) {
    if (invocation.Bool("deep"))
      return Status::InvalidArgument("--deep looks and --repair writes: one after the other");
    return RunRepair(invocation, console);
  }
  for (const Flag& flag : RepairFlags()) {
    if (invocation.Has(flag.name)) return Status::InvalidArgument("--" + flag.name + " belongs to --repair");
  }
  const std::chrono::nanoseconds begin = SystemClock()->Now();
  FURROW_ASSIGN_OR_RETURN(const CheckReport report, Check(invocation, console));
  const std::chrono::duration<double> seconds = SystemClock()->Now() - begin;
  *console->out << (WantsJson(invocation) ? JsonText(CheckJson(report, seconds.count()))
                                          : CheckText(report, seconds.count()));
  if (report.consistent()) return Status::Ok();
  return Status::Corruption(report.device + " is inconsistent: " + Plural(report.errors, "error") + ", " +
                            Plural(report.warnings, "warning"));
}

}  // namespace

Command CheckCommand() {
  Command c;
  c.name = "check";
  c.aliases = {"fsck"};
  c.summary = "Look for damage; bring damaged metadata back (--repair)";
  c.description =
      "Reads superblocks, journal, checkpoint, names and zone headers, and compares extents and counters. With --deep\n"
      "it reads every live byte and compares it with its checksum. Each finding names structure, zone and offset, and\n"
      "for files the path and the bytes concerned. Notes are what a power cut leaves; errors and warnings make the\n"
      "file system inconsistent (exit 5).\n"
      "A device that a process has mounted read-write is refused (exit 4): what is under way there cannot be told "
      "from\n"
      "damage. While the check runs, nobody can mount the device read-write.\n"
      "--repair alone writes, and only where a mount would be refused. It prints its plan: the newest checkpoint that "
      "is\n"
      "whole with the records behind it, or, where there is none, what a scan of all zones finds, under /lost+found. "
      "It\n"
      "asks on a terminal and needs --yes elsewhere. No zone that holds a file's bytes is written to.\n";
  c.flags = RepairFlags();
  c.flags.insert(c.flags.begin(), {"deep", FlagType::kBool, "", "read and verify every live byte"});
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunCheck;
  return c;
}

}  // namespace furrow::tools
