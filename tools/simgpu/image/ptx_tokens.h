// SPDX-License-Identifier: Apache-2.0
// A lexer with one token of look-ahead, and the first error, which then stands.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_PTX_TOKENS_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_PTX_TOKENS_H_

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "tools/simgpu/image/ptx_lexer.h"

namespace sgprs::simgpu {

// One thread. After Fail() every token is kEnd, so that loops over tokens end by themselves.
class PtxTokens {
 public:
  explicit PtxTokens(std::string_view text) : lexer_(text), current_(lexer_.Next()) {}

  const PtxToken& Peek() const { return current_; }
  bool AtEnd() const { return current_.kind == PtxToken::Kind::kEnd; }
  PtxToken Next() {
    const PtxToken token = current_;
    if (status_.ok()) current_ = lexer_.Next();
    return token;
  }
  bool Accept(std::string_view wanted) {
    if (!current_.Is(wanted)) return false;
    Next();
    return true;
  }
  void Expect(std::string_view wanted) {
    if (!Accept(wanted)) {
      Fail("'" + std::string(wanted) + "' expected, found '" +
           std::string(current_.text.substr(0, 40)) + "'");
    }
  }
  // A plain unsigned number; anything else fails and gives 0.
  uint64_t ExpectNumber() {
    uint64_t value = 0;
    const PtxToken token = Next();
    std::string_view digits = token.text;
    int base = 10;
    if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x') {
      digits.remove_prefix(2);
      base = 16;
    }
    while (!digits.empty() && (digits.back() | 0x20) == 'u') digits.remove_suffix(1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (token.kind != PtxToken::Kind::kNumber || error != std::errc() ||
        end != digits.data() + digits.size()) {
      Fail("number expected, found '" + std::string(token.text.substr(0, 40)) + "'");
      return 0;
    }
    return value;
  }
  // From the current token on, drops this line.
  void SkipLine() {
    if (!status_.ok()) return;
    lexer_.SkipLine();
    current_ = lexer_.Next();
  }
  // At `open`: drops everything up to and with the `close` that matches.
  void SkipBalanced(std::string_view open, std::string_view close) {
    uint64_t depth = 0;
    while (!AtEnd()) {
      const PtxToken token = Next();
      if (token.Is(open)) ++depth;
      if (token.Is(close) && --depth == 0) return;
    }
    Fail("'" + std::string(close) + "' missing");
  }

  void Fail(const std::string& text) {
    if (!status_.ok()) return;
    status_ =
        Status(ErrorCode::kInvalid, "PTX line " + std::to_string(lexer_.line()) + ": " + text);
    current_ = {};
  }
  const Status& status() const { return status_; }

 private:
  PtxLexer lexer_;
  PtxToken current_;
  Status status_;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_PTX_TOKENS_H_
