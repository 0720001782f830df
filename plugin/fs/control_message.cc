// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/control_message.h"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "util/coding.h"

namespace furrow {
namespace {

constexpr uint32_t kMagic = 0x4c544346;  // "FCTL"
constexpr uint8_t kLastStatusCode = static_cast<uint8_t>(StatusCode::kZoneFull);

template <typename T, typename Message>
concept Like = std::same_as<std::remove_const_t<T>, Message>;

// The fields of each struct, once for both directions. The structured bindings have to name all of them: a field that
// is added to a snapshot does not compile here until it is listed (then raise kControlVersion).
template <typename Code, Like<HelloRequest> T>
void Fields(Code&, T&) {}
template <typename Code, Like<UsageRequest> T>
void Fields(Code&, T&) {}
template <typename Code, Like<LeaseReleaseRequest> T>
void Fields(Code&, T&) {}
template <typename Code, Like<LeaseReleaseReply> T>
void Fields(Code&, T&) {}

template <typename Code, Like<ZonesRequest> T>
void Fields(Code& code, T& m) {
  auto& [with_files] = m;
  code(with_files);
}
template <typename Code, Like<ListRequest> T>
void Fields(Code& code, T& m) {
  auto& [path, recursive] = m;
  code(path, recursive);
}
template <typename Code, Like<StatRequest> T>
void Fields(Code& code, T& m) {
  auto& [path, with_extents] = m;
  code(path, with_extents);
}
template <typename Code, Like<LeaseAcquireRequest> T>
void Fields(Code& code, T& m) {
  code(m.seconds);
}
template <typename Code, Like<LeaseRenewRequest> T>
void Fields(Code& code, T& m) {
  code(m.seconds);
}
template <typename Code, Like<LeaseReply> T>
void Fields(Code& code, T& m) {
  code(m.seconds);
}
template <typename Code, Like<ControlError> T>
void Fields(Code& code, T& m) {
  auto& [number, host, message] = m;
  code(number, host, message);
}
template <typename Code, Like<HelloReply> T>
void Fields(Code& code, T& m) {
  auto& [identity, device, pid, process] = m;
  code(identity, device, pid, process);
}
template <typename Code, Like<ZoneFileUse> T>
void Fields(Code& code, T& m) {
  auto& [id, path, bytes] = m;
  code(id, path, bytes);
}
template <typename Code, Like<ZoneUsage> T>
void Fields(Code& code, T& m) {
  auto& [zone, condition, role, lifetime, start, write_pointer, capacity, live, stale, generation, resets, sealed,
         files] = m;
  code(zone, condition, role, lifetime, start, write_pointer, capacity, live, stale, generation, resets, sealed, files);
}
template <typename Code, Like<ExtentInfo> T>
void Fields(Code& code, T& m) {
  auto& [file_offset, length, zone, zone_offset] = m;
  code(file_offset, length, zone, zone_offset);
}
template <typename Code, Like<FileInfo> T>
void Fields(Code& code, T& m) {
  auto& [id, path, is_directory, kind, lifetime, size, durable, mtime, links, damaged, extents] = m;
  code(id, path, is_directory, kind, lifetime, size, durable, mtime, links, damaged, extents);
}
template <typename Code, Like<UsageSnapshot> T>
void Fields(Code& code, T& m) {
  auto& [device, uuid, label, read_only, format, compat, ro_compat, incompat, created, epoch, clean, block, zone_count,
         max_open, max_active, zone_size, zone_capacity, capacity, reserve, live, stale, unusable, free, writable,
         memory, host, absorbed, staged, written, padding, sync_padding, metadata, copied, finish_padding, sync_frames,
         resets, empty, open, closed, full, zones_read_only, offline, active, active_limit, files, directories, extents,
         stage_path, stage_promise, stage_limit, stage_allocated, stage_used] = m;
  code(device, uuid, label, read_only, format, compat, ro_compat, incompat, created, epoch, clean);
  code(block, zone_count, max_open, max_active, zone_size, zone_capacity);
  code(capacity, reserve, live, stale, unusable, free, writable, memory);
  code(host, absorbed, staged, written, padding, sync_padding, metadata, copied, finish_padding, sync_frames, resets);
  code(empty, open, closed, full, zones_read_only, offline, active, active_limit, files, directories, extents);
  code(stage_path, stage_promise, stage_limit, stage_allocated, stage_used);
}
template <typename Code, Like<UsageReply> T>
void Fields(Code& code, T& m) {
  code(m.usage);
}
template <typename Code, Like<ZonesReply> T>
void Fields(Code& code, T& m) {
  code(m.zones);
}
template <typename Code, Like<ListReply> T>
void Fields(Code& code, T& m) {
  code(m.files);
}
template <typename Code, Like<StatReply> T>
void Fields(Code& code, T& m) {
  code(m.file);
}

class Writer {
 public:
  explicit Writer(std::string* out) : out_(out) {}

  template <typename... T>
  void operator()(const T&... fields) {
    (Put(fields), ...);
  }

 private:
  void Put(bool v) { PutFixed8(out_, v ? 1 : 0); }
  void Put(uint8_t v) { PutFixed8(out_, v); }
  void Put(uint32_t v) { PutVarint(out_, v); }
  void Put(uint64_t v) { PutVarint(out_, v); }
  void Put(const std::string& v) { PutString(out_, v); }
  template <typename T>
  void Put(const std::vector<T>& v) {
    PutVarint(out_, v.size());
    for (const T& element : v) Put(element);
  }
  template <typename T>
  requires std::is_aggregate_v<T>
  void Put(const T& v) { Fields(*this, v); }

  std::string* const out_;
};

class Reader {
 public:
  explicit Reader(Bytes in) : in_(in) {}

  template <typename... T>
  void operator()(T&... fields) {
    (Get(fields), ...);
  }
  bool Done() const { return ok_ && in_.Done(); }

 private:
  void Get(bool& v) {
    const uint8_t byte = in_.Fixed8();
    if (byte > 1) ok_ = false;
    v = byte == 1;
  }
  void Get(uint8_t& v) { v = in_.Fixed8(); }
  void Get(uint32_t& v) { v = in_.Varint32(); }
  void Get(uint64_t& v) { v = in_.Varint(); }
  void Get(std::string& v) { v = in_.String(); }
  template <typename T>
  void Get(std::vector<T>& v) {
    const uint64_t count = in_.Varint();
    if (count > in_.remaining()) ok_ = false;  // each element takes a byte at least
    for (uint64_t i = 0; i < count && ok_ && !in_.failed(); ++i) Get(v.emplace_back());
  }
  template <typename T>
  requires std::is_aggregate_v<T>
  void Get(T& v) { Fields(*this, v); }

  Decoder in_;
  bool ok_ = true;
};

std::string EncodeFrame(uint16_t type, const auto& message) {
  std::string frame;
  PutFixed32(&frame, kMagic);
  PutFixed16(&frame, kControlVersion);
  PutFixed16(&frame, type);
  PutFixed32(&frame, 0);
  std::visit([&frame](const auto& body) { Writer(&frame).operator()(body); }, message);
  EncodeFixed32(frame.data() + kControlHeaderBytes - 4, static_cast<uint32_t>(frame.size() - kControlHeaderBytes));
  return frame;
}

std::string NameOf(const ControlHeader& header) {
  return "control message of type " + std::to_string(header.type) + " and " + std::to_string(header.length) + " bytes";
}

template <typename Body, typename Message>
Result<Message> DecodeAs(const ControlHeader& header, Bytes bytes) {
  Body body;
  Reader reader(bytes);
  reader(body);
  if (bytes.size() != header.length || !reader.Done()) {
    return Status::Corruption(NameOf(header) + ": its bytes are not what the type says; use a furrow of one version");
  }
  return Message(std::move(body));
}

Status UnknownType(const ControlHeader& header) {
  return Status::NotSupported(NameOf(header) + " is not known here; use a furrow of one version");
}

}  // namespace

ControlError ControlError::From(const Status& status) {
  return {static_cast<uint8_t>(status.code()), status.host(), status.message()};
}

Status ControlError::ToStatus() const {
  const bool known = code != 0 && code <= kLastStatusCode;
  Status status(known ? static_cast<StatusCode>(code) : StatusCode::kIoError, message);
  if (host) status.MarkHost();
  return status;
}

std::string EncodeControlRequest(const ControlRequest& request) {
  return EncodeFrame(static_cast<uint16_t>(request.index() + 1), request);
}

std::string EncodeControlReply(const ControlReply& reply, ControlType to) {
  const bool error = std::holds_alternative<ControlError>(reply);
  return EncodeFrame(kControlReply | static_cast<uint16_t>(error ? ControlType::kError : to), reply);
}

Result<ControlHeader> DecodeControlHeader(Bytes header) {
  Decoder in(header);
  const uint32_t magic = in.Fixed32();
  ControlHeader out;
  out.version = in.Fixed16();
  out.type = in.Fixed16();
  out.length = in.Fixed32();
  if (!in.Done() || magic != kMagic) return Status::Corruption("not a control message of furrow");
  return out;
}

Status CheckControlHeader(const ControlHeader& header, size_t longest) {
  const bool error = header.type == (kControlReply | static_cast<uint16_t>(ControlType::kError));
  if (header.version != kControlVersion && !error) {
    return Status::NotSupported("control messages of version " + std::to_string(header.version) + ", version " +
                                std::to_string(kControlVersion) +
                                " is wanted; use the furrow command that belongs to the mounted library");
  }
  if (header.length > longest) {
    return Status::InvalidArgument(NameOf(header) + " is too long; at most " + std::to_string(longest) +
                                   " bytes are allowed");
  }
  return Status::Ok();
}

Result<ControlRequest> DecodeControlRequest(const ControlHeader& header, Bytes body) {
  switch (static_cast<ControlType>(header.type)) {
    case ControlType::kHello: return DecodeAs<HelloRequest, ControlRequest>(header, body);
    case ControlType::kUsage: return DecodeAs<UsageRequest, ControlRequest>(header, body);
    case ControlType::kZones: return DecodeAs<ZonesRequest, ControlRequest>(header, body);
    case ControlType::kList: return DecodeAs<ListRequest, ControlRequest>(header, body);
    case ControlType::kStat: return DecodeAs<StatRequest, ControlRequest>(header, body);
    case ControlType::kLeaseAcquire: return DecodeAs<LeaseAcquireRequest, ControlRequest>(header, body);
    case ControlType::kLeaseRenew: return DecodeAs<LeaseRenewRequest, ControlRequest>(header, body);
    case ControlType::kLeaseRelease: return DecodeAs<LeaseReleaseRequest, ControlRequest>(header, body);
    case ControlType::kError: break;
  }
  return UnknownType(header);
}

Result<ControlReply> DecodeControlReply(const ControlHeader& header, Bytes body) {
  if ((header.type & kControlReply) == 0) return UnknownType(header);
  switch (static_cast<ControlType>(header.type & ~kControlReply)) {
    case ControlType::kError: return DecodeAs<ControlError, ControlReply>(header, body);
    case ControlType::kHello: return DecodeAs<HelloReply, ControlReply>(header, body);
    case ControlType::kUsage: return DecodeAs<UsageReply, ControlReply>(header, body);
    case ControlType::kZones: return DecodeAs<ZonesReply, ControlReply>(header, body);
    case ControlType::kList: return DecodeAs<ListReply, ControlReply>(header, body);
    case ControlType::kStat: return DecodeAs<StatReply, ControlReply>(header, body);
    case ControlType::kLeaseAcquire:
    case ControlType::kLeaseRenew: return DecodeAs<LeaseReply, ControlReply>(header, body);
    case ControlType::kLeaseRelease: return DecodeAs<LeaseReleaseReply, ControlReply>(header, body);
  }
  return UnknownType(header);
}

}  // namespace furrow
