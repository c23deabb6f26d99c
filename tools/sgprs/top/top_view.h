// SPDX-License-Identifier: Apache-2.0
// What `sgprs top` shows, as lines of styled text for a screen of any size. Pure.
#ifndef SGPRS_TOOLS_SGPRS_TOP_TOP_VIEW_H_
#define SGPRS_TOOLS_SGPRS_TOP_TOP_VIEW_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sgprs/json.h"
#include "tools/sgprs/recording_info.h"
#include "tools/sgprs/top/top_sampler.h"

namespace sgprs::cli {

// How a piece of text looks; without colours, bold and reverse alone must tell.
enum class TopStyle { kPlain, kBold, kDim, kGood, kWarn, kBad, kTitle, kAlarm };

struct TopSpan {
  std::string text;
  TopStyle style = TopStyle::kPlain;
};
using TopLine = std::vector<TopSpan>;

enum class TopSort { kName, kMisses, kFps, kResponse, kJitter, kClass };
inline constexpr TopSort kTopSorts[] = {TopSort::kName,     TopSort::kMisses, TopSort::kFps,
                                        TopSort::kResponse, TopSort::kJitter, TopSort::kClass};
std::string_view TopSortName(TopSort sort);
std::optional<TopSort> FindTopSort(std::string_view name);

struct TopPicture {
  std::optional<TopSample> sample;  // nullopt: none yet
  std::optional<RecordingInfo> recording;
  std::vector<std::string> degradations;
  std::string socket;
  std::string lost;     // why the daemon does not answer; empty = it does
  std::string message;  // what became of the last key; empty = nothing
  TopSort sort = TopSort::kName;
  bool reversed = false;
  bool paused = false;
  bool show_gone = false;
  size_t first_task = 0;  // scrolled by so many
};

// Tasks in the order in which they are shown.
std::vector<TopTask> SortedTasks(const TopPicture& picture);

// Lines of at most `width` columns (a character of UTF-8 is one), as many as there is something to
// say for; no more than `height` of them, cut from the tasks, with a line that says how many are
// left out. The last line tells the keys. 0 as height: all, without the keys.
std::vector<TopLine> DrawTop(const TopPicture& picture, size_t width, size_t height);
// What `?` shows.
std::vector<TopLine> DrawTopHelp(size_t width, size_t height);
// A list to choose from by its number, from 1 on; `now` is marked.
struct TopChoice {
  std::string name;
  std::string help;
};
std::vector<TopLine> DrawTopMenu(const std::string& title, const std::vector<TopChoice>& choices,
                                 const std::string& now, size_t width, size_t height);

std::string TopText(const std::vector<TopLine>& lines);

// "4.12ms": three digits; "-" for nothing.
std::string ShortDuration(std::optional<uint64_t> ns);
// At most `width` characters of UTF-8; cut ones end in '~'. Padded to `width` on the right.
std::string Fit(std::string_view text, size_t width);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_TOP_VIEW_H_
