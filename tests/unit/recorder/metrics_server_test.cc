// SPDX-License-Identifier: Apache-2.0
#include "runtime/recorder/metrics_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "runtime/base/clock.h"

namespace sgprs::recorder {
namespace {

class MetricsServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<loop::Loop>> loop = loop::Loop::Make({});
    if (!loop.ok()) GTEST_SKIP() << loop.status().text();
    loop_ = std::move(*loop);
    path_ = ::testing::TempDir() + "sgprs-metrics-" + std::to_string(getpid());
  }
  void TearDown() override { unlink(path_.c_str()); }

  Result<std::unique_ptr<MetricsServer>> Open(const std::string& address) {
    return MetricsServer::Open(loop_.get(), address, [this] { return text_; });
  }
  UniqueFd Connect() {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.reset();
    return fd;
  }
  // What comes back until the end of the connection, while the loop turns.
  std::string Get(UniqueFd fd, const std::string& request) {
    std::future<std::string> answer = std::async(std::launch::async, [fd = std::move(fd), request] {
      std::string all;
      if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return all;
      char bytes[4096];
      ssize_t got;
      while ((got = recv(fd.get(), bytes, sizeof(bytes), 0)) > 0) {
        all.append(bytes, static_cast<size_t>(got));
      }
      return all;
    });
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      loop_->Turn(5 * kNsPerMs);
    }
    return answer.get();
  }

  std::unique_ptr<loop::Loop> loop_;
  std::string path_;
  std::string text_ = "sgprs_clients 3\n# EOF\n";
};

TEST_F(MetricsServerTest, AnswersOnAUnixSocketAndTakesItAway) {
  {
    Result<std::unique_ptr<MetricsServer>> server = Open(path_);
    ASSERT_TRUE(server.ok()) << server.status().text();
    struct stat made = {};
    ASSERT_EQ(stat(path_.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777, 0660u);
    for (int i = 0; i < 3; ++i) {
      const std::string answer = Get(Connect(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
      EXPECT_TRUE(answer.starts_with("HTTP/1.0 200 OK\r\n")) << answer;
      EXPECT_TRUE(answer.ends_with("\r\n\r\n" + text_)) << answer;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(MetricsServerTest, AnAnswerLargerThanTheSocketsBufferArrivesWhole) {
  text_ = std::string(8 << 20, 'x');
  Result<std::unique_ptr<MetricsServer>> server = Open(path_);
  ASSERT_TRUE(server.ok());
  const std::string answer = Get(Connect(), "GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(answer.ends_with(text_));
}

TEST_F(MetricsServerTest, WhoTalksTooMuchOrSaysNothingIsCutOff) {
  Result<std::unique_ptr<MetricsServer>> server = Open(path_);
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(Get(Connect(), std::string(100'000, 'a')), "");
  // More than are served at once: the rest is closed, and one after them is answered again.
  std::vector<UniqueFd> silent;
  for (size_t i = 0; i < MetricsServer::kMostConnections + 4; ++i) {
    silent.push_back(Connect());
    loop_->Turn(kNsPerMs);
  }
  silent.clear();
  for (int i = 0; i < 10; ++i) loop_->Turn(kNsPerMs);
  EXPECT_NE(Get(Connect(), "GET / HTTP/1.0\r\n\r\n"), "");
}

TEST_F(MetricsServerTest, AStaleSocketIsReplacedALiveOneIsNot) {
  {
    UniqueFd stale(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  Result<std::unique_ptr<MetricsServer>> server = Open(path_);
  ASSERT_TRUE(server.ok()) << server.status().text();
  EXPECT_FALSE(Open(path_).ok());
  EXPECT_NE(Get(Connect(), "GET / HTTP/1.0\r\n\r\n"), "");
}

TEST_F(MetricsServerTest, AddressesThatCanNotBeAreRefused) {
  for (const char* address : {"", "relative/path", "0", "65536", "80x", "127.0.0.1:80", "-1"}) {
    Result<std::unique_ptr<MetricsServer>> server = Open(address);
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_EQ(server.status().code(), ErrorCode::kInvalid);
  }
  EXPECT_FALSE(Open("/" + std::string(200, 'x')).ok());
}

}  // namespace
}  // namespace sgprs::recorder
