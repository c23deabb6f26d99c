// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/svg_curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/sgprs/svg_document.h"
#include "tools/sgprs/svg_style.h"

namespace sgprs::cli {
namespace {

constexpr double kMargin = 24;
constexpr double kPlotWidth = 300;
constexpr double kPlotHeight = 190;
constexpr double kLeft = 58;   // of a panel, for its y axis
constexpr double kTop = 30;    // of a panel, for its title
constexpr double kBelow = 50;  // of a panel, for its x axis
constexpr double kGap = 22;    // between panels
constexpr double kLegendLine = 22;
constexpr double kSample = 30;  // length of a line in the legend
constexpr double kNoteLine = 16;

struct Range {
  double low = 0;
  double high = 1;
};

// Where data lie on the picture.
struct Axes {
  SvgBox plot;
  Range x;
  Range y;
  SvgPoint At(double data_x, double data_y) const {
    return {plot.x + (data_x - x.low) / (x.high - x.low) * plot.width,
            plot.bottom() - (data_y - y.low) / (y.high - y.low) * plot.height};
  }
};

Range XRange(const CurveFigure& figure) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const CurvePanel& panel : figure.panels) {
    for (const Curve& curve : panel.curves) {
      for (const CurvePoint& point : curve.points) {
        low = std::min(low, point.x);
        high = std::max(high, point.x);
      }
    }
  }
  if (!(high >= low)) return {0, 1};
  const double room = high > low ? (high - low) * 0.03 : 1;
  return {low - room, high + room};
}

// The y axis begins at 0 unless all values lie in the upper part.
Range YRange(const CurveFigure& figure, const std::string& key) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const CurvePanel& panel : figure.panels) {
    if (panel.y_key != key) continue;
    if (panel.percent) return {0, 100};
    for (const Curve& curve : panel.curves) {
      if (curve.kind == CurveKind::kGuide) continue;  // cut off where it leaves the panel
      for (const CurvePoint& point : curve.points) {
        low = std::min({low, point.y, point.low});
        high = std::max({high, point.y, point.high});
      }
    }
  }
  if (!(high >= low)) return {0, 1};
  if (low < 0.45 * high) low = 0;
  const std::vector<double> ticks = svg::Ticks(low, high, 5);
  return {ticks.front(), ticks.back()};
}

// The shape goes with the colour, so that neither is needed alone.
void DrawMark(SvgDocument* svg, SvgPoint at, const Curve& curve) {
  if (curve.kind == CurveKind::kGuide) return;
  const std::string_view colour = svg::SeriesColour(curve.colour);
  SvgPaint paint{.fill = colour, .stroke = "#ffffff", .stroke_width = 0.8};
  if (curve.kind == CurveKind::kPublished) {
    paint = {.fill = "#ffffff", .stroke = colour, .stroke_width = 1.2};
  }
  const auto polygon = [&](std::initializer_list<SvgPoint> corners) {
    std::vector<SvgPoint> points;
    for (const SvgPoint& corner : corners) points.push_back({at.x + corner.x, at.y + corner.y});
    svg->Polygon(points, paint);
  };
  switch (curve.colour % 5) {
    case 0:
      return svg->Circle(at, 3, paint);
    case 1:
      return svg->Rect({at.x - 2.7, at.y - 2.7, 5.4, 5.4}, paint);
    case 2:
      return polygon({{-3.6, 2.7}, {3.6, 2.7}, {0, -3.6}});
    case 3:
      return polygon({{-3.7, 0}, {0, -3.7}, {3.7, 0}, {0, 3.7}});
    default:
      return polygon({{-3.6, -2.7}, {3.6, -2.7}, {0, 3.6}});
  }
}

SvgPaint LinePaint(const Curve& curve) {
  switch (curve.kind) {
    case CurveKind::kOurs:
      return {.stroke = svg::SeriesColour(curve.colour), .stroke_width = 2};
    case CurveKind::kPublished:
      return {.stroke = svg::SeriesColour(curve.colour), .stroke_width = 1.3, .dash = "5 3"};
    case CurveKind::kGuide:
      return {.stroke = "#9a9a9a", .stroke_width = 1, .dash = "1.5 3"};
  }
  return {};
}

// The points of `curve` up to where it leaves the panel at its upper edge.
std::vector<CurvePoint> Inside(const Axes& axes, const Curve& curve) {
  std::vector<CurvePoint> points;
  for (const CurvePoint& point : curve.points) {
    if (point.y <= axes.y.high) {
      points.push_back(point);
      continue;
    }
    if (!points.empty() && points.back().y < axes.y.high) {
      const CurvePoint& last = points.back();
      const double part = (axes.y.high - last.y) / (point.y - last.y);
      const double y = axes.y.high;
      points.push_back({last.x + part * (point.x - last.x), y, y, y});
    }
    break;
  }
  return points;
}

// Marks closer than this would be one.
constexpr double kMarkDistance = 9;

void DrawMarks(SvgDocument* svg, const std::vector<SvgPoint>& line, const Curve& curve) {
  double last_x = -INFINITY;
  for (const SvgPoint& point : line) {
    if (point.x - last_x < kMarkDistance) continue;
    DrawMark(svg, point, curve);
    last_x = point.x;
  }
}

void DrawCurve(SvgDocument* svg, const Axes& axes, const Curve& curve) {
  std::vector<SvgPoint> line;
  std::vector<SvgPoint> band;
  bool spread = false;
  const std::vector<CurvePoint> points = Inside(axes, curve);
  for (const CurvePoint& point : points) {
    line.push_back(axes.At(point.x, point.y));
    band.push_back(axes.At(point.x, point.low));
    spread |= point.high > point.low;
  }
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    band.push_back(axes.At(point->x, point->high));
  }
  svg->BeginGroup("curve");
  if (spread && curve.kind == CurveKind::kOurs) {
    svg->Polygon(band, {.fill = svg::SeriesColour(curve.colour), .fill_opacity = 0.16});
  }
  svg->Polyline(line, LinePaint(curve));
  DrawMarks(svg, line, curve);
  svg->EndGroup();
}

void DrawYAxis(SvgDocument* svg, const Axes& axes) {
  const std::vector<double> ticks = svg::InnerTicks(axes.y.low, axes.y.high, 5);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  for (double tick : ticks) {
    const double y = axes.At(0, tick).y;
    svg->Line({axes.plot.x, y}, {axes.plot.right(), y}, {.stroke = svg::kGrid});
    svg->Text({axes.plot.x - 7, y + 4}, svg::TickText(tick, step),
              {.size = 11, .fill = svg::kQuiet, .anchor = SvgAnchor::kEnd});
  }
}

void DrawXAxis(SvgDocument* svg, const Axes& axes, const std::string& label) {
  const double base = axes.plot.bottom();
  std::vector<double> ticks = svg::InnerTicks(axes.x.low, axes.x.high, 7);
  if (ticks.size() > 1 && ticks[1] - ticks[0] < 1) {  // counts are whole
    std::erase_if(ticks, [](double tick) { return std::abs(tick - std::round(tick)) > 1e-9; });
  }
  svg->Line({axes.plot.x, base}, {axes.plot.right(), base}, {.stroke = svg::kAxis});
  for (double tick : ticks) {
    const double x = axes.At(tick, 0).x;
    svg->Line({x, base}, {x, base + 4}, {.stroke = svg::kAxis});
    svg->Text({x, base + 17}, svg::TickText(tick, 1),
              {.size = 11, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
  }
  svg->Text({axes.plot.x + axes.plot.width / 2, base + 35}, label,
            {.size = 11.5, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle});
}

void DrawPanel(SvgDocument* svg, const Axes& axes, const CurvePanel& panel,
               const std::string& x_label) {
  svg->BeginGroup("panel");
  svg->Text({axes.plot.x, axes.plot.y - 12}, panel.title, {.size = 12.5, .bold = true});
  svg->Text({axes.plot.x - kLeft + 13, axes.plot.y + axes.plot.height / 2}, panel.y_label,
            {.size = 11.5, .fill = svg::kQuiet, .anchor = SvgAnchor::kMiddle, .rotate = -90});
  DrawYAxis(svg, axes);
  DrawXAxis(svg, axes, x_label);
  // Guides lie below, ours above what was published.
  for (CurveKind kind : {CurveKind::kGuide, CurveKind::kPublished, CurveKind::kOurs}) {
    for (const Curve& curve : panel.curves) {
      if (curve.kind == kind) DrawCurve(svg, axes, curve);
    }
  }
  svg->EndGroup();
}

// One entry a name, in the order of first use.
std::vector<const Curve*> LegendEntries(const CurveFigure& figure) {
  std::vector<const Curve*> entries;
  std::set<std::string> seen;
  for (const CurvePanel& panel : figure.panels) {
    for (const Curve& curve : panel.curves) {
      if (seen.insert(curve.name).second) entries.push_back(&curve);
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Curve* a, const Curve* b) { return a->kind < b->kind; });
  return entries;
}

// Draws if `svg` is not null; the y below the legend either way.
double Legend(SvgDocument* svg, const std::vector<const Curve*>& entries, double y, double width) {
  double x = kMargin;
  y += kLegendLine / 2 + 2;
  for (const Curve* curve : entries) {
    const double entry = kSample + 7 + SvgTextWidth(curve->name, 12) + 20;
    if (x > kMargin && x + entry > width - kMargin) {
      x = kMargin;
      y += kLegendLine;
    }
    if (svg != nullptr) {
      const SvgPoint line[] = {{x, y}, {x + kSample, y}};
      svg->Polyline(line, LinePaint(*curve));
      DrawMark(svg, {x + kSample / 2, y}, *curve);
      svg->Text({x + kSample + 7, y + 4}, curve->name, {.size = 12});
    }
    x += entry;
  }
  return y + kLegendLine / 2 + 6;
}

}  // namespace

std::string DrawCurves(const CurveFigure& figure) {
  const size_t columns = std::max<size_t>(1, std::min(figure.columns, figure.panels.size()));
  const size_t rows = (figure.panels.size() + columns - 1) / columns;
  const double panel_width = kLeft + kPlotWidth;
  const double panel_height = kTop + kPlotHeight + kBelow;
  const double width = std::max(
      2 * kMargin + static_cast<double>(columns) * (panel_width + kGap) - kGap, 2 * kMargin + 640);
  std::vector<std::string> subtitle;
  for (const std::string& line : figure.subtitle) {
    for (std::string& part : svg::WrapPixels(line, width - 2 * kMargin, 12)) {
      subtitle.push_back(std::move(part));
    }
  }
  std::vector<std::string> notes;
  for (const std::string& note : figure.notes) {
    for (std::string& line : svg::WrapPixels(note, width - 2 * kMargin, 11)) {
      notes.push_back(std::move(line));
    }
  }
  const std::vector<const Curve*> legend = LegendEntries(figure);
  const double heading = kMargin + 22 + 17 * static_cast<double>(subtitle.size());
  const double top = Legend(nullptr, legend, heading, width) + 4;
  const double below = top + static_cast<double>(rows) * panel_height;
  const double height = below + kNoteLine * static_cast<double>(notes.size()) + kMargin - 4;

  SvgDocument svg(width, height, figure.title, figure.x_label);
  svg::Heading(&svg, kMargin, kMargin, figure.title, subtitle);
  svg.BeginGroup("legend");
  Legend(&svg, legend, heading, width);
  svg.EndGroup();
  const Range x = XRange(figure);
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    const double left = kMargin + static_cast<double>(i % columns) * (panel_width + kGap) + kLeft;
    const size_t row = i / columns;
    const double upper = top + static_cast<double>(row) * panel_height + kTop;
    const CurvePanel& panel = figure.panels[i];
    DrawPanel(&svg, {{left, upper, kPlotWidth, kPlotHeight}, x, YRange(figure, panel.y_key)}, panel,
              figure.x_label);
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    svg.Text({kMargin, below + 12 + kNoteLine * static_cast<double>(i)}, notes[i],
             {.size = 11, .fill = svg::kQuiet});
  }
  return std::move(svg).Finish();
}

}  // namespace sgprs::cli
