// SPDX-License-Identifier: Apache-2.0
#include "util/status.h"

#include <cerrno>
#include <cstring>

namespace furrow {

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kAlreadyExists: return "already exists";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kNotSupported: return "not supported";
    case StatusCode::kIoError: return "IO error";
    case StatusCode::kCorruption: return "corruption";
    case StatusCode::kNoSpace: return "no space";
    case StatusCode::kBusy: return "busy";
    case StatusCode::kPermissionDenied: return "permission denied";
    case StatusCode::kReadOnly: return "read-only";
    case StatusCode::kDeadlineExceeded: return "deadline exceeded";
    case StatusCode::kAborted: return "aborted";
    case StatusCode::kZoneFull: return "zone full";
  }
  return "unknown";
}

Status Status::FromErrno(int err, const std::string& what) {
  const std::string text = what + ": " + std::strerror(err);
  switch (err) {
    case ENOENT: return NotFound(text);
    case EACCES:
    case EPERM: return PermissionDenied(text);
    case ENOSPC:
    case EDQUOT:
      return NoSpace(text + " (the host file system is full: free space there; nothing on the zoned device was lost)")
          .MarkHost();
    case EROFS: return ReadOnly(text);
    case EBUSY:
    case EWOULDBLOCK: return Busy(text);
    default: return IoError(text);
  }
}

Status Status::WithContext(const std::string& context) const {
  if (ok()) return *this;
  Status copy = *this;
  copy.message_ = context + ": " + message_;
  return copy;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return std::string(StatusCodeName(code_)) + ": " + message_;
}

}  // namespace furrow
