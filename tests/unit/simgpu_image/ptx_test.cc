// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tools/simgpu/image/image.h"

namespace sgprs::simgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHead[] = "// by hand\n.version 8.0\n.target sm_70, debug\n.address_size 64\n";

Result<Image> Read(const std::string& body, uint32_t compute = 75) {
  const std::string text = kHead + body;
  return ReadImage(text.c_str(), text.size(), compute);
}

Image MustRead(const std::string& body) {
  Result<Image> image = Read(body);
  EXPECT_TRUE(image.ok()) << image.status().text();
  return image.ok() ? *image : Image{};
}

template <typename T>
T At(const ImageGlobal& global, size_t index) {
  T value{};
  if ((index + 1) * sizeof(T) <= global.initial.size()) {
    std::memcpy(&value, global.initial.data() + index * sizeof(T), sizeof(T));
  } else {
    ADD_FAILURE() << "no element " << index << " in " << global.name;
  }
  return value;
}

MATCHER_P2(IsParam, offset, size, "") {
  return arg.offset_bytes == static_cast<uint32_t>(offset) &&
         arg.size_bytes == static_cast<uint32_t>(size);
}

TEST(Ptx, ParametersHaveTheOffsetsOfTheirAlignment) {
  const Image image = MustRead(
      ".visible .entry k(.param .u8 a, .param .f64 b, .param .align 1 .b8 c[3],\n"
      ".param .align 16 .b8 d[32], .param .u16 e, .param .v4 .f32 f, .param .b16 g[3])\n{ ret; }");
  ASSERT_EQ(image.kernels.size(), 1u);
  EXPECT_THAT(image.kernels[0].params,
              ElementsAre(IsParam(0, 1), IsParam(8, 8), IsParam(16, 3), IsParam(32, 32),
                          IsParam(64, 2), IsParam(80, 16), IsParam(96, 6)));
}

TEST(Ptx, AlignmentOfThePointeeIsNotThatOfTheParameter) {
  const Image image = MustRead(
      ".entry k(.param .u32 n, .param .u64 .ptr .global .align 256 p, .param .u32 m) { ret; }");
  ASSERT_EQ(image.kernels.size(), 1u);
  EXPECT_THAT(image.kernels[0].params, ElementsAre(IsParam(0, 4), IsParam(8, 8), IsParam(16, 4)));
}

TEST(Ptx, BlockLimits) {
  const Image image = MustRead(
      ".entry a() .maxntid 16, 8, 1 .minnctapersm 2 { ret; }\n"
      ".entry b .reqntid 64 { ret; }\n.entry c() { ret; }\n.entry d() .maxntid 2048 { ret; }");
  ASSERT_EQ(image.kernels.size(), 4u);
  EXPECT_EQ(image.kernels[0].max_threads, 128u);
  EXPECT_EQ(image.kernels[1].max_threads, 64u);
  EXPECT_EQ(image.kernels[2].max_threads, 1024u);
  EXPECT_EQ(image.kernels[3].max_threads, 1024u);
  EXPECT_EQ(image.compute, 70u);
}

TEST(Ptx, MemoryCountsForTheKernelsThatReachIt) {
  const Image image = MustRead(
      ".shared .align 4 .b8 tile[1000];\n.extern .shared .align 16 .b8 dynamic[];\n"
      ".const .align 4 .b8 table[64] = {1};\n"
      ".func helper(.param .b32 x) { .shared .f32 s[4]; mov.u32 %r1, tile; ret; }\n"
      ".entry one() { .local .align 16 .b8 depot[48]; L1: call helper, (p); ret; }\n"
      ".entry two() { .shared .align 8 .b8 own[20]; ld.shared.u32 %r1, [own];\n"
      "  .loc 1 2 3\n  ld.const.f32 %f1, [table]; mov.u32 %r2, dynamic; ret; }");
  ASSERT_EQ(image.kernels.size(), 2u);
  EXPECT_EQ(image.kernels[0].static_shared_bytes, 1016u);
  EXPECT_EQ(image.kernels[0].local_bytes, 48u);
  EXPECT_EQ(image.kernels[0].const_bytes, 0u);
  EXPECT_EQ(image.kernels[1].static_shared_bytes, 20u);
  EXPECT_EQ(image.kernels[1].const_bytes, 64u);
}

TEST(Ptx, InitialValues) {
  const Image image = MustRead(
      ".global .u32 i = 0x10;\n.global .s16 n[4] = {-1, 07, 0b101U};\n"
      ".const .f32 f[3] = {0f3F800000, -2.5, 3};\n.global .f64 d = 0d4000000000000000;\n"
      ".global .u32 m[2][2] = {{1}, {3, 4}};\n.global .u8 open[] = {1, 2, 3};\n"
      ".global .u64 p[2] = {generic(i)+4, 9};\n.global .b8 text[8] = \"hi\";\n"
      ".global .f32 zeroes[100];\n.extern .global .u32 elsewhere;\n"
      ".global .attribute(.managed) .align 8 .u32 x, y;");
  ASSERT_EQ(image.globals.size(), 11u);
  EXPECT_EQ(At<uint32_t>(image.globals[0], 0), 16u);
  EXPECT_EQ(At<int16_t>(image.globals[1], 0), -1);
  EXPECT_EQ(At<int16_t>(image.globals[1], 1), 7);
  EXPECT_EQ(At<int16_t>(image.globals[1], 2), 5);
  EXPECT_EQ(image.globals[1].size_bytes, 8u);
  EXPECT_TRUE(image.globals[2].constant);
  EXPECT_EQ(At<float>(image.globals[2], 0), 1.0f);
  EXPECT_EQ(At<float>(image.globals[2], 1), -2.5f);
  EXPECT_EQ(At<float>(image.globals[2], 2), 3.0f);
  EXPECT_EQ(At<double>(image.globals[3], 0), 2.0);
  EXPECT_EQ(At<uint32_t>(image.globals[4], 1), 0u);
  EXPECT_EQ(At<uint32_t>(image.globals[4], 2), 3u);
  EXPECT_THAT(image.globals[5].initial, ElementsAre(1, 2, 3));
  EXPECT_EQ(At<uint64_t>(image.globals[6], 0), 0u);
  EXPECT_EQ(At<uint64_t>(image.globals[6], 1), 9u);
  EXPECT_EQ(At<char>(image.globals[7], 1), 'i');
  EXPECT_EQ(image.globals[8].size_bytes, 400u);
  EXPECT_THAT(image.globals[8].initial, IsEmpty());
  EXPECT_EQ(image.globals[9].name, "x");
  EXPECT_EQ(image.globals[10].name, "y");
}

TEST(Ptx, WhatIsNotCode) {
  const Image image = MustRead(
      ".file 1 \"a.cu\"\n.pragma \"x\";\n.section .debug_str { .b8 1, 2 }\n@@DWARF .b8 0\n"
      ".visible .entry k();\n.visible .entry k() { ret; }\n/* .entry no() { } */\n"
      ".extern .func (.param .b32 r) vprintf(.param .b64 a);");
  ASSERT_EQ(image.kernels.size(), 1u);
  EXPECT_EQ(image.kernels[0].name, "k");
}

TEST(Ptx, TargetAndDevice) {
  const auto code_for = [](const char* target, uint32_t compute) {
    const std::string text = std::string(".version 8.0\n.target ") + target + "\n";
    Result<Image> image = ReadImage(text.c_str(), 0, compute);
    return image.ok() ? ErrorCode::kOk : image.status().code();
  };
  EXPECT_EQ(code_for("sm_75", 75), ErrorCode::kOk);
  EXPECT_EQ(code_for("sm_52", 90), ErrorCode::kOk);
  EXPECT_EQ(code_for("sm_80", 75), ErrorCode::kNotFound);
  EXPECT_EQ(code_for("sm_90a", 90), ErrorCode::kOk);
  EXPECT_EQ(code_for("sm_90a", 100), ErrorCode::kNotFound);
  EXPECT_EQ(code_for("sm_100f", 103), ErrorCode::kOk);
  EXPECT_EQ(code_for("sm_100f", 120), ErrorCode::kNotFound);
  EXPECT_EQ(code_for("sm_80", 0), ErrorCode::kOk);
  EXPECT_EQ(code_for("gpu", 75), ErrorCode::kInvalid);
}

TEST(Ptx, DamageIsAnErrorThatNamesTheLine) {
  const char* const bad[] = {
      ".entry k(.param .u32 a { ret; }",
      ".entry k() { ret;",
      ".entry k(.param .u3 a) { ret; }",
      ".entry k() { ret; }\n.entry k() { ret; }",
      ".global .b8 x[99999999999][99999999999];",
      ".global .b8 x[2] = {1, 2, 3};",
      ".global .b8 x[1] = {{1}};",
      ".global .b8 x[67108865] = {1};",
      ".global .align 3 .b8 x;",
      ".entry k(.param .b8 a[40000]) { ret; }",
      ".nonsense",
  };
  for (const char* text : bad) {
    const Result<Image> image = Read(text);
    ASSERT_FALSE(image.ok()) << text;
    EXPECT_EQ(image.status().code(), ErrorCode::kInvalid);
    EXPECT_THAT(image.status().text(), HasSubstr("PTX line ")) << text;
  }
}

}  // namespace
}  // namespace sgprs::simgpu
