// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/fake_shim.h"

namespace sgprs::ingress {
namespace {

using ::testing::HasSubstr;

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    char name[] = "/tmp/sgprs-listener-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~ListenerTest() override { std::filesystem::remove_all(directory_); }
  static mode_t ModeOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  std::string directory_;
};

TEST_F(ListenerTest, MakesDirectoryAndSocketPrivate) {
  const mode_t before = umask(0);
  auto listener = Listener::Open({.path = directory_ + "/sub/control.sock"});
  umask(before);
  ASSERT_TRUE(listener.ok()) << listener.status().text();
  EXPECT_EQ(ModeOf(directory_ + "/sub"), 0700u);
  EXPECT_EQ(ModeOf(directory_ + "/sub/control.sock"), 0600u);
  sgprs::testing::FakeShim peer;
  EXPECT_TRUE(peer.Connect(directory_ + "/sub/control.sock").ok());
}

TEST_F(ListenerTest, LivingOneIsNotReplacedStaleOneIs) {
  const std::string path = directory_ + "/control.sock";
  auto first = Listener::Open({.path = path});
  ASSERT_TRUE(first.ok());
  auto second = Listener::Open({.path = path});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kUnavailable);
  first->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  // What a killed one leaves: the socket, and a lock that nobody holds.
  sgprs::testing::FakeShim peer;
  {
    auto killed = Listener::Open({.path = path});
    ASSERT_TRUE(killed.ok());
    std::filesystem::create_hard_link(path, path + ".kept");
  }
  std::filesystem::rename(path + ".kept", path);
  EXPECT_FALSE(peer.Connect(path).ok());
  auto third = Listener::Open({.path = path});
  ASSERT_TRUE(third.ok()) << third.status().text();
  EXPECT_TRUE(peer.Connect(path).ok());
}

TEST_F(ListenerTest, NeverRemovesWhatIsNoSocket) {
  const std::string path = directory_ + "/control.sock";
  std::ofstream(path) << "precious";
  auto listener = Listener::Open({.path = path});
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(listener.status().text(), HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, RefusesADirectoryThatOthersMayChange) {
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  auto listener = Listener::Open({.path = directory_ + "/control.sock"});
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(listener.status().text(), HasSubstr("changed by others"));
  ASSERT_EQ(chmod(directory_.c_str(), 01777), 0);  // sticky, as /tmp
  EXPECT_TRUE(Listener::Open({.path = directory_ + "/control.sock"}).ok());
}

TEST_F(ListenerTest, PathMustFit) {
  EXPECT_FALSE(Listener::Open({.path = ""}).ok());
  auto listener = Listener::Open({.path = directory_ + "/" + std::string(200, 'x')});
  ASSERT_FALSE(listener.ok());
  EXPECT_EQ(listener.status().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace sgprs::ingress
