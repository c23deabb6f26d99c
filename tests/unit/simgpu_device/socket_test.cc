// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace sgprs::simgpu {
namespace {

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/simgpu-socket-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/s";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  std::string path_;
};

// Programs wait for the file and connect at once.
TEST_F(SocketTest, WhoeverSeesItFindsSomebodyListening) {
  std::atomic<bool> stop = false;  // relaxed: alone
  uint64_t connected = 0;
  uint64_t refused = 0;
  std::thread client([&] {
    struct stat seen;
    struct stat now;
    while (!stop.load(std::memory_order_relaxed)) {
      if (stat(path_.c_str(), &seen) != 0) continue;
      const bool there = ConnectTo(path_).ok();
      // It counts only if it was the same socket all the time.
      const bool same = stat(path_.c_str(), &now) == 0 && seen.st_ino == now.st_ino &&
                        seen.st_ctim.tv_sec == now.st_ctim.tv_sec &&
                        seen.st_ctim.tv_nsec == now.st_ctim.tv_nsec;
      if (!there && !same) continue;
      ++(there ? connected : refused);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    Result<UniqueFd> listening = ListenOn(path_);
    ASSERT_TRUE(listening.ok()) << listening.status().text();
    unlink(path_.c_str());  // before it ends: a dead one is never seen
  }
  stop.store(true, std::memory_order_relaxed);
  client.join();
  EXPECT_EQ(refused, 0u) << "of " << connected + refused;
}

TEST_F(SocketTest, WhatAKilledDeviceLeftIsTakenAway) {
  for (const char* left : {"", ".new"}) {
    ListenOn(path_).value().reset();
    if (*left != 0) std::filesystem::rename(path_, path_ + left);
    Result<UniqueFd> listening = ListenOn(path_);
    ASSERT_TRUE(listening.ok()) << listening.status().text();
    EXPECT_TRUE(ConnectTo(path_).ok());
    EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
  }
}

TEST_F(SocketTest, AFileIsNotTakenAway) {
  std::ofstream(path_) << "mine";
  Result<UniqueFd> listening = ListenOn(path_);
  ASSERT_FALSE(listening.ok());
  EXPECT_EQ(listening.status().code(), ErrorCode::kInvalid);
  EXPECT_EQ(std::filesystem::file_size(path_), 4u);
}

TEST_F(SocketTest, AnotherDeviceIsLeftAlone) {
  Result<UniqueFd> first = ListenOn(path_);
  ASSERT_TRUE(first.ok());
  Result<UniqueFd> second = ListenOn(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kRefused);
  EXPECT_TRUE(ConnectTo(path_).ok());
}

}  // namespace
}  // namespace sgprs::simgpu
