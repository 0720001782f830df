// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <ostream>

#include "tools/command_table.h"
#include "tools/format.h"
#include "tools/reading.h"
#include "tools/report_scrub.h"
#include "tools/scrub_state.h"

namespace furrow::tools {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void Interrupt(int) { g_interrupted = 1; }

// SIGINT and SIGTERM ask for a stop, for as long as it lives.
class StopSignals {
 public:
  StopSignals() {
    g_interrupted = 0;
    struct sigaction action {};
    action.sa_handler = Interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

// Where to go on; a fresh state where there is nothing to go on from.
Result<ScrubState> StateToBeginWith(const std::string& path, const std::string& uuid, bool restart) {
  if (restart) return ScrubState();
  Result<ScrubState> state = LoadScrubState(path);
  if (state.status().code() == StatusCode::kNotFound) return ScrubState();
  if (!state.ok()) return state.status();
  if (state->finished) return ScrubState();
  if (state->uuid == uuid) return state;
  return Status::InvalidArgument(path + " is of another file system (" + state->uuid +
                                 "); name another file, or begin anew with --restart");
}

void ShowProgress(const ScrubState& state, uint64_t total, Console* console) {
  if (!console->out_is_terminal) return;
  *console->err << "\r" << FormatBytes(state.bytes_read) << " of about " << FormatBytes(total) << ", "
                << Plural(state.damages.size(), "damaged part") << "   " << std::flush;
}

Status RunScrubCommand(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<MountPoint> mount, OpenForReading(invocation.uri));
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, mount->Read());
  const std::string uuid = UuidToString(volume->engine().fs_uuid);
  const std::string path = invocation.Has("state") ? invocation.Text("state") : DefaultScrubStatePath(uuid);
  FURROW_ASSIGN_OR_RETURN(ScrubState state, StateToBeginWith(path, uuid, invocation.Bool("restart")));
  if (!state.uuid.empty()) {
    *console->err << "going on where an earlier scrub stopped: " << Plural(state.files, "file") << " done (" << path
                  << ")\n";
  }
  ScrubOptions options;
  options.rate = invocation.Number("rate");
  options.clock = SystemClock();
  options.stop = [] { return g_interrupted != 0; };
  options.on_progress = [&](const ScrubState& now, uint64_t total) {
    ShowProgress(now, total, console);
    return SaveScrubState(path, mount->name(), now);
  };
  const StopSignals signals;
  const Status done = RunScrub(mount.get(), options, &state);
  if (console->out_is_terminal) *console->err << "\n";
  *console->out << (WantsJson(invocation) ? JsonText(ScrubJson(mount->name(), state))
                                          : ScrubText(mount->name(), state));
  FURROW_RETURN_IF_ERROR(done);
  if (state.damages.empty()) return Status::Ok();
  return Status::Corruption(Plural(state.damages.size(), "damaged part") + " found");
}

}  // namespace

Command ScrubCommand() {
  Command c;
  c.name = "scrub";
  c.summary = "Verify every byte of every file, beside a writer";
  c.description =
      "Reads all files and compares them with their checksums, at a gentle pace, while a program may work with the\n"
      "device. Where it is, is kept in a file: stopped with Ctrl-C (exit 130), or killed, it goes on there the next\n"
      "time; after it has finished, the next one begins anew. Damaged parts are named with file and offset (exit 5).\n"
      "Nothing on the device is changed.\n";
  Flag rate{"rate", FlagType::kSize, "100M", "bytes read a second; 0: as fast as the device"};
  Flag state{"state", FlagType::kText, "", "the file that keeps where it is (default: in ~/.local/state/furrow)"};
  c.flags = {rate, state, {"restart", FlagType::kBool, "", "begin anew, whatever an earlier one has done"}};
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.exit_codes.push_back(ExitCode::kInterrupted);
  c.run = RunScrubCommand;
  return c;
}

}  // namespace furrow::tools
