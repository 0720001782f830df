// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/control_server.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

namespace furrow {
namespace {

constexpr int kLookAgainMs = 1000;   // at time limits, while there are clients
constexpr size_t kFixedSockets = 2;  // wake, listener

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::Start(ControlService* service,
                                                            const ControlServerOptions& options) {
  FURROW_ASSIGN_OR_RETURN(UniqueFd listener, ListenOnControlSocket(options.identity));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Status::FromErrno(errno, "make an eventfd");
  auto server = std::make_unique<ControlServer>(Private{}, service, options, std::move(listener), std::move(wake));
  try {
    server->thread_ = std::thread([raw = server.get()] { raw->Loop(); });
  } catch (const std::system_error& error) {
    return Status::IoError(std::string("start the control socket's thread: ") + error.what());
  }
  pthread_setname_np(server->thread_.native_handle(), "furrow-control");
  return server;
}

ControlServer::ControlServer(Private, ControlService* service, const ControlServerOptions& options, UniqueFd listener,
                             UniqueFd wake)
    : service_(service), options_(options), listener_(std::move(listener)), wake_(std::move(wake)) {}

ControlServer::~ControlServer() {
  stop_ = true;
  const uint64_t one = 1;
  const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  assert(written == sizeof(one));  // the counter has room
  static_cast<void>(written);
  if (thread_.joinable()) thread_.join();
}

void ControlServer::Loop() {
  std::vector<pollfd> sockets;
  while (!stop_) {
    Poll(&sockets);
    if (stop_) break;
    Serve(sockets);
  }
  sessions_.clear();
}

void ControlServer::Poll(std::vector<pollfd>* sockets) const {
  sockets->clear();
  sockets->push_back({wake_.get(), POLLIN, 0});
  sockets->push_back({listener_.get(), static_cast<short>(accept_failed_ ? 0 : POLLIN), 0});
  for (const auto& session : sessions_) {
    // One thing at a time: who does not take answers asks no more questions.
    sockets->push_back({session->socket(), static_cast<short>(session->wants_to_write() ? POLLOUT : POLLIN), 0});
  }
  const bool idle = sessions_.empty() && !accept_failed_;
  const bool busy = std::any_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s->pending(); });
  if (::poll(sockets->data(), sockets->size(), busy ? 0 : idle ? -1 : kLookAgainMs) < 0) {
    for (pollfd& socket : *sockets) socket.revents = 0;  // interrupted; nothing else can be wrong
  }
}

void ControlServer::Serve(const std::vector<pollfd>& sockets) {
  const std::chrono::nanoseconds now = options_.clock->Now();
  for (size_t i = 0; i < sessions_.size(); ++i) {
    ControlSession* const session = sessions_[i].get();
    const short events = sockets[kFixedSockets + i].revents;
    bool alive = true;
    if (events != 0 || session->pending()) alive = session->wants_to_write() ? session->Write(now) : session->Read(now);
    if (!alive || session->TimedOut(now)) sessions_[i].reset();
  }
  std::erase(sessions_, nullptr);
  const bool retry = std::exchange(accept_failed_, false);
  if (retry || sockets[1].revents != 0) AcceptAll();
}

void ControlServer::AcceptAll() {
  for (;;) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      Admit(std::move(socket));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    accept_failed_ = errno != EAGAIN && errno != EWOULDBLOCK;
    return;
  }
}

void ControlServer::Admit(UniqueFd socket) {
  const Result<SocketPeer> peer = PeerOf(socket.get());
  auto session =
      std::make_unique<ControlSession>(std::move(socket), service_, options_.limits, &queued_, options_.clock->Now());
  if (!peer.ok() || !options_.may_ask(peer->user, ::geteuid())) {
    session->Refuse(Status::PermissionDenied("process " + std::to_string(::getpid()) +
                                             " answers its own user and root only; read the device itself"));
    return;
  }
  if (sessions_.size() >= options_.limits.clients) {
    session->Refuse(Status::Busy("process " + std::to_string(::getpid()) + " already has " +
                                 std::to_string(sessions_.size()) + " control clients; try again later"));
    return;
  }
  sessions_.push_back(std::move(session));
}

}  // namespace furrow
