// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tools/command_table.h"
#include "tools/format.h"
#include "tools/reading.h"
#include "tools/report_settle.h"
#include "tools/settle.h"

namespace furrow::tools {
namespace {

void Print(const Invocation& invocation, const SettleReport& report, Console* console) {
  *console->out << (WantsJson(invocation) ? JsonText(SettleJson(report))
                                          : SettleText(report, invocation.Bool("quiet")));
}

// What one stage's owner has to look at does not keep the others from being settled.
Status OutcomeOf(const SettleReport& report) {
  const auto failed = static_cast<size_t>(std::count_if(
      report.stages.begin(), report.stages.end(), [](const auto& s) { return s.result == SettleResult::kFailed; }));
  if (failed == 0) return Status::Ok();
  return Status::IoError(Plural(failed, "stage") + " of " + FormatCount(report.stages.size()) +
                         " could not be settled");
}

Status RunSettle(const Invocation& invocation, Console* console) {
  SettleOptions options;
  options.stage_directory = invocation.Text("stage-dir");
  options.drop_damaged = invocation.Bool("drop-damaged");
  options.keep_gone = std::chrono::seconds(invocation.Number("keep-gone"));
  options.logger = StderrLogger(invocation.Bool("quiet") ? LogLevel::kWarning : LogLevel::kInfo);
  if (invocation.Bool("all")) {
    if (!invocation.arguments.empty()) return Status::InvalidArgument("--all is for all devices: leave the URI out");
    if (options.stage_directory.empty()) options.stage_directory = kDefaultStageDirectory;
    FURROW_ASSIGN_OR_RETURN(const SettleReport report, SettleAllStages(options));
    Print(invocation, report, console);
    return OutcomeOf(report);
  }
  const std::string uri = invocation.arguments.empty() ? console->default_uri : invocation.arguments[0];
  if (uri.empty()) return Status::InvalidArgument("no device: name one, set FURROW_URI, or say --all");
  FURROW_ASSIGN_OR_RETURN(const Settled settled, SettleDevice(uri, options));
  Print(invocation, SettleReport{{settled}, 0}, console);
  return Status::Ok();
}

}  // namespace

Command SettleCommand() {
  Command c;
  c.name = "settle";
  c.summary = "Bring what a dead process has staged to its device";
  c.description =
      "Bytes that were flushed but not synced wait in shared memory (the stage) and outlive their process, but not "
      "the\n"
      "machine. The next mount brings them to the device, and so does this: for one device, or with --all for every "
      "stage\n"
      "in a directory. Devices that a living process uses are in no need of it: --all says so and goes on, a URI is\n"
      "refused (exit 4). Run as root, --all acts for each stage as the stage's owner. It also removes stages that "
      "nobody\n"
      "can want: from before the last boot, or of a device that is gone.\n";
  c.takes_uri = false;
  c.arguments = {{"URI", true}};
  Flag directory{"stage-dir", FlagType::kText, "", "where stages are (default /dev/shm, or stage_dir= of the URI)"};
  Flag keep{"keep-gone", FlagType::kCount, "3600",
            "seconds to keep the stage of a device that is gone: it may be moving"};
  c.flags = {
      {"all", FlagType::kBool, "", "every stage in the directory, instead of one device", {}, 'a'},
      directory,
      {"drop-damaged", FlagType::kBool, "", "settle what is whole of a damaged stage; the rest is lost"},
      keep,
      {"quiet", FlagType::kBool, "", "only what was settled or failed", {}, 'q'},
  };
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunSettle;
  return c;
}

}  // namespace furrow::tools
