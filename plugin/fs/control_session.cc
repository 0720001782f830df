// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/control_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "plugin/zone/reset_holds.h"

namespace furrow {
namespace {

constexpr size_t kReadBytes = 16 << 10;
// Replies up to this long are always kept: errors, files, usage.
constexpr size_t kSmallReply = 64 << 10;

uint32_t Granted(uint32_t seconds) { return std::min<uint32_t>(seconds, static_cast<uint32_t>(kMaxResetHold.count())); }

template <typename Reply, typename T>
ControlReply ReplyOr(Result<T> result) {
  if (!result.ok()) return ControlError::From(result.status());
  return Reply{std::move(result).value()};
}

}  // namespace

ControlSession::ControlSession(UniqueFd socket, ControlService* service, const ControlLimits& limits, size_t* queued,
                               std::chrono::nanoseconds now)
    : socket_(std::move(socket)), service_(service), limits_(limits), queued_(queued), last_progress_(now) {}

ControlSession::~ControlSession() {
  ReleaseLease();
  *queued_ -= out_.size();
}

bool ControlSession::Read(std::chrono::nanoseconds now) {
  char buffer[kReadBytes];
  const ssize_t n = ::recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n == 0) hung_up_ = true;  // it may still wait for answers
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return false;
  if (n > 0) in_.append(buffer, static_cast<size_t>(n));
  return Proceed(now) && !Finished();
}

bool ControlSession::Write(std::chrono::nanoseconds now) { return Send(now) && Proceed(now) && !Finished(); }

bool ControlSession::Send(std::chrono::nanoseconds now) {
  while (wants_to_write()) {
    const ssize_t n = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<size_t>(n);
    last_progress_ = now;
  }
  *queued_ -= out_.size();
  std::string().swap(out_);  // replies may be large
  sent_ = 0;
  return !closing_;
}

bool ControlSession::TimedOut(std::chrono::nanoseconds now) const {
  return now - last_progress_ >= (wants_to_write() ? limits_.stalled : limits_.idle);
}

void ControlSession::Refuse(const Status& why) {
  Queue(EncodeControlReply(ControlError::From(why), ControlType::kError));
  static_cast<void>(Send(last_progress_));  // it is turned away in any case
}

bool ControlSession::Proceed(std::chrono::nanoseconds now) {
  pending_ = false;
  if (wants_to_write() || in_.size() < kControlHeaderBytes) return true;
  const Bytes all(in_);
  const Result<ControlHeader> header = DecodeControlHeader(all.substr(0, kControlHeaderBytes));
  const Status status = header.ok() ? CheckControlHeader(*header, kMaxControlRequestBytes) : header.status();
  if (status.ok()) {
    const size_t end = kControlHeaderBytes + header->length;
    if (in_.size() < end) return true;
    Answer(*header, all.substr(kControlHeaderBytes, header->length));
    in_.erase(0, end);
    last_progress_ = now;
  } else {
    // Nobody knows where the next message begins.
    Queue(EncodeControlReply(ControlError::From(status), ControlType::kError));
    closing_ = true;
  }
  pending_ = in_.size() >= kControlHeaderBytes;
  return Send(now);
}

void ControlSession::Answer(const ControlHeader& header, Bytes body) {
  const Result<ControlRequest> request = DecodeControlRequest(header, body);
  const ControlReply reply = request.ok() ? Serve(*request) : ControlError::From(request.status());
  std::string frame = EncodeControlReply(reply, static_cast<ControlType>(header.type));
  const size_t longest = kControlHeaderBytes + limits_.reply_bytes;
  Status refusal;
  if (frame.size() > longest) {
    refusal = Status::NotSupported("the answer has " + std::to_string(frame.size()) + " bytes, at most " +
                                   std::to_string(longest) + " are sent: read the device itself");
  } else if (frame.size() > kSmallReply && *queued_ + frame.size() > limits_.queued_bytes) {
    refusal = Status::Busy("other clients have not taken their answers yet; try again");
  }
  if (!refusal.ok()) frame = EncodeControlReply(ControlError::From(refusal), ControlType::kError);
  Queue(std::move(frame));
}

ControlReply ControlSession::Serve(const ControlRequest& request) {
  if (std::holds_alternative<HelloRequest>(request)) return service_->Hello();
  if (std::holds_alternative<UsageRequest>(request)) return UsageReply{service_->Usage()};
  if (const auto* zones = std::get_if<ZonesRequest>(&request)) return ZonesReply{service_->Zones(zones->with_files)};
  if (const auto* list = std::get_if<ListRequest>(&request)) {
    return ReplyOr<ListReply>(service_->List(list->path, list->recursive));
  }
  if (const auto* stat = std::get_if<StatRequest>(&request)) {
    return ReplyOr<StatReply>(service_->Stat(stat->path, stat->with_extents));
  }
  if (const auto* acquire = std::get_if<LeaseAcquireRequest>(&request)) return Acquire(acquire->seconds);
  if (const auto* renew = std::get_if<LeaseRenewRequest>(&request)) return Renew(renew->seconds);
  ReleaseLease();
  return LeaseReleaseReply();
}

ControlReply ControlSession::Acquire(uint32_t seconds) {
  ReleaseLease();  // one at a time
  const Result<uint64_t> hold = service_->HoldResets(std::chrono::seconds(Granted(seconds)));
  if (!hold.ok()) return ControlError::From(hold.status());
  lease_ = *hold;
  return LeaseReply{Granted(seconds)};
}

ControlReply ControlSession::Renew(uint32_t seconds) {
  if (lease_ == 0) return ControlError::From(Status::NotFound("this connection has no lease; acquire one"));
  const Status status = service_->RenewResetHold(lease_, std::chrono::seconds(Granted(seconds)));
  if (status.ok()) return LeaseReply{Granted(seconds)};
  lease_ = 0;
  return ControlError::From(status);
}

void ControlSession::ReleaseLease() {
  if (lease_ != 0) service_->ReleaseResets(std::exchange(lease_, 0));
}

void ControlSession::Queue(std::string frame) {
  *queued_ += frame.size();
  out_ = std::move(frame);
  sent_ = 0;
}

}  // namespace furrow
