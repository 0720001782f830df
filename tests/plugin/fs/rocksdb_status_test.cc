// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_status.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace furrow {
namespace {

TEST(RocksdbStatusTest, CodesAreThoseOfPosixFileSystem) {
  EXPECT_TRUE(ToIOStatus(Status::Ok()).ok());
  const rdb::IOStatus missing = ToIOStatus(Status::NotFound("'/a' does not exist"));
  EXPECT_TRUE(missing.IsPathNotFound());
  EXPECT_TRUE(missing.IsIOError());
  EXPECT_NE(missing.ToString().find("'/a' does not exist"), std::string::npos);
  EXPECT_TRUE(ToIOStatus(Status::Corruption("x")).IsCorruption());
  EXPECT_TRUE(ToIOStatus(Status::InvalidArgument("x")).IsInvalidArgument());
  EXPECT_TRUE(ToIOStatus(Status::NotSupported("x")).IsNotSupported());
  for (const Status& s : {Status::IoError("x"), Status::Busy("x"), Status::ReadOnly("x"), Status::PermissionDenied("x"),
                          Status::AlreadyExists("x"), Status::Aborted("x"), Status::DeadlineExceeded("x")}) {
    EXPECT_TRUE(ToIOStatus(s).IsIOError()) << s.ToString();
    EXPECT_FALSE(ToIOStatus(s).GetRetryable()) << s.ToString();
  }
}

TEST(RocksdbStatusTest, NoSpaceIsRetryableSoThatRocksdbRecovers) {
  const rdb::IOStatus full = ToIOStatus(Status::NoSpace("full"));
  EXPECT_TRUE(full.IsNoSpace());
  EXPECT_TRUE(full.GetRetryable());
}

TEST(RocksdbStatusTest, PathErrors) {
  EXPECT_TRUE(ToPathStatus(Status::InvalidArgument("is a directory")).IsIOError());
  EXPECT_TRUE(ToPathStatus(Status::NotFound("x")).IsPathNotFound());
  EXPECT_TRUE(ToExistsStatus(Status::NotFound("x")).IsNotFound());
  EXPECT_TRUE(ToExistsStatus(Status::InvalidArgument("too long a name")).IsNotFound());
  EXPECT_TRUE(ToExistsStatus(Status::IoError("x")).IsIOError());
}

TEST(RocksdbStatusTest, ExceptionsStopHere) {
  const rdb::IOStatus memory = Guarded([]() -> rdb::IOStatus { throw std::bad_alloc(); });
  EXPECT_TRUE(memory.IsIOError());
  EXPECT_EQ(memory.subcode(), rdb::Status::kMemoryLimit);
  const rdb::IOStatus other = Guarded([]() -> rdb::IOStatus { throw std::runtime_error("why"); });
  EXPECT_TRUE(other.IsIOError());
  EXPECT_NE(other.ToString().find("why"), std::string::npos);
  EXPECT_TRUE(Guarded([]() -> rdb::IOStatus { throw 1; }).IsIOError());
}

}  // namespace
}  // namespace furrow
