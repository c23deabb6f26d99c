// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/perfetto_export.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/unit/cli_jobs/written_log.h"

namespace sgprs::cli {
namespace {

constexpr double kUnderOneNs = 0.0005;  // us; see chrome_trace.cc

class PerfettoExportTest : public ::testing::Test {
 protected:
  // All jobs of the log, drawn.
  Json Export() {
    std::string text;
    PerfettoExport out([&text](std::string_view part) {
      text += part;
      return true;
    });
    std::unique_ptr<JobHistory> history = log_.Open();
    while (std::optional<HistoryJob> job = *history->Next()) {
      out.Add(*job, history->Label(*job->task));
    }
    out.Finish(history->header());
    return Json::parse(text);
  }
  // Events by phase and name.
  static std::map<std::string, int> Count(const Json& trace) {
    std::map<std::string, int> counts;
    for (const Json& event : trace["traceEvents"]) {
      ++counts[event["ph"].get<std::string>() + " " + event.value("name", "")];
    }
    return counts;
  }

  WrittenLog log_;
};

TEST_F(PerfettoExportTest, AJobItsPartsItsStageAndItsArrow) {
  log_.Task(1, "cam");
  log_.Contents(1, {"conv"});
  log_.UsualJobs(1, 1);
  const Json trace = Export();
  const SgprsLogJob job = UsualJob(1, 1, kNsPerSecond);
  std::map<std::string, int> flows;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    const std::string name = event.value("name", "");
    if (phase == "s" || phase == "t" || phase == "f") ++flows[phase];
    if (name == "job 1") {
      EXPECT_NEAR(event["ts"].get<double>(), static_cast<double>(job.release_ns) / 1e3,
                  kUnderOneNs);
      EXPECT_NEAR(event["dur"].get<double>(),
                  static_cast<double>(job.complete_ns - job.release_ns) / 1e3, kUnderOneNs);
    }
    if (name == "cam 1.0") {
      EXPECT_EQ(event["args"]["kernels"], "conv x10");
      EXPECT_NEAR(event["ts"].get<double>(), static_cast<double>(job.first_grant_ns) / 1e3,
                  kUnderOneNs);
    }
  }
  EXPECT_EQ(flows, (std::map<std::string, int>{{"s", 1}, {"t", 1}, {"f", 1}}));
  std::map<std::string, int> counts = Count(trace);
  EXPECT_EQ(counts["X job 1"], 1);
  EXPECT_EQ(counts["X cam 1.0"], 1);
  EXPECT_EQ(counts["X GPU"], 1);
  EXPECT_EQ(counts["X user"], 1);
  EXPECT_EQ(counts["X execute"], 1);
  EXPECT_EQ(counts["i deadline missed"], 0);
  EXPECT_EQ(trace["otherData"]["policy"], "sgprs");
}

TEST_F(PerfettoExportTest, AMissIsMarkedAndWhoHadTheCpu) {
  log_.Task(1, "cam");
  SgprsLogJob job = UsualJob(1, 1, kNsPerSecond);
  Delay(&job, &SgprsLogJob::on_cpu_ns, 8 * kNsPerMs);
  job.culprit_tid = 77;
  job.culprit_ns = 7 * kNsPerMs;
  std::strcpy(job.culprit_comm, "hog");
  log_.Job(job);
  std::map<std::string, int> counts = Count(Export());
  EXPECT_EQ(counts["i deadline missed"], 1);
  EXPECT_EQ(counts["X hog"], 1);
}

// Slices of one track must nest or follow, whatever order the records come in.
TEST_F(PerfettoExportTest, TimesOnATrackRise) {
  log_.Task(1, "cam");
  for (const uint64_t number : {3, 1, 2}) {
    log_.Job(UsualJob(1, number, kNsPerSecond + number * kPeriod));
  }
  double last = 0;
  int jobs = 0;
  const Json trace = Export();
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("name", "").rfind("job ", 0) != 0) continue;
    EXPECT_GT(event["ts"].get<double>(), last);
    last = event["ts"];
    ++jobs;
  }
  EXPECT_EQ(jobs, 3);
}

TEST_F(PerfettoExportTest, NamesFromClientsAreJustText) {
  log_.Task(1, "a\"b\\c\n");
  log_.UsualJobs(1, 1);
  EXPECT_GT(Export()["traceEvents"].size(), 5u);
}

}  // namespace
}  // namespace sgprs::cli
