// SPDX-License-Identifier: Apache-2.0
//
// Status: the outcome of an operation, with a message that says what happened, to
// which file, zone or device, and what to do next. A value type; any thread.
// Result<T>: a value or the Status that explains its absence.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace furrow {

enum class StatusCode : unsigned char {
  kOk = 0,
  kNotFound,          // the named file, directory, zone or device does not exist
  kAlreadyExists,     // the name is taken
  kInvalidArgument,   // the caller's words are wrong (URI, option, limit, path)
  kNotSupported,      // refused on purpose
  kIoError,           // the device or the host failed
  kCorruption,        // bytes that were durable are damaged
  kNoSpace,           // live data does not fit (retryable once something is deleted)
  kBusy,              // held by somebody: lock, mount, open zone limit
  kPermissionDenied,  // the host refuses
  kReadOnly,          // the mount, zone or device takes no writes
  kDeadlineExceeded,  // waited for as long as the caller allowed
  kAborted,           // shutting down
  kZoneFull,          // device and zone layer: the zone has no room for the write
};

// Name of a code, as messages show it: "IO error", "no space", ...
const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return Status(); }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status AlreadyExists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
  static Status InvalidArgument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
  static Status NotSupported(std::string m) { return {StatusCode::kNotSupported, std::move(m)}; }
  static Status IoError(std::string m) { return {StatusCode::kIoError, std::move(m)}; }
  static Status Corruption(std::string m) { return {StatusCode::kCorruption, std::move(m)}; }
  static Status NoSpace(std::string m) { return {StatusCode::kNoSpace, std::move(m)}; }
  static Status Busy(std::string m) { return {StatusCode::kBusy, std::move(m)}; }
  static Status PermissionDenied(std::string m) { return {StatusCode::kPermissionDenied, std::move(m)}; }
  static Status ReadOnly(std::string m) { return {StatusCode::kReadOnly, std::move(m)}; }
  static Status DeadlineExceeded(std::string m) { return {StatusCode::kDeadlineExceeded, std::move(m)}; }
  static Status Aborted(std::string m) { return {StatusCode::kAborted, std::move(m)}; }
  static Status ZoneFull(std::string m) { return {StatusCode::kZoneFull, std::move(m)}; }
  // Turns an errno of a host call into a Status: ENOENT -> NotFound, EACCES/EPERM ->
  // PermissionDenied, ENOSPC/EDQUOT -> NoSpace (message names the host), EROFS -> ReadOnly,
  // EBUSY/EWOULDBLOCK -> Busy, everything else -> IoError. `what` names call and target.
  static Status FromErrno(int err, const std::string& what);

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // True for an error that a test's fault decorator made up.
  bool injected() const { return injected_; }
  Status& MarkInjected() {
    injected_ = true;
    return *this;
  }
  // True for NoSpace that the *host* of an emulated device reported.
  bool host() const { return host_; }
  Status& MarkHost() {
    host_ = true;
    return *this;
  }

  // The same outcome with `context` in front of the message ("open /a/b: ...").
  Status WithContext(const std::string& context) const;
  // "no space: <message>"; "OK" for success.
  std::string ToString() const;
  // States on purpose that an error has no further consequence.
  void IgnoreError() const {}

 private:
  StatusCode code_ = StatusCode::kOk;
  bool injected_ = false;
  bool host_ = false;
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}        // NOLINT: implicit by design
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {  // NOLINT
    assert(!std::get<1>(v_).ok());
  }

  bool ok() const { return v_.index() == 0; }
  Status status() const { return ok() ? Status::Ok() : std::get<1>(v_); }
  T& value() & {
    assert(ok());
    return std::get<0>(v_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(v_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(v_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace furrow

// Returns from the enclosing function when `expr` is not OK.
#define FURROW_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::furrow::Status furrow_status_ = (expr);        \
    if (!furrow_status_.ok()) return furrow_status_; \
  } while (0)

#define FURROW_CONCAT_INNER_(a, b) a##b
#define FURROW_CONCAT_(a, b) FURROW_CONCAT_INNER_(a, b)
// FURROW_ASSIGN_OR_RETURN(auto x, F()): declares or assigns x, or returns F's Status.
#define FURROW_ASSIGN_OR_RETURN(lhs, expr) FURROW_ASSIGN_OR_RETURN_(FURROW_CONCAT_(furrow_result_, __LINE__), lhs, expr)
#define FURROW_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = std::move(tmp).value()
