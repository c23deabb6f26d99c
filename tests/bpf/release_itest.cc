// SPDX-License-Identifier: Apache-2.0
// Releases as sgprsd takes them: a process that sleeps until its period and then is late with its
// first launch keeps the deadline of its timer, if it is asked to.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/kernel/probes.h"
#include "runtime/observe/job_log_reader.h"
#include "tests/bpf/sleeper.h"
#include "tests/sim/sgprsd/sgprsd_process.h"
#include "tests/support/fake_shim.h"

namespace sgprs::testing {
namespace {

constexpr size_t kJobs = 40;
constexpr uint64_t kPeriodNs = 30 * kNsPerMs;
constexpr uint64_t kLateNs = 8 * kNsPerMs;
constexpr uint64_t kOnTime = 5;  // jobs before it begins to be late

class ReleaseTest : public ::testing::Test {
 protected:
  ReleaseTest() : due_(kJobs) {}

  void SetUp() override {
    const std::unique_ptr<kernel::Probes> probes = kernel::Probes::Load({});
    if (!HasStamps(probes->level())) GTEST_SKIP() << probes->why();
  }

  // Runs the jobs under `rule`; the log is in jobs_.
  void Run(const std::string& rule) {
    SgprsdProcess daemon;  // makes the directory
    ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
    ASSERT_EQ(daemon.Stop(), 0);
    const std::string log = daemon.directory() + "/log";
    const std::string config = daemon.directory() + "/sgprsd.toml";
    metrics_ = daemon.directory() + "/metrics";
    std::ofstream(config) << "[probes]\nrelease = \"" << rule << "\"\n[job_log]\ndirectory = \""
                          << log << "\"\n[metrics]\nlisten = \"" << metrics_ << "\"\n";
    daemon.Start({"--config", config});
    ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
    Child child([this, &daemon] { Work(daemon.socket()); });
    child.Go();
    child.Wait();
    metrics_text_ = Metrics();
    ASSERT_EQ(daemon.Stop(), 0) << daemon.stderr_text();
    Result<std::unique_ptr<observe::JobLogReader>> reader = observe::JobLogReader::Open(log);
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    while (std::optional<observe::LoggedJob> job = *(*reader)->Next()) jobs_.push_back(*job);
    ASSERT_NE((*reader)->Task(jobs_.at(0).job.client_id), nullptr);
    EXPECT_STREQ((*reader)->Task(jobs_[0].job.client_id)->name, "camera");
    EXPECT_STREQ((*reader)->header().policy, "sgprs");
  }

  // The process: 8 ms of its own work between its timer and its first launch.
  void Work(const std::string& socket) {
    FakeShim shim;
    if (!shim.Register(socket, MakeHello("camera", kPeriodNs)).ok()) return;
    shim.lane()->InternKernel("kernel");
    RunPeriodic(due_.data(), kJobs, kPeriodNs, [&shim](size_t job) {
      const uint64_t until_ns = NowNs() + kLateNs;
      while (job >= kOnTime && NowNs() < until_ns) {
      }
      shim.lane()->RecordJob(20);
      shim.lane()->RunUntilComplete();
    });
  }

  std::string Metrics() {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, metrics_.c_str(), sizeof(address.sun_path) - 1);
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
    const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
    (void)!write(fd.get(), request, sizeof(request) - 1);
    std::string all;
    char bytes[4096];
    ssize_t got;
    while ((got = read(fd.get(), bytes, sizeof(bytes))) > 0) {
      all.append(bytes, static_cast<size_t>(got));
    }
    return all;
  }

  // Late jobs whose release is exactly when their timer was due.
  size_t ReleasedWhenDue() {
    size_t count = 0;
    for (const observe::LoggedJob& logged : jobs_) {
      for (size_t i = kOnTime; i < kJobs; ++i) {
        if (logged.job.release_ns != due_[i].due_ns) continue;
        ++count;
        EXPECT_EQ(logged.job.deadline_ns, due_[i].due_ns + kPeriodNs);
        EXPECT_GE(logged.job.first_launch_ns, due_[i].due_ns + kLateNs);
      }
    }
    return count;
  }

  Shared<Period> due_;
  std::vector<observe::LoggedJob> jobs_;
  std::string metrics_;
  std::string metrics_text_;
};

TEST_F(ReleaseTest, AProcessThatIsLateKeepsTheDeadlineOfItsTimer) {
  ASSERT_NO_FATAL_FAILURE(Run("timer"));
  EXPECT_EQ(jobs_.size(), kJobs);
  // All but those whose events went missing (bpf/README.md).
  EXPECT_GE(ReleasedWhenDue(), (kJobs - kOnTime) * 9 / 10);
  size_t stamped = 0;
  size_t busy = 0;
  for (const observe::LoggedJob& logged : jobs_) {
    stamped += (logged.job.flags & SGPRS_LOG_STAMPS) != 0 ? 1 : 0;
    busy += logged.job.run_ns + logged.job.queued_ns >= kLateNs ? 1 : 0;
  }
  EXPECT_GE(stamped, kJobs * 9 / 10);
  EXPECT_GE(busy, (kJobs - kOnTime) * 8 / 10);  // the record says where the 8 ms went
  EXPECT_NE(metrics_text_.find("\nsgprs_probe_records_total "), std::string::npos);
  EXPECT_TRUE(metrics_text_.ends_with("# EOF\n"));
}

TEST_F(ReleaseTest, ByItsFirstLaunchItWouldGetADeadlineThatIsAsMuchLater) {
  ASSERT_NO_FATAL_FAILURE(Run("first-launch"));
  EXPECT_EQ(ReleasedWhenDue(), 0u);
  size_t later = 0;
  for (const observe::LoggedJob& logged : jobs_) {
    EXPECT_EQ(logged.job.release_ns, logged.job.first_launch_ns);
    // The stamps are in the record all the same.
    if (logged.job.due_ns != 0 && logged.job.release_ns >= logged.job.due_ns + kLateNs) ++later;
  }
  EXPECT_GE(later, (kJobs - kOnTime) * 9 / 10);
}

}  // namespace
}  // namespace sgprs::testing
