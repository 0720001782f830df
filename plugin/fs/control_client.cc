// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace furrow {
namespace {

constexpr size_t kReceiveBytes = 256 << 10;

}  // namespace

Result<std::unique_ptr<ControlClient>> ControlClient::Connect(const std::string& identity, uid_t device_owner,
                                                              const ControlClientOptions& options) {
  FURROW_ASSIGN_OR_RETURN(UniqueFd socket, ConnectToControlSocket(identity));
  auto client = std::make_unique<ControlClient>(Private{}, std::move(socket), options);
  FURROW_RETURN_IF_ERROR(client->Hello(identity, device_owner));
  return client;
}

ControlClient::ControlClient(Private, UniqueFd socket, const ControlClientOptions& options)
    : socket_(std::move(socket)), options_(options) {}

Status ControlClient::Hello(const std::string& identity, uid_t device_owner) {
  FURROW_ASSIGN_OR_RETURN(const SocketPeer peer, PeerOf(socket_.get()));
  process_ = DescribeProcess(peer.pid);
  if (!options_.may_believe(peer.user, ::geteuid(), device_owner)) {
    return Status::PermissionDenied("process " + process_ + " of user " + std::to_string(peer.user) +
                                    " listens on the device's control socket, but it is neither root's, nor the " +
                                    "device owner's, nor yours: it is not asked");
  }
  Result<HelloReply> hello = Ask<HelloReply>(HelloRequest(), options_.hello_timeout);
  if (!hello.ok()) return hello.status().WithContext("process " + process_);
  if (hello->identity != identity) {
    return Status::NotFound("process " + process_ + " has another device mounted: " + hello->device);
  }
  server_ = std::move(*hello);
  if (peer.pid == 0) process_ = std::to_string(server_.pid) + " (" + server_.process + ") of another container";
  return Status::Ok();
}

Result<UsageSnapshot> ControlClient::Usage() {
  FURROW_ASSIGN_OR_RETURN(UsageReply reply, Ask<UsageReply>(UsageRequest(), options_.timeout));
  return std::move(reply.usage);
}

Result<std::vector<ZoneUsage>> ControlClient::Zones(bool with_files) {
  FURROW_ASSIGN_OR_RETURN(ZonesReply reply, Ask<ZonesReply>(ZonesRequest{with_files}, options_.timeout));
  return std::move(reply.zones);
}

Result<std::vector<FileInfo>> ControlClient::List(const std::string& path, bool recursive) {
  FURROW_ASSIGN_OR_RETURN(ListReply reply, Ask<ListReply>(ListRequest{path, recursive}, options_.timeout));
  return std::move(reply.files);
}

Result<FileInfo> ControlClient::Stat(const std::string& path, bool with_extents) {
  FURROW_ASSIGN_OR_RETURN(StatReply reply, Ask<StatReply>(StatRequest{path, with_extents}, options_.timeout));
  return std::move(reply.file);
}

Result<uint32_t> ControlClient::AcquireLease(uint32_t seconds) {
  FURROW_ASSIGN_OR_RETURN(const LeaseReply reply, Ask<LeaseReply>(LeaseAcquireRequest{seconds}, options_.timeout));
  return reply.seconds;
}

Result<uint32_t> ControlClient::RenewLease(uint32_t seconds) {
  FURROW_ASSIGN_OR_RETURN(const LeaseReply reply, Ask<LeaseReply>(LeaseRenewRequest{seconds}, options_.timeout));
  return reply.seconds;
}

Status ControlClient::ReleaseLease() {
  return Ask<LeaseReleaseReply>(LeaseReleaseRequest(), options_.timeout).status();
}

template <typename Reply>
Result<Reply> ControlClient::Ask(const ControlRequest& request, std::chrono::nanoseconds timeout) {
  FURROW_ASSIGN_OR_RETURN(ControlReply reply, Exchange(request, timeout));
  if (auto* wanted = std::get_if<Reply>(&reply)) return std::move(*wanted);
  if (const auto* error = std::get_if<ControlError>(&reply)) return error->ToStatus();
  socket_ = UniqueFd();
  return Status::Corruption("process " + process_ + " answered another question than was asked");
}

Result<ControlReply> ControlClient::Exchange(const ControlRequest& request, std::chrono::nanoseconds timeout) {
  if (broken()) return Status::IoError("the connection to process " + process_ + " has been given up");
  const std::string frame = EncodeControlRequest(request);
  if (frame.size() > kControlHeaderBytes + kMaxControlRequestBytes) {
    return Status::InvalidArgument("a path of " + std::to_string(frame.size()) + " bytes is too long to be asked for");
  }
  Result<ControlReply> reply = Converse(frame, options_.clock->Now() + timeout);
  // Out of step, or gone: nothing that comes later can be told from the answer to something else.
  if (!reply.ok()) socket_ = UniqueFd();
  return reply;
}

Result<ControlReply> ControlClient::Converse(const std::string& frame, std::chrono::nanoseconds end) {
  const Status sent = Send(frame, end);  // a server that turns us away says so before it hangs up: look first
  if (sent.code() == StatusCode::kDeadlineExceeded) return sent;
  std::string received;
  const Status status = Receive(kControlHeaderBytes, end, &received);
  if (!status.ok()) return sent.ok() ? status : sent;
  FURROW_ASSIGN_OR_RETURN(const ControlHeader header, DecodeControlHeader(received));
  FURROW_RETURN_IF_ERROR(CheckControlHeader(header, kMaxControlReplyBytes));
  received.clear();
  FURROW_RETURN_IF_ERROR(Receive(header.length, end, &received));
  return DecodeControlReply(header, received);
}

Status ControlClient::Send(const std::string& frame, std::chrono::nanoseconds end) {
  for (size_t sent = 0; sent < frame.size();) {
    const ssize_t n = ::send(socket_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      FURROW_RETURN_IF_ERROR(Wait(POLLOUT, end));
    } else if (errno != EINTR) {
      return Status::FromErrno(errno, "ask process " + process_);
    }
  }
  return Status::Ok();
}

Status ControlClient::Receive(size_t n, std::chrono::nanoseconds end, std::string* to) {
  while (n > 0) {
    // In pieces: a length alone makes nobody allocate.
    const size_t piece = std::min(n, kReceiveBytes);
    const size_t had = to->size();
    to->resize(had + piece);
    const ssize_t got = ::recv(socket_.get(), to->data() + had, piece, MSG_DONTWAIT);
    const int error = errno;
    to->resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) {
      n -= static_cast<size_t>(got);
    } else if (got == 0) {
      return Status::IoError("process " + process_ + " hung up before it had answered");
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      FURROW_RETURN_IF_ERROR(Wait(POLLIN, end));
    } else if (error != EINTR) {
      return Status::FromErrno(error, "hear from process " + process_);
    }
  }
  return Status::Ok();
}

Status ControlClient::Wait(short events, std::chrono::nanoseconds end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - options_.clock->Now());
  if (left.count() <= 0) return Status::DeadlineExceeded("process " + process_ + " did not answer in time");
  pollfd socket{socket_.get(), events, 0};
  // Whatever ends the wait, the caller looks whether there is something, and comes back if not.
  ::poll(&socket, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
  return Status::Ok();
}

}  // namespace furrow
