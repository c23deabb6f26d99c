// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/svg_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sgprs::cli::svg {
namespace {

constexpr std::array<std::string_view, kSeriesColours> kSeries = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"};
// Two rounds of eight hues, the second paler, neighbours far apart.
constexpr std::array<std::string_view, kTaskColours> kTasks = {
    "#56b4e9", "#e69f00", "#4dbd98", "#dd9bc0", "#f0d24a", "#8fa4ea", "#ee8a5c", "#b5b5b5",
    "#b3dcf5", "#f6d28e", "#aee0cd", "#f1cfe2", "#f7ebac", "#cbd4f6", "#f8c9b1", "#dcdcdc"};

// 1, 2 or 5 times a power of ten, so that about `about` steps make up `range`.
double Step(double range, int about) {
  const double rough = range / std::max(1, about);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string_view SeriesColour(size_t index) { return kSeries[index % kSeries.size()]; }
std::string_view TaskColour(size_t index) { return kTasks[index % kTasks.size()]; }

std::vector<double> Ticks(double low, double high, int about) {
  if (!(high > low)) high = low + 1;
  const double step = Step(high - low, about);
  std::vector<double> out;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) out.push_back(i * step);
  return out;
}

std::vector<double> InnerTicks(double low, double high, int about) {
  std::vector<double> out = Ticks(low, high, about);
  const double slack = (high - low) * 1e-9;
  std::erase_if(out, [=](double tick) { return tick < low - slack || tick > high + slack; });
  return out;
}

std::string TickText(double value, double step) {
  int digits = 0;
  while (digits < 6 && std::abs(step - std::round(step)) > 1e-9) {
    step *= 10;
    ++digits;
  }
  std::string text = fmt::format("{:.{}f}", value, digits);
  const size_t point = std::min(text.find('.'), text.size());
  const size_t sign = text[0] == '-' ? 1 : 0;
  for (size_t at = point; at > sign + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

double Heading(SvgDocument* svg, double x, double y, std::string_view title,
               const std::vector<std::string>& lines) {
  y += 16;
  svg->Text({x, y}, title, {.size = 16, .bold = true});
  for (const std::string& line : lines) {
    y += 17;
    svg->Text({x, y}, line, {.size = 12, .fill = kQuiet});
  }
  return y + 6;
}

std::vector<std::string> WrapPixels(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && SvgTextWidth(longer, size) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace sgprs::cli::svg
