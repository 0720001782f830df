// SPDX-License-Identifier: Apache-2.0
//
// ControlService: what a control socket asks of the mount behind it. ControlSession: one client of a control server:
// its connection, the bytes under way, its lease. Owned by the server, used by the server's thread alone. Nothing here
// waits for the client: what it does not take now is kept, and no further request of it is read until it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "furrow/snapshot.h"
#include "plugin/device/host_io.h"
#include "plugin/fs/control_message.h"
#include "util/status.h"

namespace furrow {

// Implemented by the mount (volume_control.h). Called by the server's thread; may take as long as a snapshot does.
class ControlService {
 public:
  virtual ~ControlService() = default;
  virtual HelloReply Hello() = 0;
  virtual UsageSnapshot Usage() = 0;
  virtual std::vector<ZoneUsage> Zones(bool with_files) = 0;
  virtual Result<std::vector<FileInfo>> List(const std::string& path, bool recursive) = 0;
  virtual Result<FileInfo> Stat(const std::string& path, bool with_extents) = 0;
  // As ZoneManager::HoldResets and the two behind it.
  virtual Result<uint64_t> HoldResets(std::chrono::seconds duration) = 0;
  virtual Status RenewResetHold(uint64_t hold, std::chrono::seconds duration) = 0;
  virtual void ReleaseResets(uint64_t hold) = 0;
};

struct ControlLimits {
  size_t clients = 16;                                          // at a time
  std::chrono::nanoseconds idle = std::chrono::minutes(2);      // without a request
  std::chrono::nanoseconds stalled = std::chrono::seconds(10);  // a reply of which nothing was taken
  size_t reply_bytes = kMaxControlReplyBytes;                   // the longest reply
  size_t queued_bytes = 2 * kMaxControlReplyBytes;              // replies kept for all clients together
};

class ControlSession {
 public:
  // `queued`: bytes kept for all sessions of the server.
  ControlSession(UniqueFd socket, ControlService* service, const ControlLimits& limits, size_t* queued,
                 std::chrono::nanoseconds now);
  // Ends the lease.
  ~ControlSession();
  ControlSession(const ControlSession&) = delete;
  ControlSession& operator=(const ControlSession&) = delete;

  int socket() const { return socket_.get(); }
  bool wants_to_write() const { return sent_ < out_.size(); }
  // There may be another request among what has been read.
  bool pending() const { return pending_ && !wants_to_write(); }
  // Each does what can be done without waiting, and answers one request at most. False: the session is over.
  bool Read(std::chrono::nanoseconds now);
  bool Write(std::chrono::nanoseconds now);
  // The client has been silent, or has not taken its reply, for too long.
  bool TimedOut(std::chrono::nanoseconds now) const;
  // Tells the client why it is turned away, as far as that can be done at once.
  void Refuse(const Status& why);

 private:
  // Answers the first request that has arrived whole, unless an answer is still being sent.
  bool Proceed(std::chrono::nanoseconds now);
  bool Send(std::chrono::nanoseconds now);
  bool Finished() const { return hung_up_ && !pending_ && !wants_to_write(); }
  void Answer(const ControlHeader& header, Bytes body);
  ControlReply Serve(const ControlRequest& request);
  ControlReply Acquire(uint32_t seconds);
  ControlReply Renew(uint32_t seconds);
  void ReleaseLease();
  void Queue(std::string frame);

  const UniqueFd socket_;
  ControlService* const service_;
  const ControlLimits limits_;
  size_t* const queued_;
  std::string in_;
  std::string out_;
  size_t sent_ = 0;       // bytes of out_
  uint64_t lease_ = 0;    // 0: none
  bool closing_ = false;  // once out_ is sent
  bool pending_ = false;
  bool hung_up_ = false;  // no more will come
  std::chrono::nanoseconds last_progress_;
};

}  // namespace furrow
