// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/torch/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sgprs::simgpu::torch {
namespace {

KernelName Name(const std::string& text) { return ParseName(text).value(); }

// Runs a body with pointers to its parameters.
template <typename... P>
void Execute(const Behaviour& behaviour, uint32_t blocks, const P&... params) {
  const void* pointers[] = {&params...};
  SimgpuLaunch launch{};
  launch.grid[0] = blocks;
  launch.param_count = sizeof...(P);
  launch.params = pointers;
  ASSERT_NE(nullptr, behaviour.body);
  behaviour.body(&launch);
}

std::string Flags(const std::string& type) {
  return "thrust::transform_iterator<(anonymous namespace)::NonZeroOp<" + type + ">, " + type +
         " const*, thrust::use_default>";
}

const std::vector<float> kValues = {0, 2, 0, 0, -1, 3};

TEST(NonzeroTest, CountsInOneKernelOrTwo) {
  const float* from = kValues.data();
  int32_t found = -1;
  int32_t* to = &found;
  const Behaviour one =
      FindNonzero(Name("void cub::DeviceReduceSingleTileKernel<P, " + Flags("float") +
                       ", int*, unsigned long long, plus<void>, int, int, identity>(x)"));
  Execute(one, 1, from, to, uint64_t{6});
  EXPECT_EQ(3, found);

  std::array<int32_t, 4> parts = {9, 9, 9, 9};
  int32_t* part = parts.data();
  const Behaviour first = FindNonzero(Name("void cub::DeviceReduceKernel<P, " + Flags("float") +
                                           ", unsigned int, plus<void>, int, identity>(x)"));
  Execute(first, 4, from, part, uint32_t{6});
  const Behaviour second = FindNonzero(Name(
      "void cub::DeviceReduceSingleTileKernel<P, int*, int*, int, plus<void>, int, int, i>(x)"));
  Execute(second, 1, part, to, int32_t{4});
  EXPECT_EQ(3, found);
}

TEST(NonzeroTest, SelectsFlatIndicesAndTurnsThemIntoCoordinates) {
  const float* from = kValues.data();
  std::vector<int64_t> out(6, -1);  // two rows of three coordinates
  int64_t* to = out.data();
  int32_t selected = 0;
  int32_t* count = &selected;
  const Behaviour select = FindNonzero(
      Name("void cub::DeviceSelectSweepKernel<P, thrust::counting_iterator<long, d>, " +
           Flags("float") + ", long*, int*, State, NullType, NullType, int, context, I>(x)"));
  Execute(select, 1, int64_t{0}, from, to, count, 0, 0, 0, int32_t{6});
  EXPECT_EQ(3, selected);
  struct {
    int32_t sizes[16] = {2, 3};
  } dims;
  Execute(FindNonzero(Name("void at::native::write_indices<int>(long*)")), 1, to, dims, int32_t{2},
          int32_t{3});
  EXPECT_EQ((std::vector<int64_t>{0, 1, 1, 1, 1, 2}), out);
}

TEST(NonzeroTest, OtherReductionsAreNotOurs) {
  EXPECT_EQ(nullptr, FindNonzero(Name("void DeviceReduceSingleTileKernel<P, float*, float*, int, "
                                      "plus<void>, float, float, i>(x)"))
                         .body);
}

struct Tensors {
  void* at[3];
};

std::string Elementwise(const std::string& functor, int tensors) {
  return "void vectorized_elementwise_kernel<4, " + functor + ", std::array<char*, " +
         std::to_string(tensors) + "ul>, false>(int)";
}

TEST(ElementwiseTest, BodiesByFunctor) {
  std::vector<float> a = {1, 2, 3};
  std::vector<float> b = {10, 20, 30};
  std::vector<float> out(3);
  const Tensors tensors = {{out.data(), a.data(), b.data()}};
  Execute(FindElementwise(Name(Elementwise("at::native::CUDAFunctor_add<float>", 3))), 1, 3, 2.0F,
          tensors);
  EXPECT_EQ((std::vector<float>{21, 42, 63}), out);
  struct {
    float other = 5;
    float alpha = -1;
  } scalars;
  Execute(FindElementwise(Name(Elementwise("CUDAFunctorOnSelf_add<float>", 2))), 1, 3, scalars,
          tensors);
  EXPECT_EQ((std::vector<float>{-4, -3, -2}), out);
  Execute(FindElementwise(
              Name(Elementwise("BinaryFunctor<float, float, float, b::MulFunctor<float> >", 3))),
          1, 3, char{}, tensors);
  EXPECT_EQ((std::vector<float>{10, 40, 90}), out);
  struct {
    char empty = 0;
    float scalar = 3;
  } multiply;
  Execute(FindElementwise(
              Name(Elementwise("BUnaryFunctor<float, float, float, b::MulFunctor<float> >", 2))),
          1, 3, multiply, tensors);
  EXPECT_EQ((std::vector<float>{3, 6, 9}), out);
  Execute(FindElementwise(Name(Elementwise("FillFunctor<float>", 1))), 1, 2, 7.0F, tensors);
  EXPECT_EQ((std::vector<float>{7, 7, 9}), out);
}

TEST(ElementwiseTest, ConversionsByTheirTypes) {
  std::vector<float> a = {0.5, -2, 65520};
  std::vector<uint16_t> out(3);
  const Tensors tensors = {{out.data(), a.data(), nullptr}};
  const std::string functor =
      "at::native::converting_copy_kernel_cuda<float, "
      "c10::Half>(at::TensorIteratorBase&)::{lambda(float)#1}";
  Execute(FindElementwise(Name(Elementwise(functor, 2))), 1, 3, char{}, tensors);
  EXPECT_EQ((std::vector<uint16_t>{0x3800, 0xc000, 0x7c00}), out);
}

TEST(ElementwiseTest, WorkOfWhatIsNotComputed) {
  const Behaviour behaviour =
      FindElementwise(Name(Elementwise("f(X&)::{lambda(c10::Half, c10::Half)#1}", 3)));
  EXPECT_EQ(nullptr, behaviour.body);
  ASSERT_NE(nullptr, behaviour.work);
  const int32_t count = 1000;
  const void* params[] = {&count};
  SimgpuLaunch launch{};
  launch.params = params;
  SimgpuWork work{};
  behaviour.work(&launch, &work);
  EXPECT_EQ(1000 * 3 * 2, work.dram_bytes);
}

}  // namespace
}  // namespace sgprs::simgpu::torch
