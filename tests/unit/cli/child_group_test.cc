// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/child_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runtime/base/clock.h"
#include "tools/sgprs/temporary_directory.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLongNs = 60 * kNsPerSecond;  // a bound, never waited for

class ChildGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<ChildGroup>> group = ChildGroup::Make(50 * kNsPerMs);
    ASSERT_TRUE(group.ok());
    group_ = std::move(group).value();
  }
  ChildProcess* Shell(const std::string& script) {
    ChildSpec spec;
    spec.name = "child";
    spec.arguments = {"/bin/sh", "-c", script};
    spec.environment = {{"GIVEN", "yes"}};
    spec.output_path = directory_.path() + "/out";
    spec.log_path = directory_.path() + "/log";
    Result<ChildProcess*> child = group_->Start(spec);
    EXPECT_TRUE(child.ok()) << child.status().text();
    return child.ok() ? *child : nullptr;
  }
  static bool Alive(pid_t pid) { return kill(pid, 0) == 0; }

  TemporaryDirectory directory_ = std::move(TemporaryDirectory::Make("sgprs-test-")).value();
  std::unique_ptr<ChildGroup> group_;
};

TEST_F(ChildGroupTest, CarriesOutputAndEnvironment) {
  ChildProcess* child = Shell("echo $GIVEN; echo log >&2");
  EXPECT_TRUE(group_->WaitForEnd(child, NowNs() + kLongNs).ok());
  EXPECT_EQ(LastLine(directory_.path() + "/out"), "yes");
  EXPECT_EQ(LastLine(directory_.path() + "/log"), "log");
}

TEST_F(ChildGroupTest, AFailureIsReportedWithTheLogsLastLine) {
  Shell("echo first >&2; echo 'no such device' >&2; exit 3");
  const Status status = group_->WaitUntil(NowNs() + kLongNs);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.text(), "child exited with code 3: no such device");
}

TEST_F(ChildGroupTest, AProgramThatIsNotThereIsAnErrorAtOnce) {
  ChildSpec spec;
  spec.name = "ghost";
  spec.arguments = {directory_.path() + "/nothing"};
  spec.log_path = directory_.path() + "/log";
  const Result<ChildProcess*> child = group_->Start(spec);
  ASSERT_FALSE(child.ok());
  EXPECT_THAT(child.status().text(), HasSubstr("No such file"));
}

TEST_F(ChildGroupTest, ASignalToUsEndsTheWaitAndTheChildren) {
  const pid_t child = Shell("trap '' TERM; echo set; while :; do sleep 1; done")->pid();
  while (LastLine(directory_.path() + "/out") != "set") {
    ASSERT_TRUE(group_->WaitUntil(NowNs() + kNsPerMs).ok());
  }
  raise(SIGINT);  // blocked by the group, so that it does not end the test
  const Status status = group_->WaitUntil(NowNs() + kLongNs);
  EXPECT_EQ(status.code(), ErrorCode::kRefused);
  EXPECT_EQ(group_->interrupted(), SIGINT);
  group_.reset();  // the child ignores SIGTERM
  EXPECT_FALSE(Alive(child));
}

TEST_F(ChildGroupTest, DeathBySignalIsNamed) {
  ChildProcess* child = Shell("kill -9 $$");
  const Status status = group_->WaitForEnd(child, NowNs() + kLongNs);
  EXPECT_THAT(status.text(), HasSubstr("killed by signal 9"));
}

TEST(TemporaryDirectoryTest, GoesWithItsOwner) {
  std::string path;
  {
    Result<TemporaryDirectory> directory = TemporaryDirectory::Make("sgprs-test-");
    ASSERT_TRUE(directory.ok());
    path = directory->path();
    std::ofstream(path + "/file") << "x";
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace sgprs::cli
