// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace sgprs::observe {
namespace {

// Bytes of the UTF-8 sequence at `at`, 0 if it is not one (Unicode 15, table 3-7).
size_t SequenceBytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0};
  };
  const auto tail = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xbf; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return byte(1) >= low && byte(1) <= high && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    return byte(1) >= low && byte(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = SequenceBytes(text, at);
    const auto first = static_cast<uint8_t>(text[at]);
    if (bytes == 0 || first < 0x20 || first == 0x7f) {
      line += '?';
      ++at;
      continue;
    }
    line.append(text, at, bytes);
    at += bytes;
  }
  return line;
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace sgprs::observe
