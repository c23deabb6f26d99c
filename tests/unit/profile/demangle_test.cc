// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/demangle.h"

#include <gtest/gtest.h>

namespace sgprs::profile {
namespace {

constexpr const char* kFill =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T"
    "1_";

TEST(Demangle, ReadsTemplates) {
  EXPECT_EQ(
      Demangle(kFill),
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
      "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)");
  EXPECT_EQ(ShortName(kFill), "at::native::vectorized_elementwise_kernel");
  EXPECT_EQ(ShortName(Demangle(kFill)), "at::native::vectorized_elementwise_kernel");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  for (const char* name : {"", "i", "gemm_128x128_nn", "_Z", "_ZN2at6nat", "triton_poi_fused_0",
                           "graph of 3 kernels, 5493aeed5e1798ed"}) {
    EXPECT_EQ(Demangle(name), name);
    EXPECT_EQ(ShortName(name), name);
  }
}

TEST(Demangle, ShortNamesHaveNoAnonymousNamespace) {
  EXPECT_EQ(ShortName("_ZN2at6native12_GLOBAL__N_14kernIfEEvPT_"), "at::native::kern");
}

}  // namespace
}  // namespace sgprs::profile
