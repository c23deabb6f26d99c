// SPDX-License-Identifier: Apache-2.0
// The shared-memory and socket ABI against its golden dump, as C11 and as C++ see it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/unit/abi/layout_rows.h"

namespace {

using RowsFunction = const LayoutRow* (*)(size_t*);

std::span<const LayoutRow> Rows(RowsFunction function) {
  size_t count = 0;
  const LayoutRow* rows = function(&count);
  return {rows, count};
}

std::string Render(std::span<const LayoutRow> rows) {
  std::ostringstream out;
  for (const LayoutRow& row : rows) {
    switch (row.kind) {
      case kLayoutConstant:
        out << "constant " << row.name << " = " << row.value;
        break;
      case kLayoutEnumerator:
        out << row.owner << "::" << row.name << " = " << row.value;
        break;
      case kLayoutStruct:
        out << "struct " << row.owner << ": " << row.bytes << " bytes";
        break;
      case kLayoutField:
        out << "  " << row.value << " " << row.name << ": " << row.bytes;
        break;
    }
    out << "\n";
  }
  return out.str();
}

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(AbiLayout, IsTheGoldenOne) {
  const std::string now = Render(Rows(LayoutRowsCxx));
  if (now == ReadFile(ABI_LAYOUT_GOLDEN)) return;
  std::ofstream(ABI_LAYOUT_ACTUAL) << now;
  FAIL() << "the ABI changed. See\n  diff " ABI_LAYOUT_GOLDEN " " ABI_LAYOUT_ACTUAL
            "\nIf it was meant: raise SGPRS_ABI_MINOR (padding put to use) or SGPRS_ABI_MAJOR "
            "(anything else), then\n  cp " ABI_LAYOUT_ACTUAL " " ABI_LAYOUT_GOLDEN;
}

TEST(AbiLayout, IsTheSameInC11) {
  EXPECT_EQ(Render(Rows(LayoutRowsC11)), Render(Rows(LayoutRowsCxx)));
}

// Padding is explicit: what a compiler adds would carry stale memory across the process border.
TEST(AbiLayout, HasNoHiddenPadding) {
  std::map<std::string_view, uint64_t> struct_bytes;
  std::map<std::string_view, uint64_t> field_bytes;
  for (const LayoutRow& row : Rows(LayoutRowsCxx)) {
    if (row.kind == kLayoutStruct) struct_bytes[row.owner] = row.bytes;
    if (row.kind == kLayoutField) {
      EXPECT_EQ(row.value, field_bytes[row.owner]) << row.owner << "." << row.name;
      field_bytes[row.owner] += row.bytes;
    }
  }
  EXPECT_GE(struct_bytes.size(), 15U);  // the generator found them at all
  EXPECT_EQ(struct_bytes, field_bytes);
}

}  // namespace
