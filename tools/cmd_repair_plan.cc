// SPDX-License-Identifier: Apache-2.0
#include "tools/cmd_repair_plan.h"

#include <istream>
#include <ostream>

#include "plugin/device/device_factory.h"
#include "plugin/fs/mount_options.h"
#include "plugin/fs/repair.h"
#include "tools/format.h"
#include "tools/reading.h"
#include "tools/report_repair.h"
#include "util/clock.h"
#include "util/logger.h"

namespace furrow::tools {
namespace {

RepairWay WayOf(const std::string& text) {
  if (text == "previous") return RepairWay::kPrevious;
  return text == "scan" ? RepairWay::kScan : RepairWay::kAuto;
}

// OK when the user wants it.
Status Confirm(const Invocation& invocation, Console* console) {
  if (invocation.Bool("yes")) return Status::Ok();
  if (!console->in_is_terminal) {
    return Status::InvalidArgument("standard input is no terminal to ask on; --yes says that the plan is to be done");
  }
  *console->err << "Write new metadata to " << EscapeName(invocation.uri) << "? Type yes: " << std::flush;
  std::string answer;
  std::getline(*console->in, answer);
  if (answer == "yes") return Status::Ok();
  return Status::Aborted("not confirmed; nothing was written");
}

Result<std::unique_ptr<ZonedDevice>> Open(const Invocation& invocation, bool to_write) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri uri, DeviceUri::Parse(invocation.uri));
  FURROW_RETURN_IF_ERROR(ParseMountOptions(uri.options, MountOptions()).status());
  return OpenDevice(uri, to_write ? OpenMode::kReadWrite : OpenMode::kReadOnly);
}

// Tells from time to time how far the scan is, if somebody sits there.
std::function<void(uint64_t, uint64_t)> ProgressOn(Console* console) {
  if (!console->in_is_terminal) return nullptr;
  return [console, last = uint64_t{0}](uint64_t done, uint64_t total) mutable {
    const uint64_t percent = total == 0 ? 100 : done * 100 / total;
    if (percent < last + 5 && percent != 100) return;
    last = percent;
    *console->err << "\rreading: " << percent << " %" << (percent == 100 ? "\n" : "") << std::flush;
  };
}

}  // namespace

std::vector<Flag> RepairFlags() {
  Flag repair{"repair",
              FlagType::kChoice,
              "",
              "write damaged metadata anew; which way is said, and why",
              {"auto", "previous", "scan"}};
  repair.bare_text = "auto";
  Flag uuid{"uuid", FlagType::kText, "", "with --repair: of which file system, if zones of several are there"};
  uuid.most = 36;
  return {
      repair,
      uuid,
      {"yes", FlagType::kBool, "", "with --repair: do not ask", {}, 'y'},
      {"dry-run", FlagType::kBool, "", "with --repair: show the plan, write nothing", {}, 'n'},
  };
}

Status RunRepair(const Invocation& invocation, Console* console) {
  const bool dry_run = invocation.Bool("dry-run");
  const bool json = WantsJson(invocation);
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<ZonedDevice> device, Open(invocation, !dry_run));
  RepairOptions options;
  options.way = WayOf(invocation.Text("repair"));
  options.uuid = invocation.Text("uuid");
  options.now_seconds = SystemClock()->UnixSeconds();
  options.progress = ProgressOn(console);
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<Repair> repair,
                          Repair::Plan(device.get(), options, StderrLogger(LogLevel::kWarning)));
  const RepairReport& report = repair->report();
  if (!json) *console->out << RepairText(report) << std::flush;
  if (report.needed && !dry_run) {
    if (json && !invocation.Bool("yes")) *console->err << RepairText(report);
    FURROW_RETURN_IF_ERROR(Confirm(invocation, console));
    FURROW_RETURN_IF_ERROR(repair->Run());
    *console->err << "repaired; look at it with furrow ls -R '" << EscapeName(invocation.uri) << "'\n";
  }
  if (dry_run) *console->err << "dry run: nothing was written\n";
  if (json) *console->out << JsonText(RepairJson(report, report.needed && !dry_run));
  return Status::Ok();
}

}  // namespace furrow::tools
