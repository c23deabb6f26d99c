// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: options, exit codes, messages, signals, files.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "runtime/base/environment.h"
#include "tests/unit/simgpu_device/raw_client.h"

namespace sgprs::simgpu {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/simgpu-test-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/s.sock";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  pid_t Spawn(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SIMGPU_PROGRAM);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (freopen((directory_ + "/out").c_str(), "w", stdout) == nullptr) _exit(99);
    if (freopen((directory_ + "/err").c_str(), "w", stderr) == nullptr) _exit(99);
    execv(argv[0], argv.data());
    _exit(98);
  }
  Outcome Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
            ReadFile(directory_ + "/out"), ReadFile(directory_ + "/err")};
  }
  Outcome Run(std::vector<std::string> arguments) { return Wait(Spawn(std::move(arguments))); }
  // A device that answers.
  pid_t StartDevice(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--socket", path_});
    const pid_t pid = Spawn(more);
    for (int i = 0; i < 1000 && !ConnectTo(path_).ok(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return pid;
  }
  // One line, of this program.
  static void ExpectOneLine(const std::string& text) {
    EXPECT_EQ(text.rfind("simgpu: ", 0), 0u) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(ProgramTest, HelpVersionAndDevices) {
  EXPECT_EQ(Run({"--help"}).code, 0);
  EXPECT_EQ(Run({"--version"}).out.rfind("simgpu ", 0), 0u);
  const auto devices = nlohmann::json::parse(Run({"--list-devices", "--json"}).out);
  EXPECT_EQ(devices.at("version"), 1);
  EXPECT_EQ(devices.at("devices").at(0).at("name"), "rtx2080ti");
  EXPECT_EQ(devices.at("devices").at(0).at("sms"), 68);
}

TEST_F(ProgramTest, NonsenseIsOneLineAndTwo) {
  const std::vector<std::vector<std::string>> commands = {{"--device", "gtx1"},
                                                          {"--mps", "perhaps"},
                                                          {"--stats", "--shutdown"},
                                                          {"--stats", "--list-devices"},
                                                          {"--json"},
                                                          {"--devices", "0"},
                                                          {"--nothing"},
                                                          {"argument"}};
  for (auto command : commands) {
    command.insert(command.end(), {"--socket", path_});
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.code, 2) << command[0];
    ExpectOneLine(outcome.err);
  }
}

TEST_F(ProgramTest, WhatTheSystemRefusesIsOneLineAndOne) {
  const std::vector<std::vector<std::string>> commands = {
      {"--stats", "--socket", path_},
      {"--shutdown", "--socket", path_},
      {"--socket", directory_ + "/" + std::string(120, 'x')},
      {"--socket", directory_},  // no socket
      {"--socket", path_, "--log", directory_ + "/none/log"}};
  for (const auto& command : commands) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.code, 1) << command[0];
    ExpectOneLine(outcome.err);
  }
}

// A mistyped path must not leave directories behind, root's neither.
TEST_F(ProgramTest, OnlyTheRuntimeDirectoryIsMade) {
  const std::string missing = directory_ + "/missing";
  const Outcome outcome = Run({"--socket", missing + "/s.sock"});
  EXPECT_EQ(outcome.code, 1);
  ExpectOneLine(outcome.err);
  EXPECT_NE(outcome.err.find(missing), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(missing));

  ASSERT_EQ(setenv(env::kRuntimeDir, missing.c_str(), 1), 0);
  path_ = missing + "/s.sock";
  const pid_t pid = StartDevice();
  unsetenv(env::kRuntimeDir);
  EXPECT_EQ(std::filesystem::status(missing).permissions(), std::filesystem::perms::owner_all);
  kill(pid, SIGTERM);
  EXPECT_EQ(Wait(pid).code, 0);
}

TEST_F(ProgramTest, SignalsEndItAndTheSocketGoes) {
  for (int signal : {SIGTERM, SIGINT}) {
    const pid_t pid = StartDevice();
    kill(pid, signal);
    EXPECT_EQ(Wait(pid).code, 0);
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
}

TEST_F(ProgramTest, AStaleSocketIsReplaced) {
  pid_t pid = StartDevice();
  kill(pid, SIGKILL);
  EXPECT_EQ(Wait(pid).code, -SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(path_));
  pid = StartDevice();
  const Outcome second = Run({"--socket", path_});
  EXPECT_EQ(second.code, 1);
  ExpectOneLine(second.err);
  EXPECT_EQ(Run({"--socket", path_, "--shutdown"}).code, 0);
  EXPECT_EQ(Wait(pid).code, 0);
}

TEST_F(ProgramTest, StatsAndLogTellWhatRan) {
  const std::string log = directory_ + "/commands.jsonl";
  const pid_t pid = StartDevice({"--device", "a100", "--mps", "off", "--log", log});
  auto client = RawClient::Connect(path_);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->welcome().mps, 0u);
  Command& stream = client->Next(CommandKind::kStreamCreate, 3);
  stream.sm_limit = 54;
  client->NextKernel(3, 1e8).name_hash = 0xabc;
  client->Next(CommandKind::kEventRecord, 3);
  client->Publish();
  LogEntry entry;
  ASSERT_TRUE(client->WaitFor(3, &entry));

  const auto stats = nlohmann::json::parse(Run({"--socket", path_, "--stats"}).out);
  EXPECT_EQ(stats.at("version"), 1);
  EXPECT_EQ(stats.at("device"), "a100");
  EXPECT_EQ(stats.at("mps"), false);
  EXPECT_EQ(stats.at("kernels_total"), 1);
  EXPECT_EQ(stats.at("clients_total"), 1);
  const auto& shown = stats.at("clients").at(0);
  EXPECT_EQ(shown.at("pid"), getpid());
  EXPECT_EQ(shown.at("kernels"), 1);
  EXPECT_EQ(shown.at("events"), 1);
  EXPECT_EQ(shown.at("partitions").at(0).at("sms"), 54);
  EXPECT_EQ(shown.at("partitions").at(0).at("kernels"), 1);

  client.reset();
  kill(pid, SIGTERM);
  EXPECT_EQ(Wait(pid).code, 0);
  std::istringstream lines(ReadFile(log));
  std::vector<nlohmann::json> commands;
  for (std::string line; std::getline(lines, line);)
    commands.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[1].at("kind"), "kernel");
  EXPECT_EQ(commands[1].at("stream"), 3);
  EXPECT_EQ(commands[1].at("name_hash"), "0000000000000abc");
  EXPECT_NEAR(commands[1].at("sms").get<double>(), 54, 0.1);
  EXPECT_EQ(commands[2].at("end_ns"), commands[1].at("end_ns"));
}

}  // namespace
}  // namespace sgprs::simgpu
