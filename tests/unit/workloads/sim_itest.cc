// SPDX-License-Identifier: Apache-2.0
// The programs themselves, as processes, on the stand-in driver and a simulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

extern char** environ;

namespace workloads {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Ended {
  int exit_code;
  std::string output;  // stdout and stderr
};

std::string Program(const std::string& name) { return SGPRS_BUILD_DIRECTORY "/bin/" + name; }

Ended RunCommand(const std::string& command) {
  Ended ended{-1, ""};
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> buffer;
  size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    ended.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// A device process of its own for every test; programs find it by the environment.
class SimulatedDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/workloads-itest-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    const std::string socket = directory_ + "/simgpu.sock";
    setenv("SGPRS_SIMGPU_SOCKET", socket.c_str(), 1);
    setenv("SGPRS_SIMGPU_KERNELS", SGPRS_BUILD_DIRECTORY "/lib/simgpu/libworkload-kernels.so", 1);
    setenv("LD_LIBRARY_PATH", SGPRS_BUILD_DIRECTORY "/lib/simgpu", 1);
    std::string program = Program("simgpu");
    std::string option = "--socket=" + socket;
    char* argv[] = {program.data(), option.data(), nullptr};
    ASSERT_EQ(posix_spawn(&device_, program.c_str(), nullptr, nullptr, argv, environ), 0);
    for (int i = 0; i < 1000 && !std::filesystem::exists(socket); ++i) usleep(10000);
    ASSERT_TRUE(std::filesystem::exists(socket)) << "simgpu did not come up";
  }
  void TearDown() override {
    if (device_ > 0) {
      kill(device_, SIGTERM);
      waitpid(device_, nullptr, 0);
    }
    std::filesystem::remove_all(directory_);
  }

  static json RunJson(const std::string& command) {
    const Ended ended = RunCommand(command + " --json");
    EXPECT_EQ(ended.exit_code, 0) << command << ": " << ended.output;
    json parsed = json::parse(ended.output, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << ended.output;
    return parsed.is_object() ? parsed : json::object();
  }
  static uint64_t KernelsOfDevice() {
    const json stats =
        json::parse(RunCommand(Program("simgpu") + " --stats").output, nullptr, false);
    return stats.is_object() ? stats.value("kernels_total", uint64_t{0}) : 0;
  }

 private:
  std::string directory_;
  pid_t device_ = -1;
};

// The golden value of runner_test.cc: the same bits through a driver, whichever way it is reached,
// on whichever stream, and as many kernels on the device as the program launched.
TEST_F(SimulatedDeviceTest, SameBitsByEveryWay) {
  const std::vector<std::string> ways = {
      "resnet18 --entry direct --stream null", "resnet18 --entry deepbind",
      "resnet18-dlopen --entry dlopen --stream blocking", "resnet18-dlopen --entry getproc",
      "resnet18-dlopen --entry getproc-v1 --warmup 0"};
  uint64_t launches = 0;
  for (const std::string& way : ways) {
    const json report = RunJson(Program(way) + " --input 32x32 --frames 3 --fps 1000");
    EXPECT_EQ(report.value("checksum", ""), "cd80a85865b2cb76") << way;
    EXPECT_EQ(report["frames"].value("completed", 0), 3) << way;
    launches += report.value("launches", uint64_t{0});
  }
  EXPECT_GT(launches, 0u);
  EXPECT_EQ(KernelsOfDevice(), launches);
}

TEST_F(SimulatedDeviceTest, MobileNetComputes) {
  const json report = RunJson(Program("mobilenet") + " --input 32x32 --frames 3 --fps 1000");
  EXPECT_EQ(report.value("checksum", ""), "a31d953757520696");
}

TEST_F(SimulatedDeviceTest, ProbesSeeRightResults) {
  for (const char* probe :
       {"spin64 --rounds 2 --launches 5", "forker --rounds 1", "manylaunch --rounds 5",
        "manylaunch-dlopen --rounds 5 --entry getproc", "burst --kernels 50 --kernel-us 20"}) {
    const Ended ended = RunCommand(Program(probe));
    EXPECT_EQ(ended.exit_code, 0) << probe << ": " << ended.output;
  }
}

TEST_F(SimulatedDeviceTest, StopsOnSigtermAndReports) {
  const Ended ended =
      RunCommand("timeout --preserve-status -s TERM 2 " + Program("resnet18") + " --seconds 600");
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("checksum"));
}

TEST(WithoutADriver, OneLineAndCode1) {
  unsetenv("LD_LIBRARY_PATH");
  const Ended ended = RunCommand("LD_LIBRARY_PATH=/nonexistent " + Program("resnet18-dlopen"));
  if (ended.exit_code == 0) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr("resnet18-dlopen: "));
}

}  // namespace
}  // namespace workloads
