// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/base/clock.h"
#include "runtime/base/duration.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"
#include "tools/sgprs/top/top_columns.h"

namespace sgprs::cli {
namespace {

constexpr size_t kLeastName = 12;
constexpr size_t kMostName = 32;
constexpr size_t kWideScreen = 120;
constexpr size_t kMeterWidth = 56;  // least of a partition's meter where there are two in a line
constexpr size_t kLeastTasks = 3;   // lines of tasks that partitions may not take away
constexpr std::string_view kKeys =
    " p policy  o overload  s sort  r reverse  g gone  space pause  ? help  q quit";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t Columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

// Bytes of the first `columns` characters.
size_t BytesOf(std::string_view text, size_t columns) {
  size_t at = 0;
  while (at < text.size()) {
    if (!IsContinuation(text[at]) && columns-- == 0) break;
    ++at;
  }
  return at;
}

// Cuts what is beyond `width`.
TopLine Cut(TopLine line, size_t width) {
  size_t used = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const size_t columns = Columns(line[i].text);
    if (used + columns > width) {
      line[i].text.resize(BytesOf(line[i].text, width - used));
      line.resize(i + 1);
      break;
    }
    used += columns;
  }
  return line;
}

TopLine Plain(std::string text) { return {{std::move(text), TopStyle::kPlain}}; }

std::string States(const TopSample& sample) {
  std::string out;
  for (uint32_t state = SGPRS_TASK_JOINING; state <= SGPRS_TASK_BYPASSED; ++state) {
    const auto count = std::count_if(sample.tasks.begin(), sample.tasks.end(),
                                     [state](const TopTask& t) { return t.row.state == state; });
    if (count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, TaskStateWord(state));
  }
  return out.empty() ? "none" : out;
}

TopLine DeviceLine(const TopPicture& picture, const TopSample& sample) {
  const SgprsStateHeader& header = sample.header;
  const uint64_t up_ns = sample.read_ns - std::min(sample.read_ns, header.started_ns);
  TopLine line = {{"sgprs top  ", TopStyle::kBold},
                  {header.device_name[0] == '\0'
                       ? std::string("no device yet")
                       : fmt::format("{}, {} SMs", Printable(header.device_name), header.sm_count),
                   TopStyle::kPlain},
                  {fmt::format("  up {}", FormatDurationNs(up_ns / kNsPerSecond * kNsPerSecond)),
                   TopStyle::kPlain}};
  if (picture.paused) line.push_back({"  PAUSED", TopStyle::kAlarm});
  return line;
}

TopLine PolicyLine(const TopSample& sample) {
  return {{"policy ", TopStyle::kDim},      {Printable(sample.header.policy), TopStyle::kBold},
          {"  overload ", TopStyle::kDim},  {Printable(sample.header.overload), TopStyle::kBold},
          {"  admission ", TopStyle::kDim}, {Printable(sample.header.admission), TopStyle::kBold},
          {"  tasks ", TopStyle::kDim},     {States(sample), TopStyle::kPlain}};
}

TopLine RateLine(const TopSample& sample) {
  const TaskRates& total = sample.total;
  const TopStyle missed = total.miss_percent >= 0.05 ? TopStyle::kBad : TopStyle::kGood;
  return {
      {"FPS ", TopStyle::kDim},
      {fmt::format("{:.1f} completed, {:.1f} on time, ", total.completed_fps, total.on_time_fps),
       TopStyle::kPlain},
      {fmt::format("{:.1f} % missed", total.miss_percent), missed},
      {fmt::format("  (last {})", ShortDuration(sample.window_ns)), TopStyle::kDim}};
}

TopLine ProbeLine(const TopPicture& picture) {
  if (!picture.recording.has_value()) return {{"probes not known", TopStyle::kDim}};
  const RecordingInfo& info = *picture.recording;
  const bool stamps = HasStamps(info.level);
  TopLine line = {{"probes ", TopStyle::kDim},
                  {Printable(info.level), stamps ? TopStyle::kBold : TopStyle::kWarn}};
  if (stamps) {
    const bool bad = info.lost + info.missed != 0;
    line.push_back({fmt::format("  {} waits, {} incomplete", info.records, info.incomplete),
                    TopStyle::kPlain});
    line.push_back({fmt::format(", {} lost", info.lost), bad ? TopStyle::kWarn : TopStyle::kPlain});
  }
  line.push_back({"  log ", TopStyle::kDim});
  line.push_back(
      {info.job_log.empty() ? std::string("none") : fmt::format("{} written", info.log_written),
       TopStyle::kPlain});
  if (info.log_dropped != 0) {
    line.push_back({fmt::format(", {} dropped", info.log_dropped), TopStyle::kWarn});
  }
  if (!info.why.empty()) line.push_back({"  " + Printable(info.why), TopStyle::kDim});
  return line;
}

TopLine TroubleLine(const TopPicture& picture) {
  if (!picture.lost.empty()) {
    return {{fmt::format("NO DAEMON at {}: waiting", Printable(picture.socket)), TopStyle::kAlarm}};
  }
  if (!picture.message.empty()) return {{Printable(picture.message), TopStyle::kWarn}};
  if (picture.degradations.empty()) return {};
  std::string text = "! " + picture.degradations.front();
  if (picture.degradations.size() > 1) {
    text += fmt::format(" (and {} more: sgprs status)", picture.degradations.size() - 1);
  }
  return {{text, TopStyle::kBad}};
}

// "0  34 SMs [|||||      ]  42.0%  run 1 queue 0"
TopLine Meter(const TopPartition& partition, size_t width) {
  const SgprsPartitionRow& row = partition.row;
  const std::string head = fmt::format("P{:<2} {:>3} SMs ", row.index, row.sm_count);
  std::string tail =
      fmt::format(" {:>5.1f}% run {} queue {}", partition.busy_percent, row.running, row.queued);
  if (row.stalled != 0) tail += " STALLED";
  if (width >= kMeterWidth + 16) {
    tail += fmt::format("  {:>6.0f} stages/s", partition.stages_per_second);
  }
  const size_t fixed = head.size() + tail.size() + 2;
  const size_t bar = width > fixed ? width - fixed : 0;
  const auto full =
      static_cast<size_t>(std::lround(partition.busy_percent / 100 * static_cast<double>(bar)));
  const TopStyle style = row.stalled != 0              ? TopStyle::kBad
                         : partition.busy_percent > 90 ? TopStyle::kWarn
                                                       : TopStyle::kGood;
  return {{head, TopStyle::kPlain},
          {"[", TopStyle::kBold},
          {std::string(std::min(full, bar), '|'), style},
          {std::string(bar - std::min(full, bar), ' '), TopStyle::kPlain},
          {"]", TopStyle::kBold},
          {Fit(tail, tail.size()), row.stalled != 0 ? TopStyle::kBad : TopStyle::kPlain}};
}

// Side by side where the screen is wide enough, column by column.
std::vector<TopLine> Meters(const TopSample& sample, size_t width) {
  std::vector<TopLine> lines;
  const size_t count = sample.partitions.size();
  if (count == 0) return lines;
  const size_t across = std::min(count, std::max<size_t>(1, width / kMeterWidth));
  const size_t rows = (count + across - 1) / across;
  const size_t each = (width - 2 * (across - 1)) / across;
  for (size_t row = 0; row < rows; ++row) {
    TopLine line;
    for (size_t column = 0; column < across; ++column) {
      const size_t index = column * rows + row;
      if (index >= count) break;
      if (column > 0) line.push_back({"  ", TopStyle::kPlain});
      const TopLine meter = Cut(Meter(sample.partitions[index], each), each);
      line.insert(line.end(), meter.begin(), meter.end());
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

TopStyle StyleOf(const TopTask& task) {
  if (task.row.state == SGPRS_TASK_GONE) return TopStyle::kDim;
  if (task.row.state == SGPRS_TASK_BYPASSED) return TopStyle::kBad;
  if (task.row.state != SGPRS_TASK_SCHEDULED) return TopStyle::kWarn;
  const bool missed = task.row.deadline_ns != 0 && task.rates.miss_percent >= 0.05;
  return missed ? TopStyle::kBad : TopStyle::kPlain;
}

class TaskTable {
 public:
  TaskTable(const std::vector<TopTask>& tasks, size_t width) : width_(width) {
    const bool jitter = std::any_of(tasks.begin(), tasks.end(), [](const TopTask& task) {
      return task.jitter_p50_ns.has_value();
    });
    size_t longest = kLeastName;
    for (const TopTask& task : tasks) longest = std::max(longest, Columns(task.row.name));
    // On a wide screen a name is worth more than the last columns.
    const size_t least = width < kWideScreen ? kLeastName : std::min(longest, kMostName);
    columns_ = ColumnsThatFit(width, least, jitter);
    size_t used = least;
    for (const TopColumn* column : columns_) used += 1 + column->width;
    const size_t left = width > used ? width - used : 0;
    name_width_ = least + std::min(std::min(longest, kMostName) - least, left);
  }

  TopLine Title() const {
    std::string text = Fit("TASK", name_width_);
    for (const TopColumn* column : columns_) text += Cell(*column, column->title);
    return {{Fit(text, width_), TopStyle::kTitle}};
  }

  TopLine Row(const TopTask& task) const {
    std::string text = Fit(Printable(task.row.name), name_width_);
    for (const TopColumn* column : columns_) text += Cell(*column, column->cell(task));
    return Cut({{text, StyleOf(task)}}, width_);
  }

 private:
  static std::string Cell(const TopColumn& column, const std::string& text) {
    const size_t columns = Columns(text);
    if (column.left || columns >= column.width) return " " + Fit(text, column.width);
    return " " + std::string(column.width - columns, ' ') + text;
  }

  const size_t width_;
  size_t name_width_;
  std::vector<const TopColumn*> columns_;
};

// The line of what is wrong is there on a screen even if nothing is, so that nothing jumps.
std::vector<TopLine> Head(const TopPicture& picture, bool screen) {
  std::vector<TopLine> lines;
  if (picture.sample.has_value()) {
    lines = {DeviceLine(picture, *picture.sample), PolicyLine(*picture.sample),
             RateLine(*picture.sample), ProbeLine(picture)};
  } else {
    lines = {{{"sgprs top", TopStyle::kBold}}};
  }
  TopLine trouble = TroubleLine(picture);
  if (screen || !trouble.empty()) lines.push_back(std::move(trouble));
  return lines;
}

TopLine KeyLine(const TopPicture& picture, size_t width) {
  const std::string sort =
      fmt::format("sort: {}{} ", TopSortName(picture.sort), picture.reversed ? " (reversed)" : "");
  std::string text(kKeys);
  if (Columns(text) + sort.size() + 2 <= width) {
    text += std::string(width - Columns(text) - sort.size(), ' ') + sort;
  }
  return {{Fit(text, width), TopStyle::kTitle}};
}

void AddTasks(const TopPicture& picture, size_t width, size_t room, std::vector<TopLine>* lines) {
  const std::vector<TopTask> tasks = SortedTasks(picture);
  const TaskTable table(tasks, width);
  lines->push_back(table.Title());
  if (tasks.empty()) lines->push_back({{"no tasks: sgprs run -- PROGRAM", TopStyle::kDim}});
  const size_t last = tasks.empty() ? 0 : tasks.size() - 1;
  const size_t first = room == SIZE_MAX ? 0 : std::min(picture.first_task, last);
  const bool all = first == 0 && tasks.size() <= room;
  const size_t shown = all ? tasks.size() : std::min(tasks.size() - first, room > 0 ? room - 1 : 0);
  for (size_t i = first; i < first + shown; ++i) lines->push_back(table.Row(tasks[i]));
  if (!all && room > 0) {
    lines->push_back({{fmt::format("tasks {} to {} of {} (arrows scroll)", first + 1, first + shown,
                                   tasks.size()),
                       TopStyle::kDim}});
  }
}

}  // namespace

std::string ShortDuration(std::optional<uint64_t> ns) {
  if (!ns.has_value()) return "-";
  const auto value = static_cast<double>(*ns);
  const struct {
    double ns;
    const char* unit;
  } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const auto& unit : units) {
    const double in = value / unit.ns;
    if (in < 0.9995) continue;
    return fmt::format("{:.{}f}{}", in, in < 9.995 ? 2 : (in < 99.95 ? 1 : 0), unit.unit);
  }
  return fmt::format("{}ns", *ns);
}

std::string Fit(std::string_view text, size_t width) {
  const size_t columns = Columns(text);
  if (columns <= width) return std::string(text) + std::string(width - columns, ' ');
  if (width == 0) return "";
  return std::string(text.substr(0, BytesOf(text, width - 1))) + "~";
}

std::string_view TopSortName(TopSort sort) {
  switch (sort) {
    case TopSort::kName:
      return "name";
    case TopSort::kMisses:
      return "misses";
    case TopSort::kFps:
      return "fps";
    case TopSort::kResponse:
      return "response";
    case TopSort::kJitter:
      return "jitter";
    case TopSort::kClass:
      return "class";
  }
  return "name";
}

std::optional<TopSort> FindTopSort(std::string_view name) {
  for (const TopSort sort : kTopSorts) {
    if (TopSortName(sort) == name) return sort;
  }
  return std::nullopt;
}

std::vector<TopTask> SortedTasks(const TopPicture& picture) {
  std::vector<TopTask> tasks;
  if (!picture.sample.has_value()) return tasks;
  for (const TopTask& task : picture.sample->tasks) {
    if (picture.show_gone || task.row.state != SGPRS_TASK_GONE) tasks.push_back(task);
  }
  // Large numbers first; equal ones by name, then by client.
  const auto key = [&picture](const TopTask& task) -> double {
    switch (picture.sort) {
      case TopSort::kMisses:
        return -task.rates.miss_percent;
      case TopSort::kFps:
        return -task.rates.completed_fps;
      case TopSort::kResponse:
        return -static_cast<double>(task.response_p99_ns.value_or(0));
      case TopSort::kJitter:
        return -static_cast<double>(task.jitter_p99_ns.value_or(0));
      case TopSort::kClass:
        return task.row.task_class;
      case TopSort::kName:
        break;
    }
    return 0;
  };
  std::stable_sort(tasks.begin(), tasks.end(), [&](const TopTask& a, const TopTask& b) {
    return std::tuple(key(a), std::string_view(a.row.name), a.row.client_id) <
           std::tuple(key(b), std::string_view(b.row.name), b.row.client_id);
  });
  if (picture.reversed) std::reverse(tasks.begin(), tasks.end());
  return tasks;
}

std::vector<TopLine> DrawTop(const TopPicture& picture, size_t width, size_t height) {
  std::vector<TopLine> lines = Head(picture, height != 0);
  if (picture.sample.has_value()) {
    std::vector<TopLine> meters = Meters(*picture.sample, width);
    if (height != 0) {
      const size_t taken = lines.size() + kLeastTasks + 2;  // the tasks' title and the keys
      const size_t room = height > taken ? height - taken : 0;
      if (meters.size() > room) {
        meters.resize(room);
        if (room > 0) meters.back() = {{"(more partitions: sgprs partitions)", TopStyle::kDim}};
      }
    }
    lines.insert(lines.end(), meters.begin(), meters.end());
    const size_t taken = lines.size() + 2;
    AddTasks(picture, width, height == 0 ? SIZE_MAX : (height > taken ? height - taken : 0),
             &lines);
  }
  for (TopLine& line : lines) line = Cut(std::move(line), width);
  if (height == 0) return lines;
  lines.resize(height);  // cut, or filled with empty lines
  lines.back() = KeyLine(picture, width);
  return lines;
}

std::vector<TopLine> DrawTopHelp(size_t width, size_t height) {
  std::vector<TopLine> lines = {
      {{"Keys", TopStyle::kBold}},
      Plain("  p        another policy        o   overload: late or hold"),
      Plain("  s        sort by the next one  r   reverse the order"),
      Plain("  g        gone tasks, too       space  pause"),
      Plain("  arrows, page up and down       scroll the tasks"),
      Plain("  ? or h   this                  q   quit"),
      {{"Columns", TopStyle::kBold}, {" (as many as fit)", TopStyle::kDim}},
  };
  for (const TopColumn& column : TopColumns()) {
    lines.push_back(
        {{"  " + Fit(column.title, 15), TopStyle::kPlain}, {column.help, TopStyle::kDim}});
  }
  lines.resize(std::max<size_t>(height, 1));
  lines.back() = {{Fit(" any key goes back", width), TopStyle::kTitle}};
  for (TopLine& line : lines) line = Cut(std::move(line), width);
  return lines;
}

std::vector<TopLine> DrawTopMenu(const std::string& title, const std::vector<TopChoice>& choices,
                                 const std::string& now, size_t width, size_t height) {
  std::vector<TopLine> lines = {{{title, TopStyle::kBold}}};
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool present = choices[i].name == now;
    lines.push_back({{fmt::format("  {}{} ", i + 1, present ? "*" : " "), TopStyle::kBold},
                     {Fit(Printable(choices[i].name), 10), TopStyle::kBold},
                     {Printable(choices[i].help), TopStyle::kPlain}});
  }
  lines.resize(std::max<size_t>(height, 1));
  lines.back() = {{Fit(" a number chooses, any other key goes back", width), TopStyle::kTitle}};
  for (TopLine& line : lines) line = Cut(std::move(line), width);
  return lines;
}

std::string TopText(const std::vector<TopLine>& lines) {
  std::string out;
  for (const TopLine& line : lines) {
    std::string text;
    for (const TopSpan& span : line) text += span.text;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

}  // namespace sgprs::cli
