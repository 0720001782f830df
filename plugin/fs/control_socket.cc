// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "util/checksum.h"

namespace furrow {
namespace {

constexpr const char* kPrefix = "furrow/1/";  // 1: the version of this naming
constexpr size_t kLongestIdentity = 80;       // escaped; sun_path takes 108 bytes
constexpr int kBacklog = 16;

struct Address {
  sockaddr_un un{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

Address AddressOf(const std::string& identity) {
  const std::string name = ControlSocketName(identity);
  Address address;
  address.un.sun_family = AF_UNIX;
  std::memcpy(address.un.sun_path + 1, name.data(), name.size());  // the first byte stays 0: abstract
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::string Hex(uint64_t v, int digits) {
  char text[17];
  std::snprintf(text, sizeof(text), "%0*llx", digits, static_cast<unsigned long long>(v));
  return text;
}

UniqueFd NewSocket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

std::string ControlSocketName(const std::string& identity) {
  std::string escaped;
  for (const char c : identity) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' ||
                       c == '-' || c == '_' || c == '.';
    escaped += plain ? std::string(1, c) : "%" + Hex(static_cast<unsigned char>(c), 2);
  }
  if (escaped.size() > kLongestIdentity) {
    // The hello says the whole identity, so that two names that are shortened alike do no harm.
    escaped = escaped.substr(0, kLongestIdentity - 17) + "#" + Hex(Checksum(identity), 16);
  }
  return kPrefix + escaped;
}

Result<UniqueFd> ListenOnControlSocket(const std::string& identity) {
  UniqueFd fd = NewSocket();
  if (!fd.valid()) return Status::FromErrno(errno, "make a control socket");
  const Address address = AddressOf(identity);
  const std::string name = "control socket @" + ControlSocketName(identity);
  if (::bind(fd.get(), address.get(), address.length) != 0) {
    if (errno == EADDRINUSE) return Status::AlreadyExists(name + " is taken (see it with `ss -xlp`)");
    return Status::FromErrno(errno, "bind " + name);
  }
  if (::listen(fd.get(), kBacklog) != 0) return Status::FromErrno(errno, "listen on " + name);
  return fd;
}

Result<UniqueFd> ConnectToControlSocket(const std::string& identity) {
  UniqueFd fd = NewSocket();
  if (!fd.valid()) return Status::FromErrno(errno, "make a socket");
  const Address address = AddressOf(identity);
  int outcome;
  do {
    outcome = ::connect(fd.get(), address.get(), address.length);
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0) return fd;
  const std::string name = "control socket @" + ControlSocketName(identity);
  if (errno == ECONNREFUSED) return Status::NotFound(name + ": no mount listens there");
  if (errno == EAGAIN) return Status::Busy(name + ": too many connections wait; try again");
  return Status::FromErrno(errno, "connect to " + name);
}

Result<SocketPeer> PeerOf(int socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return Status::FromErrno(errno, "ask who is at the other end of a control socket");
  }
  return SocketPeer{credentials.pid, credentials.uid};
}

std::string DescribeProcess(pid_t pid) {
  std::string number = std::to_string(pid);
  const std::string path = "/proc/" + number + "/comm";
  const Result<std::string> name = ReadSmallFile(AT_FDCWD, path, 64, path);
  if (!name.ok() || name->empty()) return number;
  return number + " (" + name->substr(0, name->find('\n')) + ")";
}

}  // namespace furrow
