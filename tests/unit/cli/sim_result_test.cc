// SPDX-License-Identifier: Apache-2.0
// Series, tables, JSON, CSV and figures of results made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/paper_data.h"
#include "tests/unit/cli/xml_check.h"
#include "tools/sgprs/sim_json.h"
#include "tools/sgprs/sim_paper.h"
#include "tools/sgprs/sim_plots.h"
#include "tools/sgprs/sim_series.h"
#include "tools/sgprs/sim_table.h"

namespace sgprs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

model::SimResult RunOf(const std::string& policy, uint32_t n, uint64_t seed, double fps,
                       double miss_percent) {
  model::SimResult run;
  run.scenario = "a,b";
  run.device = "rtx2080ti";
  run.device_sm_count = 68;
  run.policy = policy;
  run.overload = "late";
  run.admission = "off";
  run.seed = seed;
  run.n = n;
  run.horizon_ns = 1'000'000'000;
  run.expected = 30 * n;
  run.completed_fps = fps;
  run.miss_percent = miss_percent;
  run.on_time_fps = 30 * n * (1 - miss_percent / 100);
  const uint32_t sm_count = policy == "naive" ? 68 : 34;
  for (int i = 0; i < 3; ++i) run.partitions.push_back({sm_count, 2, 0.5, 10, 1});
  model::TaskResult task;
  task.name = "t";
  task.expected = 30 * n;
  task.skipped = 3 * n;
  run.tasks.push_back(task);
  return run;
}

// What was published, as if we had measured it.
std::vector<SimSeries> Published() {
  std::vector<model::SimResult> runs;
  for (const char* policy : {"naive", "sgprs"}) {
    const model::PaperCurve* curve = model::FindPaperCurve(policy, 3, 1.5);
    for (uint32_t i = 0; i < model::kPaperPoints; ++i) {
      runs.push_back(RunOf(policy, 20 + i, 1, curve->fps[i], curve->miss_percent[i]));
    }
  }
  return MakeSeries(std::move(runs));
}

TEST(SimSeriesTest, SeedsArePointsAndCountsAreSeries) {
  const std::vector<SimSeries> series =
      MakeSeries({RunOf("sgprs", 24, 1, 700, 0), RunOf("sgprs", 20, 1, 600, 0),
                  RunOf("sgprs", 24, 2, 710, 10), RunOf("naive", 24, 1, 470, 93)});
  ASSERT_EQ(series.size(), 2u);
  ASSERT_EQ(series[0].points.size(), 2u);
  EXPECT_EQ(series[0].points[0].n, 20u);
  const Spread spread = series[0].points[1].completed_fps();
  EXPECT_THAT((std::vector<double>{spread.mean, spread.least, spread.most}),
              ElementsAre(705, 700, 710));
  EXPECT_DOUBLE_EQ(series[0].points[0].skipped_percent().mean, 10);
}

TEST(SimSeriesTest, ThePivotIsTheLastOneBeforeAnyMiss) {
  const auto pivot = [](std::vector<double> misses) {
    std::vector<model::SimResult> runs;
    for (size_t i = 0; i < misses.size(); ++i) {
      runs.push_back(RunOf("sgprs", 20 + static_cast<uint32_t>(i), 1, 600, misses[i]));
    }
    return Summarise(MakeSeries(std::move(runs)).front()).pivot;
  };
  EXPECT_EQ(pivot({0, 0.4, 0.6, 0}), 21u);  // not 23: something was missed before
  EXPECT_EQ(pivot({0, 0}), 21u);
  EXPECT_EQ(pivot({5, 0}), std::nullopt);
}

TEST(SimSeriesTest, NamesSayWhatDiffers) {
  SeriesKey key;
  key.policy = "sgprs";
  key.overload = "late";
  key.admission = "off";
  key.policy_options = {{"preset", "paper"}};
  EXPECT_EQ(SeriesName(key), "sgprs");
  key.overload = "hold";
  key.policy_options = {{"staging", "false"}};
  EXPECT_THAT(SeriesName(key), HasSubstr("staging false"));
  EXPECT_THAT(SeriesName(key), HasSubstr(", hold"));
  EXPECT_EQ(PoolName({34, 34}), "2 x 34 SMs");
  EXPECT_EQ(PoolName({16, 52}), "16+52 SMs");
}

TEST(SimPaperTest, ThePublishedNumbersFulfilThePapersClaims) {
  const std::vector<PaperClaim> claims = CheckClaims(Published());
  ASSERT_EQ(claims.size(), 4u);
  for (const PaperClaim& claim : claims) {
    EXPECT_TRUE(claim.holds) << claim.what;
    EXPECT_NEAR(claim.ours, claim.published, 1e-9) << claim.what;
  }
}

TEST(SimPaperTest, ABrokenShapeIsSaid) {
  std::vector<SimSeries> series = Published();
  for (SimPoint& point : series[0].points) point.runs[0].completed_fps = 600;  // naive holds out
  int broken = 0;
  for (const PaperClaim& claim : CheckClaims(series)) broken += claim.holds ? 0 : 1;
  EXPECT_EQ(broken, 1);
}

TEST(SimPaperTest, RunsAfterAStandstillAreComparedAmongThemselves) {
  std::vector<SimSeries> series = Published();
  for (SimSeries behind : Published()) {
    behind.key.standstill_ns = 1;
    // Naive lives as long as sgprs from rest only.
    series.push_back(behind);
  }
  for (SimPoint& point : series[0].points) point.runs[0].miss_percent = 0;
  EXPECT_EQ(SeriesName(series[2].key), "naive, after a standstill");
  EXPECT_EQ(PublishedFor(series[2]), PublishedFor(series[0]));
  const std::vector<PaperClaim> claims = CheckClaims(series);
  ASSERT_EQ(claims.size(), 8u);
  for (const PaperClaim& claim : claims) {
    const bool pivots = claim.unit == " tasks";
    EXPECT_EQ(claim.holds, !pivots || claim.standstill_ns == 1) << claim.what;
  }
}

TEST(SimPaperTest, OnlyWhatThePaperRanHasACurve) {
  std::vector<SimSeries> series = Published();
  EXPECT_EQ(PublishedFor(series[0])->pivot, 20u);
  EXPECT_EQ(PublishedFor(series[1])->pivot, 24u);
  series[1].key.overload = "hold";
  EXPECT_EQ(PublishedFor(series[1]), nullptr);
  series[0].key.sm_counts.push_back(68);
  EXPECT_EQ(PublishedFor(series[0]), nullptr);
}

TEST(SimPaperTest, PivotsOfSeedsStandAlone) {
  const std::vector<SimSeries> series =
      MakeSeries({RunOf("sgprs", 20, 1, 600, 0), RunOf("sgprs", 20, 2, 600, 0),
                  RunOf("sgprs", 21, 1, 630, 0), RunOf("sgprs", 21, 2, 630, 40)});
  EXPECT_THAT(PivotsBySeed(series[0]), ElementsAre(21, 20));
}

std::vector<std::string> Keys(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST(SimJsonTest, HasThePromisedKeys) {
  const Json json = SweepJson("sweep", Published());
  EXPECT_THAT(Keys(json), ElementsAre("version", "kind", "scenario", "device", "device_sm_count",
                                      "warmup_ns", "horizon_ns", "series"));
  EXPECT_EQ(json["version"], 1);
  const Json& series = json["series"][0];
  EXPECT_THAT(Keys(series),
              ElementsAre("name", "policy", "policy_options", "overload", "admission", "partitions",
                          "sm_counts", "oversubscription", "standstill_ns", "summary", "points"));
  const Json& point = series["points"][0];
  EXPECT_THAT(Keys(point), ElementsAre("n", "completed_fps", "on_time_fps", "miss_percent",
                                       "skipped_percent", "runs"));
  EXPECT_THAT(Keys(point["completed_fps"]), ElementsAre("mean", "least", "most"));
  EXPECT_THAT(
      Keys(point["runs"][0]),
      ElementsAre("seed", "expected", "released", "completed", "on_time", "held", "completed_fps",
                  "on_time_fps", "miss_percent", "switches", "utilisation", "high_utilisation",
                  "high_misses", "loss", "warnings", "partitions", "tasks"));
  EXPECT_THAT(Keys(point["runs"][0]["tasks"][0]["mk"]), ElementsAre("k", "worst_m"));
}

TEST(SimCsvTest, EveryLineHasAsManyColumnsAsTheFirst) {
  const std::string csv = SweepCsv(Published());
  size_t lines = 0;
  size_t commas = 0;
  size_t first = 0;
  bool quoted = false;
  for (char c : csv) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) ++commas;
    if (c != '\n') continue;
    if (lines++ == 0) first = commas;
    EXPECT_EQ(commas, first) << lines;
    commas = 0;
  }
  EXPECT_EQ(lines, 1 + 2 * model::kPaperPoints);
  EXPECT_THAT(csv, HasSubstr("\"a,b\",rtx2080ti,naive"));
  EXPECT_EQ(CsvField("a\"b"), "\"a\"\"b\"");
}

TEST(SimTableTest, PoolsAreNamedOnlyWhereTheyDiffer) {
  EXPECT_THAT(PointsText(Published()), HasSubstr("POOL"));
  EXPECT_THAT(PointsText(MakeSeries({RunOf("sgprs", 4, 1, 1, 0)})), Not(HasSubstr("POOL")));
  EXPECT_EQ(SummaryText(MakeSeries({RunOf("sgprs", 4, 1, 1, 0)})), "");
  model::SimResult high = RunOf("sgprs", 4, 1, 1, 0);
  EXPECT_THAT(PointsText(MakeSeries({high})), Not(HasSubstr("HIGH MISSED")));
  high.tasks[0].task_class = SGPRS_CLASS_HIGH;
  EXPECT_THAT(PointsText(MakeSeries({high})), HasSubstr("HIGH MISSED"));
  EXPECT_THAT(PerTaskText(Published()), HasSubstr("(10,10)"));
}

TEST(SimPlotsTest, TheBaselineStandsBesideEachPoolAndThePaperBesideOurs) {
  const CurveFigure figure = SweepFigure("title", Published(), true);
  ASSERT_EQ(figure.panels.size(), 3u);  // one pool, three numbers
  std::vector<std::string> names;
  for (const Curve& curve : figure.panels[0].curves) names.push_back(curve.name);
  EXPECT_THAT(names, ElementsAre("sgprs", "sgprs, published", "naive", "naive, published", "due"));
  EXPECT_DOUBLE_EQ(figure.panels[1].curves[1].points[10].y, 900 * 0.2);  // 80 % missed at N = 30
  EXPECT_EQ(CheckXml(DrawCurves(figure)).error, "");
  EXPECT_EQ(SweepFigure("title", Published(), false).panels[0].curves.size(), 3u);
}

TEST(SimPlotsTest, OnePointIsBars) {
  const RateFigure figure = PointFigure("title", MakeSeries({RunOf("sgprs", 24, 1, 700, 3)}));
  ASSERT_EQ(figure.bars.size(), 1u);
  EXPECT_DOUBLE_EQ(figure.offered_fps, 720);
  EXPECT_EQ(figure.bars[0].colour, 0u);
}

}  // namespace
}  // namespace sgprs::cli
