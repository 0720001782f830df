// SPDX-License-Identifier: Apache-2.0
//
// Control messages, which come from other processes: any frame decodes to an error, or to a message that encodes to
// bytes that decode to the same. An input is a frame; what is behind the length that it states is ignored.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/fs/control_message.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

furrow::Result<furrow::ControlHeader> HeaderOf(const std::string& frame) {
  return furrow::DecodeControlHeader(furrow::Bytes(frame).substr(0, furrow::kControlHeaderBytes));
}
furrow::Bytes BodyOf(const std::string& frame) { return furrow::Bytes(frame).substr(furrow::kControlHeaderBytes); }

void TryRequest(const furrow::ControlHeader& header, furrow::Bytes body) {
  const auto request = furrow::DecodeControlRequest(header, body);
  if (!request.ok()) return;
  const std::string frame = furrow::EncodeControlRequest(*request);
  const auto again = furrow::DecodeControlRequest(*HeaderOf(frame), BodyOf(frame));
  Require(again.ok() && again->index() == request->index());
  Require(furrow::EncodeControlRequest(*again) == frame);
}

void TryReply(const furrow::ControlHeader& header, furrow::Bytes body) {
  const auto reply = furrow::DecodeControlReply(header, body);
  if (!reply.ok()) return;
  const auto to = static_cast<furrow::ControlType>(header.type & ~furrow::kControlReply);
  const std::string frame = furrow::EncodeControlReply(*reply, to);
  const auto again = furrow::DecodeControlReply(*HeaderOf(frame), BodyOf(frame));
  Require(again.ok() && again->index() == reply->index());
  Require(furrow::EncodeControlReply(*again, to) == frame);
  if (const auto* error = std::get_if<furrow::ControlError>(&*reply)) Require(!error->ToStatus().ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  const auto header = furrow::DecodeControlHeader(input.substr(0, std::min(size, furrow::kControlHeaderBytes)));
  if (!header.ok() || !furrow::CheckControlHeader(*header, furrow::kMaxControlReplyBytes).ok()) return 0;
  const furrow::Bytes body = input.substr(furrow::kControlHeaderBytes);
  const furrow::Bytes stated = body.substr(0, header->length);
  TryRequest(*header, stated);
  TryReply(*header, stated);
  return 0;
}
