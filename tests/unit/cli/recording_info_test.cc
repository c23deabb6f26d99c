// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/recording_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/sgprs/state_view.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kReply =
    R"({"probes":{"level":"capabilities","why":"loaded without root","records":100,"lost":3,)"
    R"("complete":90,"incomplete":7,"missing":2,"unreleased":1,"missed":4},)"
    R"("job_log":{"directory":"/var/log/sgprs","written":50,"dropped":5,"trouble":"jobs.1: No space left on device"},"metrics":"9100"})";

TEST(RecordingInfoTest, ReadsEveryField) {
  const Result<RecordingInfo> info = ParseRecording(kReply);
  ASSERT_TRUE(info.ok()) << info.status().text();
  EXPECT_EQ(info->level, "capabilities");
  EXPECT_EQ(info->records, 100u);
  EXPECT_EQ(info->incomplete, 7u);
  EXPECT_EQ(info->job_log, "/var/log/sgprs");
  EXPECT_EQ(info->metrics, "9100");
  EXPECT_EQ(ProbesInWords(*info), "capabilities: loaded without root");
  EXPECT_THAT(ProbeCountsInWords(*info), HasSubstr("90 complete, 7 incomplete, 3 lost"));
  EXPECT_EQ(JobLogInWords(*info), "/var/log/sgprs, 50 records, 5 dropped");
  EXPECT_EQ(ProbesJson(*info).at("lost"), 3u);
  EXPECT_EQ(JobLogJson(*info).at("dropped"), 5u);
  EXPECT_EQ(JobLogJson(*info).at("trouble"), "jobs.1: No space left on device");
}

TEST(RecordingInfoTest, WithoutStampsTheReleaseIsSaid) {
  const Result<RecordingInfo> info =
      ParseRecording(R"({"probes":{"level":"none","why":"needs CAP_BPF"},"job_log":null})");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(ProbesInWords(*info), "none: needs CAP_BPF; releases are first launches");
  EXPECT_THAT(JobLogInWords(*info), HasSubstr("--job-log"));
  EXPECT_TRUE(JobLogJson(*info).is_null());
}

TEST(RecordingInfoTest, RefusesWhatItDoesNotKnow) {
  for (const char* reply : {"", "[]", "{}", R"({"probes":7})", R"({"probes":{"level":""}})", "{"}) {
    EXPECT_FALSE(ParseRecording(reply).ok()) << reply;
  }
  const Result<RecordingInfo> odd =
      ParseRecording(R"({"probes":{"level":"root","lost":-1,"records":"x"},"job_log":[]})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->lost, 0u);
}

TEST(RecordingInfoTest, DroppedRecordsAreADegradation) {
  StateView view;
  view.recording = ParseRecording(kReply).value();
  EXPECT_THAT(StatusText(view), HasSubstr("5 job records were dropped: jobs.1: No space left"));
  EXPECT_EQ(StatusJson(view).at("degraded").size(), 1u);
  view.recording->log_dropped = 0;
  EXPECT_THAT(StatusText(view), HasSubstr("health      good"));
}

TEST(RecordingInfoTest, StatusShowsItOrWhyNot) {
  StateView view;
  EXPECT_THAT(StatusText(view), Not(HasSubstr("probes")));
  view.recording_error = "this sgprsd is older";
  EXPECT_THAT(StatusText(view), HasSubstr("probes      not known: this sgprsd is older"));
  EXPECT_TRUE(StatusJson(view).at("probes").is_null());
  view.recording = ParseRecording(kReply).value();
  EXPECT_THAT(StatusText(view), HasSubstr("probes      capabilities: loaded without root\n"));
  EXPECT_EQ(StatusJson(view).at("probes").at("level"), "capabilities");
  EXPECT_EQ(StatusJson(view).at("job_log").at("directory"), "/var/log/sgprs");
}

}  // namespace
}  // namespace sgprs::cli
