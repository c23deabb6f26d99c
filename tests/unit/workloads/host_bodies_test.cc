// SPDX-License-Identifier: Apache-2.0
// The CUDA source itself, run by host threads, must give the bits of the host bodies.
#include "tools/workloads/kernels/host_bodies.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tools/workloads/nn/generator.h"

// Instead of cuda_words.h: a block is a set of threads and a barrier, blocks run one after another,
// so shared memory may be static.
#define SGPRS_TOOLS_WORKLOADS_KERNELS_CUDA_WORDS_H_
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)

namespace workloads {
namespace {

thread_local unsigned thread_x, thread_y, block_x, block_y;
unsigned block_size_x;
std::unique_ptr<std::barrier<>> block_barrier;

struct ThreadIndex {
  static unsigned X() { return thread_x; }
  static unsigned Y() { return thread_y; }
};
struct BlockIndex {
  static unsigned X() { return block_x; }
  static unsigned Y() { return block_y; }
};
unsigned GlobalX() { return block_x * block_size_x + thread_x; }
void __syncthreads() { block_barrier->arrive_and_wait(); }

}  // namespace
}  // namespace workloads

#include "tools/workloads/kernels/network.cu"  // NOLINT: on purpose

namespace workloads {
namespace {

struct Geometry {
  uint32_t grid[2];
  uint32_t block[2];
};

template <typename Kernel, typename... Arguments>
void RunAsDevice(const Geometry& geometry, Kernel kernel, Arguments... arguments) {
  block_size_x = geometry.block[0];
  const auto size = static_cast<ptrdiff_t>(geometry.block[0] * geometry.block[1]);
  for (uint32_t by = 0; by < geometry.grid[1]; ++by) {
    for (uint32_t bx = 0; bx < geometry.grid[0]; ++bx) {
      block_barrier = std::make_unique<std::barrier<>>(size);
      std::vector<std::thread> threads;
      for (uint32_t t = 0; t < static_cast<uint32_t>(size); ++t) {
        threads.emplace_back([=] {
          thread_x = t % geometry.block[0];
          thread_y = t / geometry.block[0];
          block_x = bx;
          block_y = by;
          kernel(arguments...);
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }
}

template <typename... Arguments>
void RunBody(const char* name, const Geometry& geometry, Arguments... arguments) {
  const void* params[] = {&arguments...};
  const SimgpuLaunch launch{{geometry.grid[0], geometry.grid[1], 1},
                            {geometry.block[0], geometry.block[1], 1},
                            0,
                            sizeof...(arguments),
                            params};
  for (const SimgpuKernel& kernel : NetworkKernels()) {
    if (std::string(name) == kernel.name) return kernel.body(&launch);
  }
  FAIL() << name;
}

std::vector<float> Random(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = Uniform(seed, i, -1.0f, 1.0f);
  return values;
}

uint32_t Blocks(int count, int size) { return static_cast<uint32_t>((count + size - 1) / size); }

WindowShape Shape(int in, int height, int width, int out, int kernel, int stride, int pad) {
  return {in,
          height,
          width,
          out,
          (height + 2 * pad - kernel) / stride + 1,
          (width + 2 * pad - kernel) / stride + 1,
          kernel,
          stride,
          pad};
}
size_t InCount(const WindowShape& s) {
  return static_cast<size_t>(s.channels_in * s.height_in * s.width_in);
}
size_t OutCount(const WindowShape& s) {
  return static_cast<size_t>(s.channels_out * s.height_out * s.width_out);
}

TEST(HostBodies, Conv2d) {
  for (const WindowShape& s : {Shape(3, 9, 7, 5, 3, 1, 1), Shape(2, 8, 8, 33, 7, 2, 3),
                               Shape(17, 5, 5, 34, 1, 2, 0), Shape(4, 1, 1, 3, 3, 1, 1)}) {
    const std::vector<float> x = Random(InCount(s), 1);
    const std::vector<float> w =
        Random(static_cast<size_t>(s.channels_in * s.kernel * s.kernel * s.channels_out), 2);
    std::vector<float> device(OutCount(s), -1);
    std::vector<float> host(OutCount(s), -2);
    const Geometry geometry{
        {Blocks(s.height_out * s.width_out, kConvTile), Blocks(s.channels_out, kConvTile)},
        {kConvThreads, kConvThreads}};
    RunAsDevice(geometry, wl_conv2d, x.data(), w.data(), device.data(), s);
    RunBody("wl_conv2d", geometry, x.data(), w.data(), host.data(), s);
    EXPECT_EQ(device, host);
  }
}

TEST(HostBodies, DepthwiseAndMaxPool) {
  for (const WindowShape& s : {Shape(3, 9, 7, 3, 3, 1, 1), Shape(2, 20, 20, 2, 3, 2, 1)}) {
    const std::vector<float> x = Random(InCount(s), 3);
    const std::vector<float> w =
        Random(static_cast<size_t>(s.channels_in * s.kernel * s.kernel), 4);
    std::vector<float> device(OutCount(s), -1);
    std::vector<float> host(OutCount(s), -2);
    const Geometry geometry{
        {Blocks(s.height_out * s.width_out, kFlatThreads), static_cast<uint32_t>(s.channels_out)},
        {kFlatThreads, 1}};
    RunAsDevice(geometry, wl_depthwise, x.data(), w.data(), device.data(), s);
    RunBody("wl_depthwise", geometry, x.data(), w.data(), host.data(), s);
    EXPECT_EQ(device, host);
    RunAsDevice(geometry, wl_max_pool, x.data(), device.data(), s);
    RunBody("wl_max_pool", geometry, x.data(), host.data(), s);
    EXPECT_EQ(device, host);
  }
}

TEST(HostBodies, ElementWise) {
  constexpr int kChannels = 5;
  constexpr int kPlane = 61;
  constexpr int kCount = kChannels * kPlane;
  const std::vector<float> x = Random(kCount, 5);
  const std::vector<float> other = Random(kCount, 6);
  std::vector<float> device(kCount, -1);
  std::vector<float> host(kCount, -2);
  const Geometry geometry{{Blocks(kCount, kFlatThreads), 1}, {kFlatThreads, 1}};
  RunAsDevice(geometry, wl_batch_norm, x.data(), other.data(), other.data() + 9, device.data(),
              kChannels, kPlane);
  RunBody("wl_batch_norm", geometry, x.data(), other.data(), other.data() + 9, host.data(),
          kChannels, kPlane);
  EXPECT_EQ(device, host);
  RunAsDevice(geometry, wl_relu, x.data(), device.data(), kCount);
  RunBody("wl_relu", geometry, x.data(), host.data(), kCount);
  EXPECT_EQ(device, host);
  RunAsDevice(geometry, wl_add, x.data(), other.data(), device.data(), kCount);
  RunBody("wl_add", geometry, x.data(), other.data(), host.data(), kCount);
  EXPECT_EQ(device, host);
}

TEST(HostBodies, AveragePoolAndLinear) {
  constexpr int kChannels = 4;
  constexpr int kPlane = 150;
  constexpr int kOutputs = 130;
  const std::vector<float> x = Random(kChannels * kPlane, 7);
  std::vector<float> device(kOutputs, -1);
  std::vector<float> host(kOutputs, -1);
  const Geometry pool{{kChannels, 1}, {kAverageThreads, 1}};
  RunAsDevice(pool, wl_average_pool, x.data(), device.data(), kPlane);
  RunBody("wl_average_pool", pool, x.data(), host.data(), kPlane);
  EXPECT_EQ(device, host);
  const std::vector<float> w = Random(kChannels * kOutputs, 8);
  const std::vector<float> bias = Random(kOutputs, 9);
  const Geometry linear{{Blocks(kOutputs, kLinearThreads), 1}, {kLinearThreads, 1}};
  RunAsDevice(linear, wl_linear, x.data(), w.data(), bias.data(), device.data(), kChannels,
              kOutputs);
  RunBody("wl_linear", linear, x.data(), w.data(), bias.data(), host.data(), kChannels, kOutputs);
  EXPECT_EQ(device, host);
}

TEST(HostBodies, LargeTensorsAreLeftAlone) {
  const int count = static_cast<int>(kMaxComputedElements) + 1;
  const std::vector<float> x(static_cast<size_t>(count), 1.0f);
  std::vector<float> y(static_cast<size_t>(count), 7.0f);
  const Geometry geometry{{Blocks(count, kFlatThreads), 1}, {kFlatThreads, 1}};
  RunBody("wl_relu", geometry, x.data(), y.data(), count);
  EXPECT_EQ(y[0], 7.0f);
  RunBody("wl_relu", geometry, x.data(), y.data(), count - 1);
  EXPECT_EQ(y[0], 1.0f);
}

}  // namespace
}  // namespace workloads
