// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/sgprs/help_formatter.h"
#include "tools/sgprs/suggestion.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

TEST(TextTableTest, AlignsByColumn) {
  TextTable table;
  table.AddColumn("TASK", TextTable::Align::kLeft);
  table.AddColumn("FPS");
  table.AddColumn("STATE", TextTable::Align::kLeft);
  table.AddRow({"resnet18-0", "30.0", "gone"});
  table.AddRow({"gr\u00f6\u00dfe", "7.5"});
  EXPECT_EQ(table.Format(),
            "TASK         FPS  STATE\n"
            "resnet18-0  30.0  gone\n"
            "gr\u00f6\u00dfe        7.5\n");
}

TEST(TextTableTest, NamesOfClientsCanNotSteerTheTerminal) {
  EXPECT_EQ(Printable("a\033[2Jb\nc"), "a?[2Jb?c");
  EXPECT_EQ(Printable("gr\u00f6\u00dfe"), "gr\u00f6\u00dfe");
}

TEST(SuggestionTest, FindsTheNearest) {
  const std::vector<std::string> words = {"status", "tasks", "partitions", "policy"};
  EXPECT_EQ(Nearest("statsu", words), "status");
  EXPECT_EQ(Nearest("task", words), "tasks");
  EXPECT_EQ(Nearest("part", words), "partitions");
  EXPECT_EQ(Nearest("xyzzy", words), "");
  EXPECT_EQ(DidYouMean("polcy", words), ": did you mean policy?");
  EXPECT_EQ(DidYouMean("q", words), "");
}

TEST(WrapTest, BreaksAtBlanksOnly) {
  EXPECT_EQ(Wrap("aa bb cc", 5), "aa bb\ncc");
  EXPECT_EQ(Wrap("averylongword b", 4), "averylongword\nb");
  EXPECT_EQ(Wrap("", 4), "");
}

}  // namespace
}  // namespace sgprs::cli
