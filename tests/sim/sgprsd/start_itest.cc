// SPDX-License-Identifier: Apache-2.0
// Starting and stopping: exit codes, the lock, rights, idleness, the simulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/sim/sgprsd/sgprsd_process.h"
#include "tests/support/fake_shim.h"

namespace sgprs::testing {
namespace {

using ::testing::HasSubstr;

TEST(SgprsdStart, SaysReadyAndEndsWithZero) {
  SgprsdProcess daemon;
  ASSERT_TRUE(daemon.ready());
  EXPECT_THAT(daemon.stdout_text(), HasSubstr(daemon.socket() + " (policy sgprs"));
  struct stat info = {};
  ASSERT_EQ(stat(daemon.socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(daemon.Stop(SIGTERM), 0);
  EXPECT_NE(access(daemon.socket().c_str(), F_OK), 0);
}

TEST(SgprsdStart, SecondOneRefusesInOneLine) {
  SgprsdProcess first;
  SgprsdProcess second({"--socket", first.socket()});
  EXPECT_FALSE(second.ready());
  const std::string text = second.stderr_text();
  EXPECT_EQ(second.WaitForEnd(), 1);
  EXPECT_THAT(text, HasSubstr("another sgprsd serves"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  FakeTool tool;  // the first one is unharmed
  EXPECT_TRUE(tool.Connect(first.socket()).ok());
}

TEST(SgprsdStart, FileThatIsNoSocketIsLeftAlone) {
  SgprsdProcess daemon({"--check"});
  daemon.WaitForEnd();
  std::ofstream(daemon.socket()) << "precious";
  daemon.Start({});
  EXPECT_THAT(daemon.stderr_text(), HasSubstr("is not a socket"));
  EXPECT_EQ(daemon.WaitForEnd(), 2);
  EXPECT_EQ(access(daemon.socket().c_str(), F_OK), 0);
}

TEST(SgprsdStart, NonsenseOnTheCommandLineIsExitTwo) {
  const std::vector<std::vector<std::string>> cases = {
      {"--policy", "nope"},
      {"--partitions", "99"},
      {"--partitions", "x y"},
      {"--oversubscription", "-1"},
      {"--log", "loud"},
      {"--device", "rtx9999"},
      {"--config", "/nonexistent"},
      {"--no-such-option"},
      {"surplus"},
      {"--trace", "/nonexistent/t"},
      {"--partitions", "[1,"},
      {"--check", "--device", "rtx2080ti", "--partitions", "[500]"},
  };
  for (const auto& arguments : cases) {
    SgprsdProcess daemon(arguments);
    const std::string text = daemon.stderr_text();
    EXPECT_EQ(daemon.WaitForEnd(), 2) << arguments.back();
    EXPECT_THAT(text, HasSubstr("sgprsd: "));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST(SgprsdStart, CheckPrintsKeysAndPool) {
  SgprsdProcess daemon({"--check", "--device", "rtx2080ti", "--partitions", "2"});
  const std::string text = daemon.stdout_text();
  EXPECT_EQ(daemon.WaitForEnd(), 0);
  EXPECT_THAT(text, HasSubstr("pool.partitions = 2\n"));
  EXPECT_THAT(text, HasSubstr("partition 1: 52 SMs, 16 to 67\n"));
}

// Idle means asleep: a second without clients may cost a few turns of the loop, not hundreds.
TEST(SgprsdStart, SleepsWhenIdle) {
  SgprsdProcess daemon;
  ASSERT_TRUE(daemon.ready());
  usleep(100'000);
  const uint64_t before = daemon.Wakeups();
  usleep(1'000'000);
  EXPECT_LE(daemon.Wakeups() - before, 10u);
}

TEST(SgprsdStart, SimulateStartsTheDeviceAndStopsIt) {
  if (access(SIMGPU_PROGRAM, X_OK) != 0) GTEST_SKIP() << "simgpu is not built";
  SgprsdProcess daemon({"--simulate", "--device", "a100"});
  ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
  const std::string device_socket = daemon.directory() + "/simgpu.sock";
  FakeShim device;
  EXPECT_TRUE(device.Connect(device_socket).ok());
  EXPECT_EQ(daemon.Stop(), 0);
  EXPECT_FALSE(FakeShim().Connect(device_socket).ok());
}

// Its clients go on when sgprsd is killed, so the device must; the next sgprsd finds it alive.
TEST(SgprsdStart, DeviceOutlivesAKilledDaemon) {
  if (access(SIMGPU_PROGRAM, X_OK) != 0) GTEST_SKIP() << "simgpu is not built";
  SgprsdProcess daemon({"--simulate"});
  ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
  const std::string device_socket = daemon.directory() + "/simgpu.sock";
  EXPECT_EQ(daemon.Stop(SIGKILL), -SIGKILL);
  EXPECT_TRUE(FakeShim().Connect(device_socket).ok());
  daemon.Start({"--simulate"});
  EXPECT_TRUE(daemon.ready()) << daemon.stderr_text();
  EXPECT_EQ(daemon.Stop(), 0);
  EXPECT_TRUE(FakeShim().Connect(device_socket).ok());  // not its own: left alone
  const std::string command = std::string(SIMGPU_PROGRAM) + " --shutdown --socket " + device_socket;
  EXPECT_EQ(system(command.c_str()), 0);
}

}  // namespace
}  // namespace sgprs::testing
