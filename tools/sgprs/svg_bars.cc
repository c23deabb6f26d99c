// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/svg_bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/sgprs/svg_document.h"
#include "tools/sgprs/svg_style.h"

namespace sgprs::cli {
namespace {

constexpr double kMargin = 24;
constexpr double kPlot = 420;
constexpr double kValues = 300;  // right of the bars
constexpr double kRow = 40;
constexpr double kBar = 22;
constexpr double kAxis = 44;
constexpr double kNoteLine = 16;

std::vector<std::string> Wrapped(const std::vector<std::string>& lines, double width, double size) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    for (std::string& part : svg::WrapPixels(line, width, size)) out.push_back(std::move(part));
  }
  return out;
}

void DrawLegend(SvgDocument* svg, double y, bool offered) {
  svg->BeginGroup("legend");
  double x = kMargin;
  const auto text = [&](std::string_view word) {
    svg->Text({x + 28, y + 4}, word, {.size = 12});
    x += 28 + SvgTextWidth(word, 12) + 20;
  };
  svg->Rect({x, y - 6, 22, 12}, {.fill = svg::SeriesColour(6)});
  text("completed on time");
  svg->Rect({x, y - 6, 22, 12}, {.fill = svg::SeriesColour(6), .fill_opacity = 0.35});
  text("completed late");
  if (offered) {
    svg->Line({x + 11, y - 8}, {x + 11, y + 8},
              {.stroke = svg::kInk, .stroke_width = 1.2, .dash = "3 2"});
    text("released");
  }
  svg->EndGroup();
}

void DrawBar(SvgDocument* svg, const RateBar& bar, double left, double y, double px_per_fps) {
  const std::string_view colour = svg::SeriesColour(bar.colour);
  const double on_time = std::min(bar.on_time_fps, bar.completed_fps);
  const double top = y + (kRow - kBar) / 2;
  svg->Text({left - 10, y + kRow / 2 + 4}, bar.name,
            {.size = 12.5, .bold = true, .anchor = SvgAnchor::kEnd});
  svg->Rect({left, top, bar.completed_fps * px_per_fps, kBar},
            {.fill = colour, .fill_opacity = 0.35});
  svg->Rect({left, top, on_time * px_per_fps, kBar}, {.fill = colour});
  svg->Text({left + kPlot + 18, y + kRow / 2 + 4},
            fmt::format("{:.1f} completed, {:.1f} on time, {:.1f} % missed", bar.completed_fps,
                        bar.on_time_fps, bar.miss_percent),
            {.size = 12});
}

void DrawScale(SvgDocument* svg, double left, double top, double bottom, double limit,
               const std::string& axis) {
  const std::vector<double> ticks = svg::InnerTicks(0, limit, 6);
  const double step = ticks.size() > 1 ? ticks[1] : 1;
  for (double tick : ticks) {
    const double x = left + tick / limit * kPlot;
    svg->Line({x, top}, {x, bottom}, {.stroke = svg::kGrid});
    svg->Text({x, bottom + 16}, svg::TickText(tick, step),
              {.size = 11, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
  }
  svg->Text({left + kPlot / 2, bottom + 34}, axis,
            {.size = 11.5, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
}

}  // namespace

std::string DrawRates(const RateFigure& figure) {
  double labels = 60;
  double limit = figure.offered_fps;
  for (const RateBar& bar : figure.bars) {
    labels = std::max(labels, SvgTextWidth(bar.name, 12.5, true) + 14);
    limit = std::max(limit, bar.completed_fps);
  }
  limit = limit > 0 ? limit * 1.04 : 1;
  const double left = kMargin + labels;
  const double width = left + kPlot + kValues + kMargin;
  const std::vector<std::string> subtitle = Wrapped(figure.subtitle, width - 2 * kMargin, 12);
  const std::vector<std::string> notes = Wrapped(figure.notes, width - 2 * kMargin, 11);
  const double legend = kMargin + 36 + 17 * static_cast<double>(subtitle.size());
  const double top = legend + 22;
  const double bottom = top + kRow * static_cast<double>(figure.bars.size());
  const double height =
      bottom + kAxis + kNoteLine * static_cast<double>(notes.size()) + kMargin - 8;

  SvgDocument svg(width, height, figure.title, figure.axis);
  svg::Heading(&svg, kMargin, kMargin, figure.title, subtitle);
  DrawLegend(&svg, legend, figure.offered_fps > 0);
  DrawScale(&svg, left, top, bottom, limit, figure.axis);
  for (size_t i = 0; i < figure.bars.size(); ++i) {
    DrawBar(&svg, figure.bars[i], left, top + kRow * static_cast<double>(i), kPlot / limit);
  }
  svg.Line({left, top}, {left, bottom}, {.stroke = svg::kAxis});
  if (figure.offered_fps > 0) {
    const double x = left + figure.offered_fps / limit * kPlot;
    svg.Line({x, top}, {x, bottom}, {.stroke = svg::kInk, .stroke_width = 1.2, .dash = "3 2"});
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    svg.Text({kMargin, bottom + kAxis + 6 + kNoteLine * static_cast<double>(i)}, notes[i],
             {.size = 11, .fill = svg::kQuiet});
  }
  return std::move(svg).Finish();
}

}  // namespace sgprs::cli
