// SPDX-License-Identifier: Apache-2.0
#include "tools/command.h"

namespace furrow::tools {

const char* ExitCodeMeaning(ExitCode code) {
  switch (code) {
    case ExitCode::kOk: return "ok";
    case ExitCode::kError: return "an error that is none of the others";
    case ExitCode::kUsage: return "usage: unknown command or flag, a value that cannot work";
    case ExitCode::kNoTarget: return "no such device, file system or file, or no permission";
    case ExitCode::kInUse: return "busy, or in use by an existing file system";
    case ExitCode::kInconsistent: return "inconsistent: durable bytes are damaged";
    case ExitCode::kInterrupted: return "interrupted: what was done so far is kept";
  }
  return "unknown";
}

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return ExitCode::kOk;
    case StatusCode::kInvalidArgument: return ExitCode::kUsage;
    case StatusCode::kNotFound:
    case StatusCode::kPermissionDenied: return ExitCode::kNoTarget;
    case StatusCode::kAlreadyExists:
    case StatusCode::kBusy: return ExitCode::kInUse;
    case StatusCode::kCorruption: return ExitCode::kInconsistent;
    case StatusCode::kAborted: return ExitCode::kInterrupted;
    case StatusCode::kNotSupported:
    case StatusCode::kIoError:
    case StatusCode::kNoSpace:
    case StatusCode::kReadOnly:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kZoneFull: break;
  }
  return ExitCode::kError;
}

uint64_t Invocation::Number(const std::string& flag, uint64_t otherwise) const {
  const auto found = numbers.find(flag);
  return found == numbers.end() ? otherwise : found->second;
}

std::string Invocation::Text(const std::string& flag) const {
  const auto found = texts.find(flag);
  return found == texts.end() ? std::string() : found->second;
}

std::vector<Flag> Command::AllFlags() const {
  std::vector<Flag> all = flags;
  if (!formats.empty()) {
    all.push_back(
        {"format", FlagType::kChoice, formats.front(), "how the data is written to standard output", formats});
  }
  all.push_back({"help", FlagType::kBool, "", "show this help", {}, 'h'});
  return all;
}

}  // namespace furrow::tools
