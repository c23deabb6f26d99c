// SPDX-License-Identifier: Apache-2.0
// Writes one SVG picture: self-contained, no script, no external font or image, so that it opens
// the same in a browser, a README and a slide. The same calls give the same bytes.
//
// Units: px, the origin at the top left. Texts may hold any bytes: they are escaped, and what XML
// can not carry becomes '?'. One thread.
#ifndef SGPRS_TOOLS_SGPRS_SVG_DOCUMENT_H_
#define SGPRS_TOOLS_SGPRS_SVG_DOCUMENT_H_

#include <span>
#include <string>
#include <string_view>

namespace sgprs::cli {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// Colours are CSS colours; "none" paints nothing.
struct SvgPaint {
  std::string_view fill = "none";
  std::string_view stroke = "none";
  double stroke_width = 1;
  std::string_view dash = {};  // as stroke-dasharray, empty = solid
  double fill_opacity = 1;
  double corner = 0;  // of a rectangle: radius
};

enum class SvgAnchor { kStart, kMiddle, kEnd };

struct SvgTextStyle {
  double size = 12;
  bool bold = false;
  std::string_view fill = "#222222";
  SvgAnchor anchor = SvgAnchor::kStart;
  double rotate = 0;  // degrees, around the text's own point
};

class SvgDocument {
 public:
  // `title` and `description` are read out by screen readers and shown as a tooltip.
  SvgDocument(double width, double height, std::string_view title, std::string_view description);

  // A tooltip is shown by browsers while the pointer is over the shape; empty = none.
  void Rect(const SvgBox& box, const SvgPaint& paint, std::string_view tooltip = {});
  void Circle(SvgPoint centre, double radius, const SvgPaint& paint, std::string_view tooltip = {});
  void Line(SvgPoint from, SvgPoint to, const SvgPaint& paint);
  void Polyline(std::span<const SvgPoint> points, const SvgPaint& paint);
  void Polygon(std::span<const SvgPoint> points, const SvgPaint& paint,
               std::string_view tooltip = {});
  // `at` is on the baseline.
  void Text(SvgPoint at, std::string_view text, const SvgTextStyle& style = {});
  // What follows up to EndGroup() belongs together; `name` becomes its class.
  void BeginGroup(std::string_view name);
  void EndGroup();

  // The whole file. The document is used up.
  std::string Finish() &&;

 private:
  void Shape(std::string_view element, std::string_view geometry, const SvgPaint& paint,
             std::string_view tooltip);
  std::string out_;
};

// "12.3": two digits at most, no trailing zeros, never "-0".
std::string SvgNumber(double value);
// For XML text and attributes.
std::string XmlEscape(std::string_view text);
// About how wide `text` is drawn; errs to the wide side. No font is loaded.
double SvgTextWidth(std::string_view text, double size, bool bold = false);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SVG_DOCUMENT_H_
