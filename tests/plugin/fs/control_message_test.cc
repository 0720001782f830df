// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/control_message.h"

#include <gtest/gtest.h>

#include <iostream>

#include "tests/plugin/fs/control_samples.h"
#include "util/coding.h"
#include "util/rng.h"

namespace furrow {
namespace {

Result<ControlHeader> HeaderOf(const std::string& frame) {
  return DecodeControlHeader(Bytes(frame).substr(0, kControlHeaderBytes));
}
Bytes BodyOf(const std::string& frame) { return Bytes(frame).substr(kControlHeaderBytes); }

// Decoding what was encoded and encoding it again gives the same bytes; and each field counts, as the samples have no
// two fields alike (control_samples.h).
TEST(ControlMessageTest, RequestsSurviveTheRoundTrip) {
  uint16_t type = 1;
  for (const ControlRequest& request : SampleRequests()) {
    SCOPED_TRACE(type);
    const std::string frame = EncodeControlRequest(request);
    const Result<ControlHeader> header = HeaderOf(frame);
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->version, kControlVersion);
    EXPECT_EQ(header->type, type++);
    EXPECT_EQ(header->length, frame.size() - kControlHeaderBytes);
    ASSERT_TRUE(CheckControlHeader(*header, kMaxControlRequestBytes).ok());
    const Result<ControlRequest> back = DecodeControlRequest(*header, BodyOf(frame));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->index(), request.index());
    EXPECT_EQ(EncodeControlRequest(*back), frame);
  }
}

TEST(ControlMessageTest, RepliesSurviveTheRoundTrip) {
  for (const auto& [to, reply] : SampleReplies()) {
    SCOPED_TRACE(static_cast<int>(to));
    const std::string frame = EncodeControlReply(reply, to);
    const Result<ControlHeader> header = HeaderOf(frame);
    ASSERT_TRUE(header.ok());
    const Result<ControlReply> back = DecodeControlReply(*header, BodyOf(frame));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->index(), reply.index());
    EXPECT_EQ(EncodeControlReply(*back, to), frame);
  }
}

TEST(ControlMessageTest, FieldsComeBackWhereTheyBelong) {
  const auto back = [](const ControlReply& reply, ControlType to) {
    const std::string frame = EncodeControlReply(reply, to);
    return *DecodeControlReply(*HeaderOf(frame), BodyOf(frame));
  };
  const UsageSnapshot usage = std::get<UsageReply>(back(UsageReply{SampleUsage()}, ControlType::kUsage)).usage;
  EXPECT_EQ(usage.label, SampleUsage().label);
  EXPECT_EQ(usage.host_bytes_written, SampleUsage().host_bytes_written);
  EXPECT_EQ(usage.extents, SampleUsage().extents);
  const auto zones = std::get<ZonesReply>(back(ZonesReply{{SampleZone(), SampleZone()}}, ControlType::kZones)).zones;
  ASSERT_EQ(zones.size(), 2u);
  EXPECT_EQ(zones[1].files[1].path, SampleZone().files[1].path);
  EXPECT_TRUE(zones[1].sealed);
  const FileInfo file = std::get<StatReply>(back(StatReply{SampleFile()}, ControlType::kStat)).file;
  EXPECT_EQ(file.path, SampleFile().path);
  EXPECT_EQ(file.extents[0].zone_offset, SampleFile().extents[0].zone_offset);
}

TEST(ControlMessageTest, ErrorsKeepCodeAndMessage) {
  const Status busy = Status::Busy("held by 'x'");
  const std::string frame = EncodeControlReply(ControlError::From(busy), ControlType::kUsage);
  EXPECT_EQ(HeaderOf(frame)->type, kControlReply);
  const Result<ControlReply> reply = DecodeControlReply(*HeaderOf(frame), BodyOf(frame));
  const Status back = std::get<ControlError>(*reply).ToStatus();
  EXPECT_EQ(back.code(), StatusCode::kBusy);
  EXPECT_EQ(back.message(), busy.message());
  EXPECT_FALSE(back.host());
  EXPECT_TRUE(ControlError::From(Status::NoSpace("host").MarkHost()).ToStatus().host());
  // One that a later version may send.
  EXPECT_EQ((ControlError{200, false, "new"}).ToStatus().code(), StatusCode::kIoError);
  EXPECT_EQ((ControlError{0, false, "none"}).ToStatus().code(), StatusCode::kIoError);
}

TEST(ControlMessageTest, TruncatedAndLengthenedBodiesAreRefused) {
  for (const auto& [to, reply] : SampleReplies()) {
    const std::string frame = EncodeControlReply(reply, to);
    for (size_t n = 0; n < frame.size() - kControlHeaderBytes; ++n) {
      ControlHeader header = *HeaderOf(frame);
      EXPECT_FALSE(DecodeControlReply(header, BodyOf(frame).substr(0, n)).ok()) << n;
      header.length = static_cast<uint32_t>(n);
      EXPECT_EQ(DecodeControlReply(header, BodyOf(frame).substr(0, n)).status().code(), StatusCode::kCorruption) << n;
    }
    const std::string longer = frame + "x";
    ControlHeader header = *HeaderOf(frame);
    header.length++;
    EXPECT_FALSE(DecodeControlReply(header, BodyOf(longer)).ok());
  }
  for (const ControlRequest& request : SampleRequests()) {
    const std::string longer = EncodeControlRequest(request) + "x";
    ControlHeader header = *HeaderOf(longer);
    header.length++;
    EXPECT_FALSE(DecodeControlRequest(header, BodyOf(longer)).ok());
  }
}

TEST(ControlMessageTest, HeadersAreChecked) {
  const std::string frame = EncodeControlRequest(UsageRequest());
  for (size_t n = 0; n < kControlHeaderBytes; ++n) EXPECT_FALSE(DecodeControlHeader(Bytes(frame).substr(0, n)).ok());
  std::string foreign = frame;
  foreign[0] ^= 1;
  EXPECT_EQ(HeaderOf(foreign).status().code(), StatusCode::kCorruption);

  ControlHeader header = *HeaderOf(frame);
  header.length = kMaxControlRequestBytes + 1;
  EXPECT_EQ(CheckControlHeader(header, kMaxControlRequestBytes).code(), StatusCode::kInvalidArgument);
  header.length = kMaxControlRequestBytes;
  EXPECT_TRUE(CheckControlHeader(header, kMaxControlRequestBytes).ok());
  header.version = kControlVersion + 1;
  const Status other = CheckControlHeader(header, kMaxControlRequestBytes);
  EXPECT_EQ(other.code(), StatusCode::kNotSupported);
  EXPECT_NE(other.message().find("version 2"), std::string::npos) << other.message();
  header.type = kControlReply;  // an error can be understood across versions
  EXPECT_TRUE(CheckControlHeader(header, kMaxControlRequestBytes).ok());
}

TEST(ControlMessageTest, UnknownTypesAreNotSupported) {
  for (const uint16_t type : {0, 9, 0x7fff, 0x8000, 0x8001, 0xffff}) {
    const ControlHeader header{kControlVersion, type, 0};
    EXPECT_EQ(DecodeControlRequest(header, "").status().code(), StatusCode::kNotSupported) << type;
  }
  for (const uint16_t type : {0, 1, 9, 0x8009, 0xffff}) {
    const ControlHeader header{kControlVersion, type, 0};
    EXPECT_EQ(DecodeControlReply(header, "").status().code(), StatusCode::kNotSupported) << type;
  }
}

TEST(ControlMessageTest, ACountAloneAllocatesNothing) {
  std::string body;
  PutVarint(&body, UINT64_MAX);
  const auto type = static_cast<uint16_t>(kControlReply | static_cast<uint16_t>(ControlType::kZones));
  const ControlHeader header{kControlVersion, type, static_cast<uint32_t>(body.size())};
  EXPECT_EQ(DecodeControlReply(header, body).status().code(), StatusCode::kCorruption);
}

TEST(ControlMessageTest, FlippedBytesNeverBreakTheDecoder) {
  const uint64_t seed = 20261;
  std::cout << "seed " << seed << "\n";
  Rng rng(seed);
  const auto replies = SampleReplies();
  for (int i = 0; i < 20000; ++i) {
    const auto& [to, reply] = replies[rng.Uniform(replies.size())];
    std::string frame = EncodeControlReply(reply, to);
    for (uint64_t flips = 1 + rng.Uniform(4); flips > 0 && frame.size() > kControlHeaderBytes; --flips) {
      frame[kControlHeaderBytes + rng.Uniform(frame.size() - kControlHeaderBytes)] ^=
          static_cast<char>(rng.Uniform(256));
    }
    const Result<ControlReply> back = DecodeControlReply(*HeaderOf(frame), BodyOf(frame));
    if (!back.ok()) continue;
    EXPECT_EQ(static_cast<size_t>(HeaderOf(frame)->type == kControlReply), static_cast<size_t>(back->index() == 0));
  }
}

}  // namespace
}  // namespace furrow
