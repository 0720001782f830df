// SPDX-License-Identifier: Apache-2.0
//
// ControlClient: asks the process that has a device mounted, over its control socket. Owned by the caller; one thread
// at a time. Calls block, at most as long as the options say. A call that fails because of the connection (not because
// of what was asked) breaks it: every further call fails, and its lease is over.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "plugin/fs/control_message.h"
#include "plugin/fs/control_socket.h"
#include "util/clock.h"
#include "util/status.h"

namespace furrow {

struct ControlClientOptions {
  Clock* clock = SystemClock();
  std::chrono::nanoseconds hello_timeout = std::chrono::seconds(3);  // is anybody there?
  std::chrono::nanoseconds timeout = std::chrono::seconds(15);       // for each other answer, all of it
  bool (*may_believe)(uid_t server, uid_t client, uid_t device_owner) = &MayBelieveServer;  // tests are one user
};

class ControlClient {
  struct Private {};  // only Connect makes one

 public:
  // Connects to whoever has the device of this identity mounted read-write, and says hello. `device_owner`: the user
  // who owns the device's directory or node. NotFound: no mount that can be seen from here. PermissionDenied: the
  // listener is not to be believed, or does not answer this user. DeadlineExceeded, Busy, NotSupported (version),
  // Corruption, IoError: it is mounted, but no answer can be had; the message names the process.
  static Result<std::unique_ptr<ControlClient>> Connect(const std::string& identity, uid_t device_owner,
                                                        const ControlClientOptions& options);
  ControlClient(Private, UniqueFd socket, const ControlClientOptions& options);

  const HelloReply& server() const { return server_; }
  // "4711 (db_bench)".
  const std::string& process() const { return process_; }
  bool broken() const { return !socket_.valid(); }

  // NotSupported: the answer is too long to be sent; Busy: the server has too much to send already. Both leave the
  // connection usable.
  Result<UsageSnapshot> Usage();
  Result<std::vector<ZoneUsage>> Zones(bool with_files);
  Result<std::vector<FileInfo>> List(const std::string& path, bool recursive);
  Result<FileInfo> Stat(const std::string& path, bool with_extents);

  // From the return on no zone reset begins, for as many seconds as are returned (60 at most), until the lease is
  // released, the client dies, or the mount needs the space. Takes the place of an earlier lease. Busy: no lease now.
  Result<uint32_t> AcquireLease(uint32_t seconds);
  // NotFound: the lease is over, and zones may have been reset since.
  Result<uint32_t> RenewLease(uint32_t seconds);
  Status ReleaseLease();

 private:
  Status Hello(const std::string& identity, uid_t device_owner);
  // The reply of the wanted type, or the error that came instead.
  template <typename Reply>
  Result<Reply> Ask(const ControlRequest& request, std::chrono::nanoseconds timeout);
  Result<ControlReply> Exchange(const ControlRequest& request, std::chrono::nanoseconds timeout);
  Result<ControlReply> Converse(const std::string& frame, std::chrono::nanoseconds end);
  Status Send(const std::string& frame, std::chrono::nanoseconds end);
  // Exactly n bytes behind what is in *to.
  Status Receive(size_t n, std::chrono::nanoseconds end, std::string* to);
  Status Wait(short events, std::chrono::nanoseconds end);

  UniqueFd socket_;  // closed: broken
  const ControlClientOptions options_;
  HelloReply server_;
  std::string process_;
};

}  // namespace furrow
