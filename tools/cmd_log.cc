// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "plugin/device/device_factory.h"
#include "plugin/fs/mount_options.h"
#include "plugin/meta/journal_dump.h"
#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_log.h"

namespace furrow::tools {
namespace {

// Writes the lines that were asked for as the journal is walked.
class LogWriter final : public JournalVisitor {
 public:
  LogWriter(const Invocation& invocation, const std::string& device, Console* console)
      : device_(device),
        console_(console),
        style_{.width = console->columns, .utf8 = console->utf8 && !invocation.Bool("ascii"), .color = false},
        text_(invocation.Text("format") == "text"),
        all_(!invocation.Bool("groups") && !invocation.Bool("records") && !invocation.Bool("checkpoint")),
        groups_(all_ || invocation.Bool("groups")),
        records_(all_ || invocation.Bool("records")),
        checkpoint_(all_ || invocation.Bool("checkpoint")),
        limit_(invocation.Number("limit", UINT64_MAX)),
        from_(invocation.Number("from-sequence")) {}

  void OnSuperblock(const Superblock& superblock, const SuperblockPlace& place) override {
    Write(LogSuperblock(device_, superblock, place));
  }
  bool OnGroup(const GroupPlaced& group) override {
    if (left_out_ || console_->out->fail()) return false;
    const GroupHeader& header = group.header;
    if (header.kind == GroupKind::kRecords && header.first_sequence + header.record_count > from_) reached_ = true;
    WriteIf(groups_ && reached_, [&] { return LogGroup(group); });
    return !left_out_;
  }
  void OnRecord(const GroupPlaced& group, Sequence sequence, const Record& record) override {
    WriteIf(records_ && sequence >= from_, [&] { return LogRecord(group, sequence, record); });
  }
  void OnChunk(const GroupPlaced& group, const ChunkHead& head) override {
    WriteIf(checkpoint_ && reached_, [&] { return LogChunk(group, head); });
  }
  void OnObject(const GroupPlaced& group, uint64_t checkpoint, const CheckpointObject& object) override {
    WriteIf(checkpoint_ && reached_, [&] { return LogObject(group, checkpoint, object); });
  }
  void OnCheckpointEnd(const GroupPlaced& group, uint64_t checkpoint, const CheckpointEnd& end) override {
    WriteIf(checkpoint_ && reached_, [&] { return LogCheckpointEnd(group, checkpoint, end); });
  }
  void OnProblem(const JournalProblem& problem) override { Write(LogProblem(problem)); }
  void OnEnd(const JournalDumpEnd& end) override { Write(LogEnd(end)); }

 private:
  template <typename Line>
  void WriteIf(bool wanted, Line line) {
    if (!wanted) return;
    if (limit_ == 0) {
      left_out_ = true;  // the walk ends with this group
      return;
    }
    --limit_;
    Write(line());
  }
  void Write(const Json& line) { *console_->out << (text_ ? LogTextLine(line, style_) : LogJsonLine(line)); }

  const std::string device_;
  Console* const console_;
  const TextStyle style_;
  const bool text_, all_, groups_, records_, checkpoint_;
  uint64_t limit_;  // lines yet to come, besides superblock, problems and end
  const Sequence from_;
  bool reached_ = from_ == Sequence(0);  // what lies before the record of --from-sequence is left out
  bool left_out_ = false;                // the limit has been met
};

Status RunLog(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri uri, DeviceUri::Parse(invocation.uri));
  FURROW_RETURN_IF_ERROR(ParseMountOptions(uri.options, MountOptions()).status());
  const Result<std::unique_ptr<ZonedDevice>> device = OpenDevice(uri, OpenMode::kReadOnly);
  // The words were right; it is the target that is no Furrow.
  if (device.status().code() == StatusCode::kInvalidArgument) return Status::NotFound(device.status().message());
  FURROW_RETURN_IF_ERROR(device.status());
  LogWriter writer(invocation, (*device)->name(), console);
  return JournalDump(device->get(), &writer).Run();
}

}  // namespace

Command LogCommand() {
  Command c;
  c.name = "log";
  c.summary = "Show the journal: superblock, groups, records, checkpoints, and how it ends";
  c.description =
      "One line each, in the order of the journal; without --groups, --records or --checkpoint all of them. The last "
      "line\n"
      "says how it ends: clean, torn (bytes that were never acknowledged), damaged (exit code 5; what stands behind "
      "damage\n"
      "is shown and marked), changed (a mount has replaced the journal meanwhile: run it again; exit code 4). Beside "
      "a\n"
      "mount it shows a moment that may have passed, and not what that has staged in memory.\n";
  Flag limit{"limit", FlagType::kCount, "", "at most this many lines, besides superblock, problems and end"};
  limit.least = 1;
  Flag from{"from-sequence", FlagType::kCount, "", "from this record on"};
  from.least = 1;
  c.flags = {
      {"groups", FlagType::kBool, "", "groups: place, size, kind"},
      {"records", FlagType::kBool, "", "records with all their fields"},
      {"checkpoint", FlagType::kBool, "", "chunks, objects and ends of checkpoints"},
      limit,
      from,
      {"ascii", FlagType::kBool, "", "names with ASCII only (text)"},
  };
  c.formats = {"jsonl", "text"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunLog;
  return c;
}

}  // namespace furrow::tools
