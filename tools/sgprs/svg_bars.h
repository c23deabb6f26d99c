// SPDX-License-Identifier: Apache-2.0
// Horizontal bars, one row a policy: frames completed, and of them on time. Pure.
#ifndef SGPRS_TOOLS_SGPRS_SVG_BARS_H_
#define SGPRS_TOOLS_SGPRS_SVG_BARS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace sgprs::cli {

struct RateBar {
  std::string name;
  size_t colour = 0;
  double completed_fps = 0;
  double on_time_fps = 0;  // <= completed_fps
  double miss_percent = 0;
};

struct RateFigure {
  std::string title;
  std::vector<std::string> subtitle;
  double offered_fps = 0;  // drawn as a line; 0 = not known
  std::string axis = "frames per second, all tasks together";
  std::vector<RateBar> bars;
  std::vector<std::string> notes;
};

// The picture as an SVG file.
std::string DrawRates(const RateFigure& figure);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SVG_BARS_H_
