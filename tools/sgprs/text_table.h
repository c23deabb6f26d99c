// SPDX-License-Identifier: Apache-2.0
// A table for people: aligned columns, no ruling, so that awk and eyes both read it.
#ifndef SGPRS_TOOLS_SGPRS_TEXT_TABLE_H_
#define SGPRS_TOOLS_SGPRS_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgprs::cli {

class TextTable {
 public:
  enum class Align { kLeft, kRight };

  void AddColumn(std::string title, Align align = Align::kRight);
  // As many cells as there are columns; missing ones are empty, too many are dropped.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Title line and rows, each ending in '\n' and without blanks at its end. Columns are as wide as
  // their widest cell (UTF-8 code points count as one), two blanks apart.
  std::string Format() const;

 private:
  std::vector<Align> aligns_;
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` made safe for a terminal: control characters become '?'. Names come from clients.
std::string Printable(std::string_view text);
// "1 job", "3 jobs".
std::string Counted(uint64_t count, std::string_view noun);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TEXT_TABLE_H_
