// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/image/ptx_lexer.h"

#include <algorithm>

namespace sgprs::simgpu {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }
bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

}  // namespace

void PtxLexer::SkipLine() {
  const size_t end = text_.find('\n', at_);
  at_ = end == std::string_view::npos ? text_.size() : end;
}

void PtxLexer::SkipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (IsBlank(c)) {
      if (c == '\n') ++line_;
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      SkipLine();
    } else if (text_.substr(at_, 2) == "/*") {
      const size_t end = text_.find("*/", at_ + 2);
      const size_t next = end == std::string_view::npos ? text_.size() : end + 2;
      line_ += static_cast<size_t>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                              text_.begin() + static_cast<ptrdiff_t>(next), '\n'));
      at_ = next;
    } else {
      return;
    }
  }
}

size_t PtxLexer::NameLength(size_t from) const {
  size_t end = from;
  while (end < text_.size() && IsNamePart(text_[end])) ++end;
  return end - from;
}

PtxToken PtxLexer::Take(PtxToken::Kind kind, size_t length) {
  PtxToken token{kind, text_.substr(at_, length)};
  at_ += length;
  return token;
}

PtxToken PtxLexer::Next() {
  SkipBlanks();
  if (at_ >= text_.size()) return {};
  const char c = text_[at_];
  if (c == '"') {
    const size_t end = text_.find('"', at_ + 1);
    const size_t close = end == std::string_view::npos ? text_.size() : end;
    PtxToken token{PtxToken::Kind::kString, text_.substr(at_ + 1, close - at_ - 1)};
    at_ = std::min(close + 1, text_.size());
    return token;
  }
  if (IsNameStart(c)) return Take(PtxToken::Kind::kName, NameLength(at_));
  if (IsDigit(c)) {
    size_t length = NameLength(at_);
    // "8.0" is one number, but ".b8" after a number is not its fraction.
    if (at_ + length + 1 < text_.size() && text_[at_ + length] == '.' &&
        IsDigit(text_[at_ + length + 1])) {
      length += 1 + NameLength(at_ + length + 1);
    }
    return Take(PtxToken::Kind::kNumber, length);
  }
  if (c == '.') {
    const size_t length = NameLength(at_ + 1);
    if (length > 0) return Take(PtxToken::Kind::kDirective, length + 1);
  }
  return Take(PtxToken::Kind::kPunctuation, 1);
}

}  // namespace sgprs::simgpu
