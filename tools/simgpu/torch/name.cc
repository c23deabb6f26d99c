// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/torch/name.h"

#include <array>
#include <cctype>

namespace sgprs::simgpu::torch {
namespace {

struct Row {
  std::string_view name;
  Type type;
  unsigned bytes;
};
constexpr std::array<Row, 10> kRows = {{{"float", Type::kFloat, 4},
                                        {"double", Type::kDouble, 8},
                                        {"c10::Half", Type::kHalf, 2},
                                        {"c10::BFloat16", Type::kBfloat16, 2},
                                        {"bool", Type::kBool, 1},
                                        {"signed char", Type::kInt8, 1},
                                        {"unsigned char", Type::kUint8, 1},
                                        {"short", Type::kInt16, 2},
                                        {"int", Type::kInt32, 4},
                                        {"long", Type::kInt64, 8}}};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Position behind the '>' that closes what opens before `at`; npos: never.
size_t Close(std::string_view text, size_t at) {
  int depth = 1;
  int round = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '{' || c == '[') ++round;
    if (c == ')' || c == '}' || c == ']') --round;
    if (round > 0) continue;
    if (c == '<') ++depth;
    if (c == '>' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

std::string Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      out.push_back(Trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  out.push_back(Trim(text.substr(begin)));
  return out;
}

}  // namespace

std::optional<Type> TypeOf(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

unsigned BytesOf(Type type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row.bytes;
  }
  return 0;
}

std::optional<KernelName> ParseName(std::string_view demangled) {
  // The name's own '<': the first outside of "(anonymous namespace)".
  int round = 0;
  size_t open = 0;
  for (; open < demangled.size(); ++open) {
    if (demangled[open] == '(') ++round;
    if (demangled[open] == ')') --round;
    if (demangled[open] == '<' && round == 0) break;
  }
  if (open >= demangled.size()) return std::nullopt;
  const size_t close = Close(demangled, open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  size_t begin = open;
  while (begin > 0 && IsWord(demangled[begin - 1])) --begin;
  return KernelName{std::string(demangled.substr(begin, open - begin)),
                    Split(demangled.substr(open + 1, close - open - 2))};
}

std::optional<std::string> Inside(std::string_view text, std::string_view head) {
  const size_t at = text.find(head);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t begin = at + head.size();
  const size_t close = Close(text, begin);
  if (close == std::string_view::npos) return std::nullopt;
  return Trim(text.substr(begin, close - 1 - begin));
}

std::optional<Type> FirstType(std::string_view text) {
  std::optional<Type> found;
  size_t first = std::string_view::npos;
  for (const Row& row : kRows) {
    for (size_t at = text.find(row.name); at != std::string_view::npos && at < first;
         at = text.find(row.name, at + 1)) {
      const size_t end = at + row.name.size();
      const bool whole =
          (at == 0 || !IsWord(text[at - 1])) && (end == text.size() || !IsWord(text[end]));
      if (!whole) continue;
      first = at;
      found = row.type;
    }
  }
  return found;
}

}  // namespace sgprs::simgpu::torch
