// SPDX-License-Identifier: Apache-2.0
// Durations as people write them: a decimal number and a unit ("33.3ms", "500us", "2s"). A number
// without a unit is refused: guessing it wrong by a factor of a thousand is worse than asking.
#ifndef SGPRS_RUNTIME_BASE_DURATION_H_
#define SGPRS_RUNTIME_BASE_DURATION_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace sgprs {

// The longest period or deadline that sgprsd takes.
inline constexpr uint64_t kLongestPeriodNs = 24ull * 3600 * kNsPerSecond;

namespace duration_internal {

// ns in one `unit`; 0 = no such unit.
inline uint64_t UnitNs(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs") return kNsPerUs;  // both micro signs
  if (unit == "ms") return kNsPerMs;
  if (unit == "s") return kNsPerSecond;
  if (unit == "min") return 60 * kNsPerSecond;
  return 0;
}

// a * b + c, or false if it does not fit.
inline bool MultiplyAdd(uint64_t a, uint64_t b, uint64_t c, uint64_t* out) {
  return !__builtin_mul_overflow(a, b, out) && !__builtin_add_overflow(*out, c, out);
}

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether `text` could be the name of a unit: letters only (bytes of UTF-8 count as such). What is
// left of 1e30s or 33,3ms behind its digits is none.
inline bool IsWord(std::string_view text) {
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && static_cast<unsigned char>(c) < 0x80) return false;
  }
  return true;
}

inline Status Invalid(std::string_view text, const char* why) {
  return Status(ErrorCode::kInvalid, "'" + std::string(text) + "' " + why);
}

}  // namespace duration_internal

// ns of `text`: digits, optionally a point and digits, a unit (ns, us, ms, s, min); blanks only
// between number and unit. Exact: no floating point; digits below 1 ns are dropped. Errors
// (kInvalid): no number, no unit, unknown unit, sign, exponent, over 584 years. Allocates only for
// errors.
inline Result<uint64_t> ParseDurationNs(std::string_view text) {
  namespace in = duration_internal;
  size_t at = 0;
  while (at < text.size() && (in::IsDigit(text[at]) || text[at] == '.')) ++at;
  const std::string_view number = text.substr(0, at);
  while (at < text.size() && text[at] == ' ') ++at;
  const std::string_view unit = text.substr(at);
  const size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
  if (whole.size() + fraction.size() == 0 || fraction.find('.') != std::string_view::npos ||
      !in::IsWord(unit)) {
    return in::Invalid(text, "is not a duration: write a number and a unit, such as 33.3ms");
  }
  if (unit.empty()) return in::Invalid(text, "has no unit: add ns, us, ms, s or min");
  const uint64_t unit_ns = in::UnitNs(unit);
  if (unit_ns == 0) return in::Invalid(text, "has an unknown unit: use ns, us, ms, s or min");

  uint64_t count = 0;
  for (char c : whole) {
    if (!in::MultiplyAdd(count, 10, static_cast<uint64_t>(c - '0'), &count)) {
      return in::Invalid(text, "is too long");
    }
  }
  uint64_t digits = 0;  // fraction = digits / scale
  uint64_t scale = 1;
  for (char c : fraction) {
    if (scale > unit_ns) break;
    scale *= 10;
    digits = digits * 10 + static_cast<uint64_t>(c - '0');
  }
  const auto below_ns =
      static_cast<uint64_t>(static_cast<unsigned __int128>(digits) * unit_ns / scale);
  uint64_t ns = 0;
  if (!in::MultiplyAdd(count, unit_ns, below_ns, &ns)) return in::Invalid(text, "is too long");
  return ns;
}

// "33.3ms": the largest unit below which nothing is lost but digits past the third; for people.
inline std::string FormatDurationNs(uint64_t ns) {
  struct Unit {
    uint64_t ns;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{kNsPerSecond, "s"}, {kNsPerMs, "ms"}, {kNsPerUs, "us"}};
  for (const Unit& unit : kUnits) {
    if (ns < unit.ns) continue;
    char text[48];
    std::snprintf(text, sizeof(text), "%.3f",
                  static_cast<double>(ns) / static_cast<double>(unit.ns));
    std::string out = text;
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
    return out + unit.name;
  }
  return std::to_string(ns) + "ns";
}

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_DURATION_H_
