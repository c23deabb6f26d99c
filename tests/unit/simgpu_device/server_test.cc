// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/unit/simgpu_device/raw_client.h"

namespace sgprs::simgpu {
namespace {

// A device in a thread of this process, in a directory of its own.
class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/simgpu-test-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/simgpu.sock";
    Start();
  }
  void Start() {
    auto server = Server::Make(Options());
    ASSERT_TRUE(server.ok()) << server.status().text();
    server_ = std::move(server).value();
    thread_ = std::thread([this] { EXPECT_TRUE(server_->Run().ok()); });
  }
  void TearDown() override {
    EXPECT_TRUE(AskDevice(path_, HelloKind::kShutdown).ok());
    thread_.join();
    server_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_)) << "the socket is taken away";
    std::filesystem::remove_all(directory_);
  }
  ServerOptions Options() const {
    return {model::FindDevice("rtx2080ti"), path_, true, directory_ + "/log"};
  }
  std::unique_ptr<RawClient> Client() {
    auto client = RawClient::Connect(path_);
    EXPECT_NE(client, nullptr);
    return client;
  }
  // Opens stream 1, runs a kernel on it; true if it ended well.
  static bool Works(RawClient* client, uint32_t stream = 1) {
    client->Next(CommandKind::kStreamCreate, stream);
    client->NextKernel(stream, 1e8);
    client->Publish();
    LogEntry entry;
    return client->WaitFor(client->last_seq(), &entry) && entry.error == 0 &&
           entry.end_ns > entry.start_ns + 10'000 && entry.end_ns <= NowNs();
  }
  std::string Stats() {
    Result<std::string> text = AskDevice(path_, HelloKind::kStats);
    EXPECT_TRUE(text.ok());
    return text.ok() ? *text : "";
  }

  std::string directory_;
  std::string path_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST_F(ServerTest, SaysWhoItIsAndRunsKernels) {
  auto client = Client();
  EXPECT_STREQ(client->welcome().name, "simulated NVIDIA GeForce RTX 2080 Ti");
  EXPECT_EQ(client->welcome().sm_count, 68u);
  EXPECT_EQ(client->welcome().sm_minimum, 2u);
  EXPECT_EQ(client->welcome().mps, 1u);
  EXPECT_EQ(client->welcome().client_id, client->header()->client_id);
  EXPECT_EQ(client->header()->magic, kMagic);
  EXPECT_TRUE(Works(client.get()));
  EXPECT_NE(Stats().find("\"kernels_total\":1"), std::string::npos) << Stats();
  EXPECT_EQ(std::atomic_ref<uint64_t>(client->header()->kernels).load(), 1u);
}

TEST_F(ServerTest, LogArrivesInOrderAcrossManyRingTurns) {
  auto client = Client();
  for (uint32_t stream = 1; stream <= 4; ++stream) client->Next(CommandKind::kStreamCreate, stream);
  client->Publish();
  LogEntry entry;
  ASSERT_TRUE(client->WaitFor(4, &entry));
  uint64_t last_end_ns = 0;
  std::vector<uint64_t> last_seq(5, 0);
  constexpr uint32_t kRounds = 12;
  constexpr uint32_t kBurst = 8192;  // half a command ring
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint64_t before = client->last_seq();
    for (uint32_t i = 0; i < kBurst; ++i) client->Next(CommandKind::kEventRecord, 1 + i % 4);
    client->Publish();
    for (uint32_t i = 0; i < kBurst; ++i) {
      ASSERT_TRUE(client->ReadLog(&entry));
      ASSERT_GT(entry.seq, before);
      ASSERT_LE(entry.seq, client->last_seq());
      ASSERT_GE(entry.end_ns, last_end_ns);
      const uint64_t stream = 1 + (entry.seq - before - 1) % 4;
      ASSERT_GT(entry.seq, last_seq[stream]);
      last_seq[stream] = entry.seq;
      last_end_ns = entry.end_ns;
    }
  }
}

TEST_F(ServerTest, ASlowReaderLosesNothing) {
  auto client = Client();
  client->Next(CommandKind::kStreamCreate, 1);
  uint64_t published = 0;
  // Three log rings' worth, nothing read meanwhile.
  while (client->last_seq() < 3 * kLogCount) {
    client->Next(CommandKind::kEventRecord, 1);
    if (client->last_seq() % 4096 != 0) continue;
    client->Publish();
    published = client->last_seq();
    for (int i = 0; i < 5000; ++i) {
      if (std::atomic_ref<uint64_t>(client->header()->command_head).load() == published) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(std::atomic_ref<uint64_t>(client->header()->command_head).load(), published);
  }
  LogEntry entry;
  for (uint64_t seq = 1; seq <= published; ++seq) {
    ASSERT_TRUE(client->ReadLog(&entry)) << seq;
    ASSERT_EQ(entry.seq, seq);
  }
}

TEST_F(ServerTest, AClientThatVanishesTakesItsWorkAlong) {
  auto other = Client();
  {
    auto client = Client();
    client->Next(CommandKind::kStreamCreate, 1);
    client->NextKernel(1, 1e18);  // some weeks
    client->Publish();
    LogEntry entry;
    ASSERT_TRUE(client->WaitFor(1, &entry));
  }
  EXPECT_TRUE(Works(other.get()));
  std::string stats;
  for (int i = 0; i < 2000; ++i) {
    stats = Stats();
    if (stats.find("\"clients_alive\":1") != std::string::npos) break;
  }
  EXPECT_NE(stats.find("\"kernels_running\":0"), std::string::npos) << stats;
  EXPECT_NE(stats.find("\"clients_total\":2"), std::string::npos) << stats;
}

TEST_F(ServerTest, HostileClientsAreCutAndOthersGoOn) {
  auto good = Client();
  ASSERT_TRUE(Works(good.get()));
  const auto cut = [this](const std::function<void(RawClient*)>& misbehave) {
    auto bad = Client();
    misbehave(bad.get());
    EXPECT_TRUE(bad->HungUp(10'000));
  };
  cut([](RawClient* c) { c->PublishTail(kCommandCount + 1); });
  cut([](RawClient* c) { c->PublishTail(~uint64_t{0}); });
  cut([](RawClient* c) { c->PublishTail(1); });  // a command that was never written: seq 0
  cut([](RawClient* c) {
    c->Next(static_cast<CommandKind>(77), 1);
    c->Publish();
  });
  cut([](RawClient* c) {
    c->NextKernel(5, 1e6);  // no such stream
    c->Publish();
  });
  cut([](RawClient* c) {
    c->Next(CommandKind::kStreamCreate, 1);
    std::atomic_ref<uint64_t>(c->header()->log_head).store(99);
    c->Publish();
  });
  cut([](RawClient* c) {
    const Hello again{kMagic, kVersion, static_cast<uint32_t>(HelloKind::kClient), 1};
    ASSERT_TRUE(SendPacket(c->socket(), &again, sizeof(again)).ok());
  });
  EXPECT_TRUE(Works(good.get(), 2));
}

TEST_F(ServerTest, RandomRingsNeverHurtTheDevice) {
  auto good = Client();
  std::mt19937 random(5);
  for (int round = 0; round < 150; ++round) {
    auto bad = Client();
    for (int i = 0; i < 20; ++i) {
      Command& command = bad->Next(CommandKind::kStreamCreate, i % 4);
      command.kind = random() % 14;
      auto* bytes = reinterpret_cast<unsigned char*>(&command);
      for (uint32_t flips = random() % 4; flips > 0; --flips) {
        bytes[8 + random() % (sizeof(Command) - 8)] = static_cast<unsigned char>(random());
      }
    }
    bad->Publish();
    if (random() % 2 == 0) bad->HungUp(5);
  }
  EXPECT_TRUE(Works(good.get()));
}

TEST_F(ServerTest, StrangeGreetingsAreTurnedAway) {
  const auto answer = [this](const void* data, size_t size) {
    Result<UniqueFd> socket = ConnectTo(path_);
    EXPECT_TRUE(socket.ok());
    EXPECT_TRUE(SendPacket(socket->get(), data, size).ok());
    Welcome welcome{};
    return recv(socket->get(), &welcome, sizeof(welcome), 0) == sizeof(welcome) ? welcome.refused
                                                                                : ~uint32_t{0};
  };
  const Hello wrong_magic{1, kVersion, 1, 1};
  const Hello wrong_version{kMagic, kVersion + 1, 1, 1};
  const Hello wrong_kind{kMagic, kVersion, 9, 1};
  EXPECT_EQ(answer(&wrong_magic, sizeof(wrong_magic)), 803u);
  EXPECT_EQ(answer(&wrong_version, sizeof(wrong_version)), 803u);
  EXPECT_EQ(answer(&wrong_kind, sizeof(wrong_kind)), ~uint32_t{0});
  EXPECT_EQ(answer("hello", 5), ~uint32_t{0});
  auto client = Client();
  EXPECT_TRUE(Works(client.get()));
}

TEST_F(ServerTest, TheSocketHasOneOwner) {
  auto second = Server::Make(Options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kRefused);
  EXPECT_NE(second.status().text().find("alive"), std::string::npos);
  const auto mode =
      std::filesystem::status(std::filesystem::path(path_).parent_path()).permissions();
  EXPECT_EQ(static_cast<int>(mode), 0700);
}

TEST_F(ServerTest, RunningOutOfDescriptorsIsNoEnd) {
  auto good = Client();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 20; ++i) sockets.emplace_back(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(sockets.back().get()) + 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  for (const UniqueFd& fd : sockets) {
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  pollfd last{sockets.back().get(), POLLRDHUP, 0};
  EXPECT_EQ(poll(&last, 1, 10'000), 1) << "hung up on, not left waiting";
  EXPECT_TRUE(Works(good.get()));
  sockets.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(ServerTest, ManyClientsAtOnce) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 64; ++i) clients.push_back(Client());
  for (auto& client : clients) {
    client->Next(CommandKind::kStreamCreate, 1);
    client->NextKernel(1, 1e7);
    client->Publish();
  }
  LogEntry entry;
  for (auto& client : clients) EXPECT_TRUE(client->WaitFor(2, &entry));
}

}  // namespace
}  // namespace sgprs::simgpu
