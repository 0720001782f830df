// SPDX-License-Identifier: Apache-2.0
//
// Server and clients of the control socket, in one process: good ones, slow ones, strangers, nonsense.
#include "plugin/fs/control_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "plugin/fs/control_client.h"
#include "plugin/fs/control_server.h"
#include "tests/plugin/fs/control_samples.h"
#include "util/coding.h"
#include "util/mutex.h"

namespace furrow {
namespace {

using std::chrono::seconds;

class FakeService final : public ControlService {
 public:
  explicit FakeService(std::string identity) : identity_(std::move(identity)) {}

  HelloReply Hello() override { return {identity_, "dir:/z", 4711, "fake"}; }
  UsageSnapshot Usage() override {
    if (on_usage) on_usage();
    return SampleUsage();
  }
  std::vector<ZoneUsage> Zones(bool with_files) override {
    std::vector<ZoneUsage> zones(zone_count, SampleZone());
    if (!with_files) zones.resize(1);
    return zones;
  }
  Result<std::vector<FileInfo>> List(const std::string& path, bool recursive) override {
    if (path == "/missing") return Status::NotFound("'/missing' does not exist");
    FileInfo file = SampleFile();
    file.path = path;
    return std::vector<FileInfo>(recursive ? 2 : 1, file);
  }
  Result<FileInfo> Stat(const std::string& path, bool with_extents) override {
    FileInfo file = SampleFile();
    file.path = path;
    if (!with_extents) file.extents.clear();
    return file;
  }
  Result<uint64_t> HoldResets(std::chrono::seconds duration) override {
    if (duration.count() == 13) return Status::Busy("space is nearly used up");
    ++holds;
    return uint64_t{7};
  }
  Status RenewResetHold(uint64_t hold, std::chrono::seconds) override {
    return hold == 7 && holds_last ? Status::Ok() : Status::NotFound("over");
  }
  void ReleaseResets(uint64_t) override { --holds; }

  std::function<void()> on_usage;  // set before the server starts
  std::atomic<size_t> zone_count{3};
  std::atomic<int> holds{0};
  std::atomic<bool> holds_last{true};

 private:
  const std::string identity_;
};

bool NobodyMayAsk(uid_t, uid_t) { return false; }
bool NobodyIsBelieved(uid_t, uid_t, uid_t) { return false; }

class ControlSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    identity_ = "test:" + std::to_string(::getpid()) + ":" + info->name();
    service_ = std::make_unique<FakeService>(identity_);
    options_.identity = identity_;
    options_.clock = &clock_;
  }
  void Start() {
    Result<std::unique_ptr<ControlServer>> server = ControlServer::Start(service_.get(), options_);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(*server);
  }
  // Far beyond what a loaded machine needs: tests do not measure time.
  static ControlClientOptions Patient() {
    ControlClientOptions options;
    options.hello_timeout = options.timeout = seconds(120);
    return options;
  }
  Result<std::unique_ptr<ControlClient>> Connect() { return ControlClient::Connect(identity_, ::geteuid(), Patient()); }
  std::unique_ptr<ControlClient> Client() {
    Result<std::unique_ptr<ControlClient>> client = Connect();
    EXPECT_TRUE(client.ok()) << client.status().ToString();
    return client.ok() ? std::move(*client) : nullptr;
  }
  // A connection for bytes of any kind. Reads and writes wait.
  UniqueFd Raw() {
    Result<UniqueFd> fd = ConnectToControlSocket(identity_);
    EXPECT_TRUE(fd.ok()) << fd.status().ToString();
    return fd.ok() ? std::move(*fd) : UniqueFd();
  }
  static void SendRaw(const UniqueFd& fd, const std::string& bytes) {
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // All that comes until the server hangs up.
  static std::string ReceiveAll(const UniqueFd& fd) {
    std::string all;
    char buffer[65536];
    for (;;) {
      pollfd socket{fd.get(), POLLIN, 0};
      ::poll(&socket, 1, -1);
      const ssize_t n = ::recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) continue;
      if (n <= 0) return all;
      all.append(buffer, static_cast<size_t>(n));
    }
  }
  static Status ErrorIn(const std::string& frame) {
    const Result<ControlHeader> header = DecodeControlHeader(Bytes(frame).substr(0, kControlHeaderBytes));
    if (!header.ok()) return header.status();
    const Result<ControlReply> reply = DecodeControlReply(*header, Bytes(frame).substr(kControlHeaderBytes));
    if (!reply.ok()) return reply.status();
    const auto* error = std::get_if<ControlError>(&*reply);
    return error != nullptr ? error->ToStatus() : Status::Ok();
  }
  static void Await(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
  }

  ManualClock clock_;  // the server's
  std::string identity_;
  std::unique_ptr<FakeService> service_;
  ControlServerOptions options_;
  std::unique_ptr<ControlServer> server_;
};

TEST(ControlNameTest, IsReadableUniqueAndFits) {
  EXPECT_EQ(ControlSocketName("dir:2049:1234"), "furrow/1/dir:2049:1234");
  EXPECT_EQ(ControlSocketName("a b/%"), "furrow/1/a%20b%2f%25");
  const std::string longest(300, 'x');
  EXPECT_LE(ControlSocketName(longest).size(), 100u);
  EXPECT_NE(ControlSocketName(longest), ControlSocketName(longest + "x"));
  EXPECT_LE(ControlSocketName(std::string(80, '\xff')).size(), 100u);
}

TEST(ControlTrustTest, WhoAnswersWhomAndWhoBelievesWhom) {
  EXPECT_TRUE(MayAskServer(1000, 1000));
  EXPECT_TRUE(MayAskServer(0, 1000));
  EXPECT_FALSE(MayAskServer(1001, 1000));
  EXPECT_FALSE(MayAskServer(1001, 0));
  EXPECT_TRUE(MayBelieveServer(1000, 1000, 0));
  EXPECT_TRUE(MayBelieveServer(0, 1000, 1000));
  EXPECT_TRUE(MayBelieveServer(1000, 0, 1000));   // root looks at somebody's device
  EXPECT_FALSE(MayBelieveServer(1001, 0, 1000));  // a stranger took its name
  EXPECT_FALSE(MayBelieveServer(1001, 1000, 1000));
}

TEST_F(ControlSocketTest, AnswersEachQuestion) {
  Start();
  const auto client = Client();
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->server().identity, identity_);
  EXPECT_EQ(client->server().process, "fake");
  EXPECT_EQ(client->process().rfind(std::to_string(::getpid()) + " (", 0), 0u) << client->process();
  EXPECT_EQ(client->Usage()->extents, SampleUsage().extents);
  EXPECT_EQ(client->Zones(true)->size(), 3u);
  EXPECT_EQ(client->Zones(false)->size(), 1u);
  EXPECT_EQ(client->List("/db", true)->size(), 2u);
  EXPECT_EQ(client->Stat("/db/x", true)->extents.size(), 2u);
  EXPECT_EQ(client->Stat("/db/x", false)->path, "/db/x");
  const auto missing = client->List("/missing", false);
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(), "'/missing' does not exist");
  EXPECT_FALSE(client->broken());
  EXPECT_EQ(client->Stat(std::string(kMaxControlRequestBytes, 'x'), false).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(client->Usage().ok());
}

TEST_F(ControlSocketTest, NobodyThere) {
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotFound);
  Start();
  EXPECT_TRUE(Connect().ok());
  server_.reset();
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotFound);
}

TEST_F(ControlSocketTest, ATakenNameIsReported) {
  Start();
  const auto second = ControlServer::Start(service_.get(), options_);
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_NE(second.status().message().find("taken"), std::string::npos);
  EXPECT_TRUE(Connect().ok());
}

TEST_F(ControlSocketTest, AnotherDeviceUnderTheNameIsNotOurs) {
  service_ = std::make_unique<FakeService>("other");
  Start();
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotFound);
}

TEST_F(ControlSocketTest, StrangersAreTurnedAway) {
  options_.may_ask = &NobodyMayAsk;
  Start();
  for (int i = 0; i < 100; ++i) {  // whichever of the two is faster
    const Status status = Connect().status();
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status.ToString();
  }
}

TEST_F(ControlSocketTest, StrangersAreNotBelieved) {
  Start();
  ControlClientOptions options = Patient();
  options.may_believe = &NobodyIsBelieved;
  const Status status = ControlClient::Connect(identity_, ::geteuid(), options).status();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_NE(status.message().find("not asked"), std::string::npos) << status.message();
}

TEST_F(ControlSocketTest, AnotherVersionIsToldSo) {
  Start();
  std::string frame = EncodeControlRequest(UsageRequest());
  EncodeFixed16(frame.data() + 4, kControlVersion + 1);
  const UniqueFd raw = Raw();
  SendRaw(raw, frame);
  const Status status = ErrorIn(ReceiveAll(raw));  // and the server hangs up
  EXPECT_EQ(status.code(), StatusCode::kNotSupported) << status.ToString();
}

TEST_F(ControlSocketTest, AClientUnderstandsAnotherVersionsServer) {
  Result<UniqueFd> listener = ListenOnControlSocket(identity_);
  ASSERT_TRUE(listener.ok());
  std::string reply = EncodeControlReply(HelloReply{identity_, "", 1, ""}, ControlType::kHello);
  EncodeFixed16(reply.data() + 4, kControlVersion + 1);
  std::thread other([&] {
    pollfd socket{listener->get(), POLLIN, 0};
    ::poll(&socket, 1, -1);
    const UniqueFd accepted(::accept(listener->get(), nullptr, nullptr));
    SendRaw(accepted, reply);
    ReceiveAll(accepted);
  });
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotSupported);
  other.join();
}

TEST_F(ControlSocketTest, NonsenseEndsItsConnectionOnly) {
  Start();
  const auto good = Client();
  const UniqueFd garbage = Raw();
  SendRaw(garbage, std::string(1000, 'x'));
  EXPECT_EQ(ErrorIn(ReceiveAll(garbage)).code(), StatusCode::kCorruption);

  std::string huge = EncodeControlRequest(UsageRequest());
  EncodeFixed32(huge.data() + 8, kMaxControlRequestBytes + 1);
  const UniqueFd oversized = Raw();
  SendRaw(oversized, huge);
  EXPECT_EQ(ErrorIn(ReceiveAll(oversized)).code(), StatusCode::kInvalidArgument);

  const UniqueFd cut = Raw();
  SendRaw(cut, EncodeControlRequest(UsageRequest()).substr(0, 7));
  EXPECT_TRUE(good->Usage().ok());
}

TEST_F(ControlSocketTest, AnUnknownQuestionIsAnsweredAndTheNextOneToo) {
  Start();
  const UniqueFd raw = Raw();
  std::string unknown = EncodeControlRequest(UsageRequest());
  EncodeFixed16(unknown.data() + 6, 999);
  SendRaw(raw, unknown + EncodeControlRequest(LeaseReleaseRequest()));  // two at once
  ASSERT_EQ(::shutdown(raw.get(), SHUT_WR), 0);
  const std::string all = ReceiveAll(raw);
  const std::string second = EncodeControlReply(LeaseReleaseReply(), ControlType::kLeaseRelease);
  ASSERT_GT(all.size(), second.size());
  EXPECT_EQ(all.substr(all.size() - second.size()), second);
  EXPECT_EQ(ErrorIn(all.substr(0, all.size() - second.size())).code(), StatusCode::kNotSupported);
}

TEST_F(ControlSocketTest, AClientThatNeverReadsStopsNobodyAndIsDropped) {
  service_->zone_count = 20000;  // more than a socket buffers
  Start();
  const UniqueFd stuck = Raw();
  SendRaw(stuck, EncodeControlRequest(ZonesRequest{true}));
  const auto good = Client();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(good->Zones(true)->size(), 20000u);
  clock_.Advance(options_.limits.stalled);
  EXPECT_TRUE(good->Usage().ok());  // the server has looked at the time since
  const std::string all = ReceiveAll(stuck);
  EXPECT_LT(all.size(), EncodeControlReply(ZonesReply{service_->Zones(true)}, ControlType::kZones).size());
}

TEST_F(ControlSocketTest, SilentClientsAreDropped) {
  Start();
  const UniqueFd silent = Raw();
  const auto talking = Client();
  clock_.Advance(options_.limits.idle - seconds(1));
  EXPECT_TRUE(talking->Usage().ok());
  clock_.Advance(seconds(1));
  EXPECT_TRUE(talking->Usage().ok());
  EXPECT_EQ(ReceiveAll(silent), "");
  EXPECT_TRUE(talking->Usage().ok());
}

TEST_F(ControlSocketTest, ClientsBeyondTheLimitAreTurnedAway) {
  options_.limits.clients = 3;
  Start();
  std::vector<std::unique_ptr<ControlClient>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Client());
  EXPECT_EQ(Connect().status().code(), StatusCode::kBusy);
  clients.pop_back();
  Await([this] { return Connect().ok(); });  // as soon as the server has noticed
}

TEST_F(ControlSocketTest, AnswersAreBounded) {
  options_.limits.reply_bytes = 1000;
  service_->zone_count = 1000;
  Start();
  const auto client = Client();
  const auto zones = client->Zones(true);
  EXPECT_EQ(zones.status().code(), StatusCode::kNotSupported) << zones.status().ToString();
  EXPECT_FALSE(client->broken());
  EXPECT_TRUE(client->Usage().ok());
}

TEST_F(ControlSocketTest, KeptAnswersAreBoundedForAllTogether) {
  service_->zone_count = 20000;
  options_.limits.queued_bytes = 2 << 20;
  Start();
  const UniqueFd stuck = Raw();
  SendRaw(stuck, EncodeControlRequest(ZonesRequest{true}));
  pollfd readable{stuck.get(), POLLIN, 0};
  ::poll(&readable, 1, -1);  // its answer is kept now
  const auto client = Client();
  const auto zones = client->Zones(true);
  EXPECT_EQ(zones.status().code(), StatusCode::kBusy) << zones.status().ToString();
  EXPECT_TRUE(client->Usage().ok());
}

TEST_F(ControlSocketTest, AServerThatDoesNotAnswerTimesOut) {
  Result<UniqueFd> listener = ListenOnControlSocket(identity_);  // a stopped process looks like this
  ASSERT_TRUE(listener.ok());
  ControlClientOptions options;
  options.hello_timeout = std::chrono::milliseconds(10);
  const Status status = ControlClient::Connect(identity_, ::geteuid(), options).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_NE(status.message().find(std::to_string(::getpid())), std::string::npos) << status.message();
}

TEST_F(ControlSocketTest, AConnectionIsBrokenForGood) {
  Start();
  const auto client = Client();
  server_.reset();
  EXPECT_FALSE(client->Usage().ok());
  EXPECT_TRUE(client->broken());
  Start();
  EXPECT_FALSE(client->Usage().ok());
}

TEST_F(ControlSocketTest, ALeaseEndsWithItsConnection) {
  Start();
  auto client = Client();
  EXPECT_EQ(*client->AcquireLease(30), 30u);
  EXPECT_EQ(service_->holds, 1);
  EXPECT_EQ(*client->AcquireLease(1000), 60u);  // in place of the first
  EXPECT_EQ(service_->holds, 1);
  EXPECT_EQ(*client->RenewLease(10), 10u);
  client.reset();
  Await([this] { return service_->holds == 0; });

  client = Client();
  EXPECT_TRUE(client->AcquireLease(10).ok());
  EXPECT_TRUE(client->ReleaseLease().ok());
  EXPECT_EQ(service_->holds, 0);
  EXPECT_EQ(client->RenewLease(10).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(client->AcquireLease(13).status().code(), StatusCode::kBusy);

  EXPECT_TRUE(client->AcquireLease(10).ok());
  service_->holds_last = false;
  EXPECT_EQ(client->RenewLease(10).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(client->ReleaseLease().ok());
}

TEST_F(ControlSocketTest, StoppingTheServerEndsLeases) {
  Start();
  const auto client = Client();
  ASSERT_TRUE(client->AcquireLease(60).ok());
  server_.reset();
  EXPECT_EQ(service_->holds, 0);
}

TEST_F(ControlSocketTest, ManyClientsAtOnce) {
  service_->zone_count = 2000;
  Start();
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto client = Connect();
        if (!client.ok() || (*client)->Zones(true)->size() != 2000u || !(*client)->Usage().ok() ||
            !(*client)->AcquireLease(5).ok()) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  Await([this] { return service_->holds == 0; });
}

TEST_F(ControlSocketTest, StopsInTheMiddleOfEverything) {
  std::atomic<int> asked{0};
  service_->on_usage = [&asked] { ++asked; };
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto client = Connect();
      while (client.ok() && (*client)->Usage().ok()) continue;
    });
  }
  const UniqueFd flood = Raw();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += EncodeControlRequest(UsageRequest());
  SendRaw(flood, many);
  Await([&] { return asked > 100; });
  server_.reset();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace furrow
