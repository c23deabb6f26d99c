// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/xml_check.h"
#include "tools/sgprs/svg_bars.h"
#include "tools/sgprs/svg_curves.h"
#include "tools/sgprs/svg_document.h"
#include "tools/sgprs/svg_gantt.h"
#include "tools/sgprs/svg_style.h"

namespace sgprs::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgNumberTest, IsShortAndFinite) {
  EXPECT_EQ(SvgNumber(12), "12");
  EXPECT_EQ(SvgNumber(12.345), "12.35");
  EXPECT_EQ(SvgNumber(100), "100");
  EXPECT_EQ(SvgNumber(-0.001), "0");
  EXPECT_EQ(SvgNumber(0.0 / 0.0), "0");
}

TEST(XmlEscapeTest, LetsNothingThroughThatXmlCanNotCarry) {
  EXPECT_EQ(XmlEscape("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(XmlEscape("\033[2J\x01"), "?[2J?");
  EXPECT_EQ(XmlEscape("gr\u00f6\u00dfe \u2026"), "gr\u00f6\u00dfe \u2026");
  EXPECT_EQ(XmlEscape("\xff\xc3"), "??");
  EXPECT_EQ(XmlEscape("\xed\xa0\x80"), "???");  // a surrogate
}

TEST(SvgTicksTest, AreRoundAndCover) {
  EXPECT_THAT(svg::Ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(svg::Ticks(459, 741, 4), ElementsAre(400, 500, 600, 700, 800));
  EXPECT_THAT(svg::InnerTicks(459, 741, 4), ElementsAre(500, 600, 700));
  EXPECT_EQ(svg::Ticks(5, 5, 4).front(), 5);  // no range: still an axis
  EXPECT_EQ(svg::TickText(1234567, 1), "1,234,567");
  EXPECT_EQ(svg::TickText(999, 1), "999");
  EXPECT_EQ(svg::TickText(1000.5, 0.25), "1,000.50");
  EXPECT_EQ(svg::TickText(-1000, 500), "-1,000");
}

CurveFigure Figure() {
  const auto panel = [](const std::string& title, bool percent) {
    CurvePanel panel{title, "y", title, percent, {}};
    panel.curves.push_back({"sgprs", 0, CurveKind::kOurs, {{20, 60, 50, 70}, {21, 61, 55, 72}}});
    panel.curves.push_back({"published", 0, CurveKind::kPublished, {{20, 60, 60, 60}}});
    return panel;
  };
  return {"A <title>", {"sub & title"}, "tasks N", 2, {panel("one", false), panel("two", true)},
          {"a note"}};
}

TEST(SvgCurvesTest, IsWellFormedAndSaysItsNames) {
  const std::string svg = DrawCurves(Figure());
  const XmlCheck check = CheckXml(svg);
  EXPECT_EQ(check.error, "");
  EXPECT_THAT(svg, Not(HasSubstr("script")));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  for (const char* text :
       {"A &lt;title&gt;", "sub &amp; title", "one", "two", "tasks N", "a note"}) {
    EXPECT_THAT(check.texts, Contains(text));
  }
  // One entry a name in the legend, however many panels draw it.
  EXPECT_EQ(std::count(check.texts.begin(), check.texts.end(), "published"), 1);
  EXPECT_EQ(check.elements.at("polygon"), 2);  // the bands of ours, none of what was published
}

TEST(SvgCurvesTest, NothingToDrawIsStillAPicture) { EXPECT_EQ(CheckXml(DrawCurves({})).error, ""); }

model::StageRow Stage(uint32_t task, uint32_t partition, uint64_t from_ms, uint64_t to_ms) {
  model::StageRow row;
  row.task = task;
  row.partition = partition;
  row.stage_count = 6;
  row.granted_ns = from_ms * 1'000'000;
  row.start_ns = row.granted_ns;
  row.end_ns = to_ms * 1'000'000;
  row.virtual_deadline_ns = UINT64_MAX;
  return row;
}

Gantt Window() {
  Gantt gantt;
  gantt.title = "window";
  gantt.partition_sms = {34, 34};
  gantt.tasks = {{"a&b", ""}, {"two", "high"}};
  gantt.stages = {Stage(0, 0, 10, 20), Stage(1, 0, 15, 25), Stage(0, 1, 20, 30),
                  Stage(1, 1, 90, 95)};
  gantt.from_ns = 10'000'000;
  gantt.to_ns = 50'000'000;
  return gantt;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SvgGanttTest, DrawsWhatTouchesTheWindowOnceAPlace) {
  const std::string svg = DrawGantt(Window());
  EXPECT_EQ(CheckXml(svg).error, "");
  // A bar among the partitions and one among the tasks each; the last stage lies outside.
  EXPECT_EQ(Count(svg, "a&amp;b, job 0, stage 1 of 6"), 4);
  EXPECT_EQ(Count(svg, "two, job 0, stage 1 of 6"), 2);
  EXPECT_THAT(svg, HasSubstr("partition 0, 34 SMs"));
  EXPECT_THAT(svg, HasSubstr("10.000 to 20.000 ms (10ms)"));
}

TEST(SvgGanttTest, StagesAtOnceGetLanesOfTheirOwn) {
  Gantt one = Window();
  one.stages.resize(1);
  EXPECT_GT(CheckXml(DrawGantt(Window())).elements.at("rect"), 0);
  // The second lane of partition 0 makes the picture higher.
  const auto height = [](const std::string& svg) {
    const size_t at = svg.find("height=\"") + 8;
    return std::stod(svg.substr(at));
  };
  EXPECT_GT(height(DrawGantt(Window())), height(DrawGantt(one)));
}

TEST(SvgGanttTest, MissedDeadlinesDiffer) {
  Gantt gantt = Window();
  gantt.jobs = {{.task = 0, .release_ns = 10'000'000, .deadline_ns = 40'000'000, .on_time = true}};
  EXPECT_THAT(DrawGantt(gantt), HasSubstr("deadline 40.000 ms, met"));
  gantt.jobs[0].on_time = false;
  EXPECT_THAT(DrawGantt(gantt), HasSubstr("deadline 40.000 ms, missed"));
  gantt.jobs[0].held = true;
  EXPECT_THAT(DrawGantt(gantt), HasSubstr(">held<"));
}

TEST(SvgGanttTest, ManyTasksAreCutAndSaid) {
  Gantt gantt = Window();
  gantt.tasks.resize(kGanttTasks + 5, {"t", ""});
  EXPECT_THAT(DrawGantt(gantt), HasSubstr("The first 64 of 69 tasks"));
}

TEST(SvgRatesTest, LateFramesAreAnotherShadeOfTheBar) {
  RateFigure figure;
  figure.title = "rates";
  figure.offered_fps = 240;
  figure.bars = {{"naive", 1, 210, 120.5, 49.8}};
  const std::string svg = DrawRates(figure);
  EXPECT_EQ(CheckXml(svg).error, "");
  EXPECT_THAT(svg, HasSubstr("210.0 completed, 120.5 on time, 49.8 % missed"));
  figure.offered_fps = 0;
  EXPECT_THAT(DrawRates(figure), Not(HasSubstr("released")));
}

TEST(SvgTest, TheSameInputGivesTheSameBytes) {
  EXPECT_EQ(DrawGantt(Window()), DrawGantt(Window()));
  EXPECT_EQ(DrawCurves(Figure()), DrawCurves(Figure()));
}

}  // namespace
}  // namespace sgprs::cli
