// SPDX-License-Identifier: Apache-2.0
//
// ControlServer: answers on the control socket of a mounted device. Owned by the mount, which starts it last and stops
// it first. One thread serves all clients and waits for none of them; without clients it sleeps. Only processes of this
// process's effective user and of root are answered.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "plugin/fs/control_session.h"
#include "plugin/fs/control_socket.h"
#include "util/clock.h"
#include "util/status.h"

namespace furrow {

struct ControlServerOptions {
  std::string identity;  // of the device
  Clock* clock = nullptr;
  ControlLimits limits;
  bool (*may_ask)(uid_t client, uid_t server) = &MayAskServer;  // tests are one user
};

class ControlServer {
  struct Private {};  // only Start makes one

 public:
  // Listens and starts the thread. `service` outlives the server. AlreadyExists: somebody has the name; IoError.
  static Result<std::unique_ptr<ControlServer>> Start(ControlService* service, const ControlServerOptions& options);
  ControlServer(Private, ControlService* service, const ControlServerOptions& options, UniqueFd listener,
                UniqueFd wake);
  // Waits for an answer in progress; connections and leases end.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  void Loop();
  // Waits until a socket has something to do, or time may be up for somebody.
  void Poll(std::vector<pollfd>* sockets) const;
  void Serve(const std::vector<pollfd>& sockets);
  void AcceptAll();
  void Admit(UniqueFd socket);

  ControlService* const service_;
  const ControlServerOptions options_;
  const UniqueFd listener_;
  const UniqueFd wake_;  // eventfd
  std::atomic<bool> stop_{false};

  // The thread's own.
  std::vector<std::unique_ptr<ControlSession>> sessions_;
  size_t queued_ = 0;           // bytes kept for the sessions
  bool accept_failed_ = false;  // out of descriptors: look again a little later

  std::thread thread_;  // written by Start and the destructor
};

}  // namespace furrow
