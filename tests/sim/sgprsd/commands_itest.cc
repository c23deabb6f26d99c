// SPDX-License-Identifier: Apache-2.0
// What tools ask for: commands, state, trace.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/clock.h"
#include "tests/sim/sgprsd/sgprsd_process.h"
#include "tests/support/fake_shim.h"

namespace sgprs::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

TEST(SgprsdCommands, PolicyIsShownAndSwapped) {
  SgprsdProcess daemon({"--policy", "naive"});
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  FakeTool::Reply reply = tool.Command("policy");
  ASSERT_EQ(reply.status, 0);
  json answer = json::parse(reply.text);
  EXPECT_EQ(answer["policy"], "naive");
  EXPECT_GE(answer["policies"].size(), 5u);

  reply = tool.Command("policy edf");  // before there is a device
  EXPECT_EQ(json::parse(reply.text)["policy"], "edf");
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("task")).ok());
  EXPECT_EQ(shim.welcome().partitions[0].sm_count, 68u);  // edf wants whole devices
  reply = tool.Command("policy   sgprs ");
  EXPECT_EQ(reply.status, 0) << reply.text;
  shim.lane()->RecordJob(20);
  EXPECT_TRUE(shim.lane()->RunUntilComplete());
  EXPECT_STREQ(tool.Header()->policy, "sgprs");
}

TEST(SgprsdCommands, WrongWordsAreNamed) {
  SgprsdProcess daemon;
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  const std::map<std::string, std::string> cases = {
      {"policy sgrps", "no policy 'sgrps': use one of sgprs"},
      {"polcy",
       "no command 'polcy': use one of policy, overload, trace, shutdown, version, recording"},
      {"", "no command ''"},
      {"trace begin /tmp/x", "'trace begin': use trace start FILE or trace stop"},
      {"trace start relative", "'relative' is not an absolute path"},
      {"trace start /nonexistent/x", "/nonexistent/x"},
      {"trace stop", "no trace is being written"},
      {"shutdown now", "no argument, not 'now'"},
      {"profile", "use profile load FILE"},
      {"profile load net.json", "use profile load FILE, FILE an absolute path"},
      {"profile load /nonexistent/x", "profile /nonexistent/x: No such file or directory"},
      {"profile load /proc/self/status", "profile /proc/self/status: is no JSON"},
      {"stages", "use stages PID"},
      {"stages 12x", "use stages PID"},
      {"stages 1", "no client has pid 1"},
      {"po\x01licy", "no command 'po?licy'"},
  };
  for (const auto& [line, text] : cases) {
    const FakeTool::Reply reply = tool.Command(line);
    EXPECT_GT(reply.status, 0) << line;
    EXPECT_THAT(reply.text, HasSubstr(text)) << line;
    EXPECT_EQ(reply.text.find('\n'), std::string::npos) << line;
  }
  EXPECT_EQ(json::parse(tool.Command("version").text)["abi"], "2.0");
}

TEST(SgprsdCommands, RecordingSaysLevelCountsAndWhereTheLogLies) {
  SgprsdProcess daemon({"--job-log", "log"});
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  const FakeTool::Reply reply = tool.Command("recording");
  ASSERT_EQ(reply.status, 0) << reply.text;
  const json answer = json::parse(reply.text);
  const std::string level = answer["probes"]["level"];
  EXPECT_EQ(level == "root", answer["probes"]["why"].get<std::string>().empty()) << reply.text;
  for (const char* count : {"records", "lost", "complete", "incomplete", "missing", "missed"}) {
    EXPECT_EQ(answer["probes"][count], 0u) << count;
  }
  const std::string directory = answer["job_log"]["directory"];
  EXPECT_EQ(directory.front(), '/') << "a tool has another working directory";
  EXPECT_EQ(access((directory + "/jobs.0").c_str(), R_OK), 0) << directory;
  EXPECT_TRUE(answer["metrics"].is_null());
  EXPECT_EQ(tool.Command("recording now").status, 2);
  std::filesystem::remove_all(directory);
}

TEST(SgprsdCommands, ShutdownIsOrderly) {
  SgprsdProcess daemon;
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  EXPECT_EQ(tool.Command("shutdown").status, 0);
  EXPECT_EQ(daemon.WaitForEnd(), 0);
  EXPECT_NE(access(daemon.socket().c_str(), F_OK), 0);
}

TEST(SgprsdCommands, TraceHoldsJobsAndStages) {
  SgprsdProcess daemon;
  const std::string path = daemon.directory() + "/trace.json";
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  ASSERT_EQ(tool.Command("trace start " + path).status, 0);
  EXPECT_GT(tool.Command("trace start " + path).status, 0);  // one at a time
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("traced \"quoted\"", kNsPerSecond)).ok());
  for (int job = 0; job < 5; ++job) {
    shim.lane()->RecordJob(30);
    ASSERT_TRUE(shim.lane()->RunUntilComplete());
  }
  shim.Close();
  ASSERT_TRUE(tool.WaitForTask("traced \"quoted\"", SGPRS_TASK_GONE).has_value());
  ASSERT_EQ(tool.Command("trace stop").status, 0);
  const json trace = ReadJson(path);
  ASSERT_TRUE(trace.is_object());
  int jobs = 0;
  int stages = 0;
  bool named = false;
  for (const json& event : trace["traceEvents"]) {
    const std::string name = event["name"];
    if (event["ph"] == "X" && name.starts_with("job ")) ++jobs;
    if (event["ph"] == "X" && name.starts_with("stage ")) ++stages;
    if (name == "thread_name") {
      named = named || std::string(event["args"]["name"]).starts_with("traced \"quoted\"");
    }
  }
  EXPECT_EQ(jobs, 5);
  EXPECT_GE(stages, 5);
  EXPECT_TRUE(named);
}

TEST(SgprsdCommands, TraceIsWholeAfterSigterm) {
  SgprsdProcess daemon({"--trace", "/tmp/sgprsd-itest-trace.json"});
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("task")).ok());
  shim.lane()->RecordJob(30);
  ASSERT_TRUE(shim.lane()->RunUntilComplete());
  EXPECT_EQ(daemon.Stop(), 0);
  EXPECT_TRUE(ReadJson("/tmp/sgprsd-itest-trace.json").is_object());
  unlink("/tmp/sgprsd-itest-trace.json");
}

TEST(SgprsdCommands, StateCanNotBeWritten) {
  SgprsdProcess daemon;
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  const int fd = tool.state_fd();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  // Opening it anew for writing, as its mode allows, gives nothing either.
  const int again = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC);
  if (again >= 0) {
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
    EXPECT_LT(write(again, "x", 1), 0);
    EXPECT_NE(ftruncate(again, 0), 0);
    close(again);
  }
}

}  // namespace
}  // namespace sgprs::testing
