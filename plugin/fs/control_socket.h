// SPDX-License-Identifier: Apache-2.0
//
// The control socket as the host sees it: a Unix stream socket in Linux's abstract name space, named after the device,
// so that there is no file to be found or cleaned up (docs/design/0005-control-socket.md). Anybody can take an abstract
// name and anybody can connect to it, so both sides ask the kernel who the other one is. Stateless functions; any
// thread. The sockets are non-blocking and close on exec.
#pragma once

#include <sys/types.h>

#include <string>

#include "plugin/device/host_io.h"
#include "util/status.h"

namespace furrow {

// Behind the leading zero byte: "furrow/1/" and the device's identity, escaped, shortened where it is too long.
std::string ControlSocketName(const std::string& identity);

// Bound and listening. AlreadyExists: the name is taken (by a mount, or by anybody else); IoError.
Result<UniqueFd> ListenOnControlSocket(const std::string& identity);
// Connected. NotFound: nobody listens, as far as this network name space shows; Busy: more connect than it accepts.
Result<UniqueFd> ConnectToControlSocket(const std::string& identity);

struct SocketPeer {
  pid_t pid = 0;  // 0: not visible from here (another process name space)
  uid_t user = 0;
};
// Who connected, or for a client, who listens. IoError.
Result<SocketPeer> PeerOf(int socket);

// A server answers its own user, who may read the device anyway, and root.
constexpr bool MayAskServer(uid_t client, uid_t server) { return client == server || client == 0; }
// A client believes its own user, root, and whoever owns the device: the owner could as well have written what
// the device says. That holds for root too: an unprivileged stranger who took the name of somebody else's device tells
// root nothing.
constexpr bool MayBelieveServer(uid_t server, uid_t client, uid_t device_owner) {
  return server == client || server == 0 || server == device_owner;
}

// "4711 (db_bench)", or "4711" where the name cannot be read.
std::string DescribeProcess(pid_t pid);

}  // namespace furrow
