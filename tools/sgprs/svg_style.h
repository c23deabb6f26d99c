// SPDX-License-Identifier: Apache-2.0
// What all our pictures share: colours that colour-blind readers tell apart (Okabe and Ito's set,
// without its yellow), sizes, and axes.
#ifndef SGPRS_TOOLS_SGPRS_SVG_STYLE_H_
#define SGPRS_TOOLS_SGPRS_SVG_STYLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sgprs/svg_document.h"

namespace sgprs::cli::svg {

inline constexpr std::string_view kInk = "#222222";
inline constexpr std::string_view kQuiet = "#666666";  // second-rank text
inline constexpr std::string_view kGrid = "#e4e4e4";
inline constexpr std::string_view kAxis = "#8a8a8a";
inline constexpr std::string_view kMissed = "#c40000";

// Of a curve or bar: `index` counts from 0, and repeats after kSeriesColours.
inline constexpr size_t kSeriesColours = 7;
std::string_view SeriesColour(size_t index);
// Of a task in a Gantt: light enough for dark text on it; repeats after kTaskColours.
inline constexpr size_t kTaskColours = 16;
std::string_view TaskColour(size_t index);

// Even, round values that cover [low, high]: the first is <= low, the last >= high. At least two;
// about `about` of them.
std::vector<double> Ticks(double low, double high, int about);
// Round values inside [low, high] only.
std::vector<double> InnerTicks(double low, double high, int about);
// "1,250": with the digits that a distance of `step` needs.
std::string TickText(double value, double step);

// Title at (x, y) and lines of smaller text below it; returns the y below the last.
double Heading(SvgDocument* svg, double x, double y, std::string_view title,
               const std::vector<std::string>& lines);
// `text` broken at blanks into lines of at most `width` px.
std::vector<std::string> WrapPixels(std::string_view text, double width, double size);

}  // namespace sgprs::cli::svg

#endif  // SGPRS_TOOLS_SGPRS_SVG_STYLE_H_
