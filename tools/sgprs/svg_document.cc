// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/svg_document.h"

#include <fmt/format.h>

#include <cmath>

namespace sgprs::cli {
namespace {

constexpr std::string_view kFonts =
    "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

std::string_view AnchorWord(SvgAnchor anchor) {
  switch (anchor) {
    case SvgAnchor::kStart:
      return "start";
    case SvgAnchor::kMiddle:
      return "middle";
    case SvgAnchor::kEnd:
      return "end";
  }
  return "start";
}

std::string PaintAttributes(const SvgPaint& paint) {
  std::string out = fmt::format(R"( fill="{}")", paint.fill);
  if (paint.fill_opacity < 1) {
    out += fmt::format(R"( fill-opacity="{}")", SvgNumber(paint.fill_opacity));
  }
  if (paint.stroke == "none") return out;
  out +=
      fmt::format(R"( stroke="{}" stroke-width="{}")", paint.stroke, SvgNumber(paint.stroke_width));
  if (!paint.dash.empty()) out += fmt::format(R"( stroke-dasharray="{}")", paint.dash);
  return out;
}

std::string PointList(std::span<const SvgPoint> points) {
  std::string out;
  for (const SvgPoint& point : points) {
    out += fmt::format("{}{},{}", out.empty() ? "" : " ", SvgNumber(point.x), SvgNumber(point.y));
  }
  return out;
}

// Length of the UTF-8 sequence that begins at text[at], 0 if there is none.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  size_t length = 0;
  if (lead < 0x80) {
    length = 1;
  } else if (lead >= 0xc2 && lead < 0xe0) {
    length = 2;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    length = 3;
  } else if (lead >= 0xf0 && lead < 0xf5) {
    length = 4;
  }
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 0;
  }
  if (length == 3) {  // surrogates, U+FFFE and U+FFFF
    const auto second = static_cast<unsigned char>(text[at + 1]);
    const auto third = static_cast<unsigned char>(text[at + 2]);
    if (lead == 0xe0 && second < 0xa0) return 0;
    if (lead == 0xed && second >= 0xa0) return 0;
    if (lead == 0xef && second == 0xbf && third >= 0xbe) return 0;
  }
  return length;
}

// In parts of the font size; a sans-serif font of usual width.
double CharacterWidth(char c) {
  const std::string_view narrow = "ijl.,:;|!'()[]ftI";
  const std::string_view wide = "mwMW%@";
  if (narrow.find(c) != std::string_view::npos) return 0.34;
  if (wide.find(c) != std::string_view::npos) return 0.92;
  if (c == ' ') return 0.3;
  if (c >= 'A' && c <= 'Z') return 0.72;
  return 0.59;
}

}  // namespace

std::string SvgNumber(double value) {
  if (!std::isfinite(value)) value = 0;
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string XmlEscape(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text, at);
    const char c = text[at];
    if (length == 0 || (length == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n')) {
      out += '?';
      ++at;
      continue;
    }
    const std::string_view piece = text.substr(at, length);
    at += length;
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += piece;
    }
  }
  return out;
}

double SvgTextWidth(std::string_view text, double size, bool bold) {
  double width = 0;
  for (char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;  // inside a UTF-8 sequence
    width += CharacterWidth(c);
  }
  return width * size * (bold ? 1.07 : 1.0);
}

SvgDocument::SvgDocument(double width, double height, std::string_view title,
                         std::string_view description) {
  out_ = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" font-family="{2}">)"
      "\n<title>{3}</title>\n<desc>{4}</desc>\n",
      SvgNumber(width), SvgNumber(height), kFonts, XmlEscape(title), XmlEscape(description));
  Rect({0, 0, width, height}, {.fill = "#ffffff"});
}

void SvgDocument::Shape(std::string_view element, std::string_view geometry, const SvgPaint& paint,
                        std::string_view tooltip) {
  out_ += fmt::format("<{} {}{}", element, geometry, PaintAttributes(paint));
  out_ += tooltip.empty() ? std::string("/>\n")
                          : fmt::format("><title>{}</title></{}>\n", XmlEscape(tooltip), element);
}

void SvgDocument::Rect(const SvgBox& box, const SvgPaint& paint, std::string_view tooltip) {
  std::string geometry =
      fmt::format(R"(x="{}" y="{}" width="{}" height="{}")", SvgNumber(box.x), SvgNumber(box.y),
                  SvgNumber(std::max(0.0, box.width)), SvgNumber(std::max(0.0, box.height)));
  if (paint.corner > 0) geometry += fmt::format(R"( rx="{}")", SvgNumber(paint.corner));
  Shape("rect", geometry, paint, tooltip);
}

void SvgDocument::Circle(SvgPoint centre, double radius, const SvgPaint& paint,
                         std::string_view tooltip) {
  Shape("circle",
        fmt::format(R"(cx="{}" cy="{}" r="{}")", SvgNumber(centre.x), SvgNumber(centre.y),
                    SvgNumber(radius)),
        paint, tooltip);
}

void SvgDocument::Line(SvgPoint from, SvgPoint to, const SvgPaint& paint) {
  Shape("line",
        fmt::format(R"(x1="{}" y1="{}" x2="{}" y2="{}")", SvgNumber(from.x), SvgNumber(from.y),
                    SvgNumber(to.x), SvgNumber(to.y)),
        paint, {});
}

void SvgDocument::Polyline(std::span<const SvgPoint> points, const SvgPaint& paint) {
  Shape("polyline",
        fmt::format(R"(points="{}" stroke-linejoin="round" stroke-linecap="round")",
                    PointList(points)),
        paint, {});
}

void SvgDocument::Polygon(std::span<const SvgPoint> points, const SvgPaint& paint,
                          std::string_view tooltip) {
  Shape("polygon", fmt::format(R"(points="{}")", PointList(points)), paint, tooltip);
}

void SvgDocument::Text(SvgPoint at, std::string_view text, const SvgTextStyle& style) {
  out_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}")", SvgNumber(at.x),
                      SvgNumber(at.y), SvgNumber(style.size), style.fill);
  if (style.bold) out_ += R"( font-weight="600")";
  if (style.anchor != SvgAnchor::kStart) {
    out_ += fmt::format(R"( text-anchor="{}")", AnchorWord(style.anchor));
  }
  if (style.rotate != 0) {
    out_ += fmt::format(" transform=\"rotate({} {} {})\"", SvgNumber(style.rotate), SvgNumber(at.x),
                        SvgNumber(at.y));
  }
  out_ += fmt::format(">{}</text>\n", XmlEscape(text));
}

void SvgDocument::BeginGroup(std::string_view name) {
  out_ += fmt::format("<g class=\"{}\">\n", XmlEscape(name));
}

void SvgDocument::EndGroup() { out_ += "</g>\n"; }

std::string SvgDocument::Finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace sgprs::cli
