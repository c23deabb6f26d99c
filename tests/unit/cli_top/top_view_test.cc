// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/base/clock.h"
#include "tools/sgprs/top/top_columns.h"

namespace sgprs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TopTask Task(const std::string& name, uint64_t id, double miss_percent) {
  TopTask task;
  std::strncpy(task.row.name, name.c_str(), sizeof(task.row.name) - 1);
  task.row.client_id = id;
  task.row.state = SGPRS_TASK_SCHEDULED;
  task.row.period_ns = task.row.deadline_ns = 33'300'000;
  task.row.counters.stages_completed = 6;
  task.row.partition = 1;
  task.window_ns = kNsPerSecond;
  task.window.jobs_completed = 30;
  task.rates = {.completed_fps = 30.0 + static_cast<double>(id),
                .on_time_fps = 30,
                .miss_percent = miss_percent};
  task.jitter_p50_ns = 12'340;
  task.jitter_p99_ns = 2'500'000;
  return task;
}

TopPicture Picture(size_t tasks, size_t partitions) {
  TopPicture picture;
  picture.sample.emplace();
  std::strcpy(picture.sample->header.policy, "sgprs");
  std::strcpy(picture.sample->header.device_name, "a device");
  for (size_t i = 0; i < tasks; ++i) {
    picture.sample->tasks.push_back(
        Task("task-" + std::to_string(i), i, static_cast<double>(i % 5)));
  }
  for (size_t i = 0; i < partitions; ++i) {
    TopPartition partition;
    partition.row.index = static_cast<uint32_t>(i);
    partition.row.sm_count = 34;
    partition.busy_percent = 50;
    picture.sample->partitions.push_back(partition);
  }
  picture.recording = RecordingInfo{.level = "capabilities", .lost = 2, .incomplete = 3};
  return picture;
}

size_t Columns(const TopLine& line) {
  size_t columns = 0;
  for (const TopSpan& span : line) {
    for (const char c : span.text) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }
  return columns;
}

TEST(TopViewTest, FitsEveryScreen) {
  TopPicture picture = Picture(40, 32);
  std::strcpy(picture.sample->tasks[3].row.name,
              "Kamera-\xc3\xa4\xc3\xb6\xc3\xbc-with-a-long-name");
  picture.degradations = {std::string(300, 'x'), "y"};
  for (const size_t width : {1, 20, 40, 79, 80, 81, 132, 200, 400}) {
    for (const size_t height : {1, 2, 5, 10, 24, 50, 200}) {
      for (const auto& lines : {DrawTop(picture, width, height), DrawTopHelp(width, height)}) {
        EXPECT_EQ(lines.size(), height) << width;
        for (const TopLine& line : lines) EXPECT_LE(Columns(line), width) << height;
      }
    }
  }
}

TEST(TopViewTest, EightyColumnsHoldWhatMatters) {
  const std::string text = TopText(DrawTop(Picture(3, 2), 80, 24));
  for (const char* part : {"policy sgprs",   "probes capabilities",
                           "3 incomplete",   "2 lost",
                           "TASK",           "CLASS",
                           "PERIOD",         "FPS",
                           "ON-TIME%",       "MISSES",
                           "JITTER p50/p99", "AT",
                           "task-2",         "33.3ms",
                           "12.3us",         "2.50ms",
                           "1 high",         "50.0%",
                           "[|||",           "q quit"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("LAUNCH/s")));
  const std::string wide = TopText(DrawTop(Picture(3, 2), 200, 24));
  for (const char* part : {"RESP. p50/p99", "LAUNCH/s", "STATE"}) {
    EXPECT_THAT(wide, HasSubstr(part));
  }
}

TEST(TopViewTest, WithoutAJobLogTheResponseTakesTheJittersPlace) {
  TopPicture picture = Picture(1, 1);
  picture.sample->tasks[0].jitter_p50_ns.reset();
  const std::string text = TopText(DrawTop(picture, 80, 24));
  EXPECT_THAT(text, HasSubstr("RESP. p50/p99"));
  EXPECT_THAT(text, Not(HasSubstr("JITTER")));
}

TEST(TopViewTest, SaysWhatIsLeftOutAndScrolls) {
  TopPicture picture = Picture(40, 2);
  EXPECT_THAT(TopText(DrawTop(picture, 80, 24)), HasSubstr("of 40 (arrows scroll)"));
  picture.first_task = 39;
  const std::string text = TopText(DrawTop(picture, 80, 24));
  EXPECT_THAT(text, HasSubstr("tasks 40 to 40 of 40"));
  picture.first_task = 1000;  // tasks have ended meanwhile
  EXPECT_THAT(TopText(DrawTop(picture, 80, 24)), HasSubstr("tasks 40 to 40 of 40"));
  EXPECT_THAT(TopText(DrawTop(picture, 80, 0)), Not(HasSubstr("of 40")));  // everything
}

TEST(TopViewTest, SortsAndReverses) {
  TopPicture picture = Picture(3, 0);
  picture.sample->tasks[1].row.state = SGPRS_TASK_GONE;
  const auto names = [&picture] {
    std::vector<std::string> out;
    for (const TopTask& task : SortedTasks(picture)) out.emplace_back(task.row.name);
    return out;
  };
  EXPECT_THAT(names(), ElementsAre("task-0", "task-2"));
  picture.sort = TopSort::kFps;
  EXPECT_THAT(names(), ElementsAre("task-2", "task-0"));
  picture.reversed = true;
  picture.show_gone = true;
  EXPECT_THAT(names(), ElementsAre("task-0", "task-1", "task-2"));
  for (const TopSort sort : kTopSorts) EXPECT_EQ(FindTopSort(TopSortName(sort)), sort);
  EXPECT_FALSE(FindTopSort("nonsense").has_value());
}

TEST(TopViewTest, ADaemonThatIsGoneIsSaidAboveItsLastPicture) {
  TopPicture picture = Picture(1, 1);
  picture.socket = "/run/x";
  picture.lost = "it is gone";
  picture.message = "policy x";
  const std::string text = TopText(DrawTop(picture, 80, 24));
  EXPECT_THAT(text, HasSubstr("NO DAEMON at /run/x: waiting"));
  EXPECT_THAT(text, HasSubstr("task-0"));
  picture.sample.reset();
  EXPECT_THAT(TopText(DrawTop(picture, 80, 24)), HasSubstr("NO DAEMON"));
}

TEST(TopViewTest, NamesCanNotDriveTheTerminal) {
  TopPicture picture = Picture(1, 0);
  std::strcpy(picture.sample->tasks[0].row.name, "\x1b[2Jx\n\x9b");
  std::strcpy(picture.sample->header.policy, "\x1b]0;x");
  const std::string text = TopText(DrawTop(picture, 80, 24));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TopViewTest, DurationsHaveThreeDigits) {
  EXPECT_EQ(ShortDuration(std::nullopt), "-");
  EXPECT_EQ(ShortDuration(0), "0ns");
  EXPECT_EQ(ShortDuration(999), "999ns");
  EXPECT_EQ(ShortDuration(1'000), "1.00us");
  EXPECT_EQ(ShortDuration(33'333'333), "33.3ms");
  EXPECT_EQ(ShortDuration(999'999), "1.00ms");
  EXPECT_EQ(ShortDuration(123'400'000'000), "123s");
}

}  // namespace
}  // namespace sgprs::cli
