// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/torch/name.h"

#include <gtest/gtest.h>

namespace sgprs::simgpu::torch {
namespace {

TEST(NameTest, ATemplateAndItsArguments) {
  const auto name = ParseName(
      "void at::native::(anonymous namespace)::kernel<4, X<int, Y<2> >, f(int, long)::{lambda(int, "
      "float)#1}, std::array<char*, 2ul> >(int, X<int, Y<2> >)");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ("kernel", name->kernel);
  const std::vector<std::string> expected = {
      "4", "X<int, Y<2> >", "f(int, long)::{lambda(int, float)#1}", "std::array<char*, 2ul>"};
  EXPECT_EQ(expected, name->arguments);
}

TEST(NameTest, WhatIsNoTemplate) {
  EXPECT_FALSE(ParseName("plain(float*, int)").has_value());
  EXPECT_FALSE(ParseName("").has_value());
  EXPECT_FALSE(ParseName("broken<int, X<2").has_value());
}

TEST(NameTest, Inside) {
  EXPECT_EQ("X<long>, 3", Inside("it<NonZeroOp<X<long>, 3>, bool const*>", "NonZeroOp<"));
  EXPECT_FALSE(Inside("it<Other<long> >", "NonZeroOp<").has_value());
}

TEST(NameTest, TypesAreWholeWords) {
  EXPECT_EQ(Type::kInt32, FirstType("f(printer, int, float)"));
  EXPECT_EQ(Type::kUint8, FirstType("unsigned char, float"));
  EXPECT_EQ(Type::kHalf, FirstType("BinaryFunctor<c10::Half, float>"));
  EXPECT_FALSE(FirstType("Point, longer, boolean").has_value());
}

}  // namespace
}  // namespace sgprs::simgpu::torch
