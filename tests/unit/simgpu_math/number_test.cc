// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/math/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sgprs::simgpu::math {
namespace {

TEST(NumberTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_EQ(0x7c00u, bits & 0x7c00u);
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
      continue;
    }
    EXPECT_EQ(bits, FloatToHalf(value)) << bits;
  }
}

TEST(NumberTest, HalvesRoundToTheNearestAndTiesToEven) {
  EXPECT_EQ(0x3c00, FloatToHalf(1.0F));
  EXPECT_EQ(0x3c00, FloatToHalf(1.0F + std::ldexp(1.0F, -11)));      // a tie: down to even
  EXPECT_EQ(0x3c02, FloatToHalf(1.0F + 3 * std::ldexp(1.0F, -11)));  // a tie: up to even
  EXPECT_EQ(0x4000, FloatToHalf(2.0F - std::ldexp(1.0F, -12)));      // carries into the exponent
  EXPECT_EQ(0x7bff, FloatToHalf(65519.0F));
  EXPECT_EQ(0x7c00, FloatToHalf(65520.0F));
  EXPECT_EQ(0x0001, FloatToHalf(std::ldexp(1.0F, -24)));
  EXPECT_EQ(0x0000, FloatToHalf(std::ldexp(1.0F, -25)));  // a tie: down to zero
  EXPECT_EQ(0x8000, FloatToHalf(-0.0F));
  EXPECT_EQ(0xfc00, FloatToHalf(-std::numeric_limits<float>::infinity()));
}

TEST(NumberTest, Bfloat16) {
  EXPECT_EQ(0x3f80, FloatToBfloat16(1.0F));
  EXPECT_EQ(1.0F, Bfloat16ToFloat(0x3f80));
  EXPECT_EQ(0x3f80, FloatToBfloat16(1.0F + std::ldexp(1.0F, -8)));      // a tie: down to even
  EXPECT_EQ(0x3f82, FloatToBfloat16(1.0F + 3 * std::ldexp(1.0F, -8)));  // a tie: up to even
  EXPECT_TRUE(std::isnan(Bfloat16ToFloat(FloatToBfloat16(NAN))));
  EXPECT_EQ(INFINITY, Bfloat16ToFloat(FloatToBfloat16(std::numeric_limits<float>::max())));
}

}  // namespace
}  // namespace sgprs::simgpu::math
