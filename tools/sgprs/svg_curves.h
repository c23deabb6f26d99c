// SPDX-License-Identifier: Apache-2.0
// Curves in a grid of panels with one legend above them: what `sgprs sim --svg` draws. Pure.
#ifndef SGPRS_TOOLS_SGPRS_SVG_CURVES_H_
#define SGPRS_TOOLS_SGPRS_SVG_CURVES_H_

#include <cstddef>
#include <string>
#include <vector>

namespace sgprs::cli {

struct CurvePoint {
  double x = 0;
  double y = 0;
  // Spread over the seeds, drawn as a band; low == high: none.
  double low = 0;
  double high = 0;
};

enum class CurveKind {
  kOurs,       // solid, filled marks
  kPublished,  // dashed, hollow marks
  kGuide,      // thin grey, no marks: what could be reached
};

struct Curve {
  std::string name;  // curves of one name are one entry in the legend
  size_t colour = 0;
  CurveKind kind = CurveKind::kOurs;
  std::vector<CurvePoint> points;  // by ascending x
};

struct CurvePanel {
  std::string title;
  std::string y_label;
  // Panels with the same key have the same y axis, so that they can be compared.
  std::string y_key;
  bool percent = false;  // y axis from 0 to 100
  std::vector<Curve> curves;
};

struct CurveFigure {
  std::string title;
  std::vector<std::string> subtitle;
  std::string x_label;
  size_t columns = 3;
  std::vector<CurvePanel> panels;  // row by row
  std::vector<std::string> notes;  // below the panels, wrapped
};

// The picture as an SVG file.
std::string DrawCurves(const CurveFigure& figure);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SVG_CURVES_H_
