// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sgprs::observe {
namespace {

TEST(Text, ControlCharactersAndBadUtf8BecomeQuestionMarks) {
  EXPECT_EQ(OneLine("plain \"text\""), "plain \"text\"");
  EXPECT_EQ(OneLine("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(OneLine("\x1b[2J"), "?[2J");
  EXPECT_EQ(OneLine("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(OneLine("\xc3"), "?");
  EXPECT_EQ(OneLine("\xc0\x80"), "??");            // overlong
  EXPECT_EQ(OneLine("\xed\xa0\x80"), "???");       // surrogate
  EXPECT_EQ(OneLine("\xf4\x90\x80\x80"), "????");  // beyond Unicode
}

TEST(Text, JsonStringsParseBack) {
  for (int i = 1; i < 256; ++i) {
    const std::string text = OneLine(std::string(1, static_cast<char>(i)) + "\"\\/x");
    const auto json = nlohmann::json::parse(JsonString(text), nullptr, false);
    ASSERT_TRUE(json.is_string()) << i;
    EXPECT_EQ(json.get<std::string>(), text);
  }
  EXPECT_EQ(JsonString("\x01"), "\"\\u0001\"");
}

}  // namespace
}  // namespace sgprs::observe
