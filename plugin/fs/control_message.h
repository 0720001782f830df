// SPDX-License-Identifier: Apache-2.0
//
// Messages on the control socket of a mounted device (control_server.h, control_client.h): requests of a client, one
// reply each, in order. Value types and pure functions; any thread. What comes from a socket is not trusted: anything
// decodes to a message or to an error, with no more memory than a bounded multiple of its length.
//
//   frame    magic u32 "FCTL", version u16, type u16, length u32, then `length` bytes of body; little endian
//   body     the fields of the struct in order: bool u8 (0, 1); integers varint; strings varint length + bytes;
//            vectors varint count + elements; nothing may follow
//
// A reply's type is its request's with kControlReply set. These never change, so that two versions can tell each other
// what is wrong: the frame's header, and kError's body. Anything else that changes raises kControlVersion; new types do
// not (who does not know one answers kError, NotSupported).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "furrow/snapshot.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

inline constexpr uint16_t kControlVersion = 1;
inline constexpr size_t kControlHeaderBytes = 12;
// Longest bodies.
inline constexpr size_t kMaxControlRequestBytes = 64 << 10;
inline constexpr size_t kMaxControlReplyBytes = 64 << 20;

inline constexpr uint16_t kControlReply = 0x8000;
enum class ControlType : uint16_t {
  kError = 0,  // as a reply only
  kHello = 1,
  kUsage = 2,
  kZones = 3,
  kList = 4,
  kStat = 5,
  kLeaseAcquire = 6,
  kLeaseRenew = 7,
  kLeaseRelease = 8,
};

// --- requests
struct HelloRequest {};
struct UsageRequest {};
struct ZonesRequest {
  bool with_files = false;
};
struct ListRequest {
  std::string path;
  bool recursive = false;
};
struct StatRequest {
  std::string path;
  bool with_extents = false;
};
// From the reply on no zone reset begins for that long (at most 60 s, ZoneManager::HoldResets). A connection has one
// lease at most; it ends with the connection.
struct LeaseAcquireRequest {
  uint32_t seconds = 0;
};
struct LeaseRenewRequest {
  uint32_t seconds = 0;
};
struct LeaseReleaseRequest {};

// The order of the alternatives is that of ControlType, from kHello on.
using ControlRequest = std::variant<HelloRequest, UsageRequest, ZonesRequest, ListRequest, StatRequest,
                                    LeaseAcquireRequest, LeaseRenewRequest, LeaseReleaseRequest>;

// --- replies
struct ControlError {
  uint8_t code = 0;  // StatusCode, not kOk
  bool host = false;
  std::string message;

  static ControlError From(const Status& status);
  // A code that this version does not know becomes IoError.
  Status ToStatus() const;
};
struct HelloReply {
  std::string identity;  // ZonedDevice::Identity
  std::string device;    // "dir:/var/tmp/zones"
  uint64_t pid = 0;      // as the server sees itself
  std::string process;   // its name
};
struct UsageReply {
  UsageSnapshot usage;
};
struct ZonesReply {
  std::vector<ZoneUsage> zones;
};
struct ListReply {
  std::vector<FileInfo> files;
};
struct StatReply {
  FileInfo file;
};
struct LeaseReply {
  uint32_t seconds = 0;  // granted
};
struct LeaseReleaseReply {};

using ControlReply =
    std::variant<ControlError, HelloReply, UsageReply, ZonesReply, ListReply, StatReply, LeaseReply, LeaseReleaseReply>;

struct ControlHeader {
  uint16_t version = 0;
  uint16_t type = 0;
  uint32_t length = 0;  // bytes of the body
};

// Whole frames.
std::string EncodeControlRequest(const ControlRequest& request);
// `to` picks the type where the body alone does not (LeaseReply answers two requests). ControlError: kError.
std::string EncodeControlReply(const ControlReply& reply, ControlType to);

// Of kControlHeaderBytes bytes. Corruption: not a frame of ours at all.
Result<ControlHeader> DecodeControlHeader(Bytes header);
// May the body be read? NotSupported: another version (kError of any version is fine); InvalidArgument: too long.
Status CheckControlHeader(const ControlHeader& header, size_t longest);
// NotSupported: a type that this version does not know; Corruption: the body is not what the type says.
Result<ControlRequest> DecodeControlRequest(const ControlHeader& header, Bytes body);
Result<ControlReply> DecodeControlReply(const ControlHeader& header, Bytes body);

}  // namespace furrow
