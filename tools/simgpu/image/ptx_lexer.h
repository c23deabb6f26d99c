// SPDX-License-Identifier: Apache-2.0
// Cuts PTX text into tokens. Knows nothing of PTX's grammar beyond comments, strings and names.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_PTX_LEXER_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_PTX_LEXER_H_

#include <cstddef>
#include <string_view>

namespace sgprs::simgpu {

struct PtxToken {
  enum class Kind { kEnd, kName, kDirective, kNumber, kString, kPunctuation };
  Kind kind = Kind::kEnd;
  std::string_view text;  // a piece of the input; a string without its quotes

  bool Is(std::string_view wanted) const { return kind != Kind::kEnd && text == wanted; }
  bool IsDirective(std::string_view wanted) const {
    return kind == Kind::kDirective && text == wanted;
  }
};

// One thread. `text` must outlive the lexer and its tokens. Never reads outside `text`; every input
// gives a finite list of tokens, closed by kEnd.
class PtxLexer {
 public:
  explicit PtxLexer(std::string_view text) : text_(text) {}

  PtxToken Next();
  // Drops the rest of the current line (`.loc` and `.file` end with their line, not with ';').
  void SkipLine();
  size_t line() const { return line_; }

 private:
  void SkipBlanks();
  PtxToken Take(PtxToken::Kind kind, size_t length);
  size_t NameLength(size_t from) const;

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_PTX_LEXER_H_
