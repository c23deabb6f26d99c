// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/math/launcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/base/environment.h"

// crt/device_functions.h declares it for nvcc alone.
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                          void** arguments, size_t shared_bytes,
                                          cudaStream_t stream);

namespace sgprs::simgpu::math {
namespace {

#define TEXT_OF(text) #text
#define TEXT(macro) TEXT_OF(macro)
constexpr char kPtx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
#define MATH_KERNEL(identifier, name, body)                \
  ".visible .entry " #name "(\n.param .align 8 .b8 " #name \
  "_param_0[" TEXT(SIMGPU_MATH_ARGUMENT_BYTES) "]\n)\n{\nret;\n}\n"
#include "tools/simgpu/math/kernels.inc"
#undef MATH_KERNEL
    ;

constexpr const char* kNames[] = {
#define MATH_KERNEL(identifier, name, body) #name,
#include "tools/simgpu/math/kernels.inc"
#undef MATH_KERNEL
};
constexpr auto kCount = static_cast<size_t>(MathKernel::kCount);

struct Loaded {
  cudaError_t status;
  cudaKernel_t kernels[kCount] = {};

  Loaded() {
    cudaLibrary_t library;
    status = cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    for (size_t i = 0; i < kCount && status == cudaSuccess; ++i) {
      status = cudaLibraryGetKernel(&kernels[i], library, kNames[i]);
    }
  }
};

int64_t Blocks(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

int SmCount() {
  int device = 0;
  int sms = 1;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    return 1;
  }
  return sms;
}

MathKernel KernelOf(const GemmArguments& gemm) {
  switch (gemm.type_a) {
    case Element::kDouble:
      return MathKernel::kGemmDouble;
    case Element::kHalf:
    case Element::kBfloat16:
      return MathKernel::kGemmHalf;
    case Element::kComplexFloat:
    case Element::kComplexDouble:
      return MathKernel::kGemmComplex;
    case Element::kFloat:
      break;
  }
  return MathKernel::kGemm;
}

bool IsComplex(Element element) {
  return element == Element::kComplexFloat || element == Element::kComplexDouble;
}

}  // namespace

cudaError_t LaunchMath(MathKernel kernel, const Geometry& geometry, const MathArguments& arguments,
                       cudaStream_t stream) {
  static const Loaded loaded;  // code without a context: once a process
  if (loaded.status != cudaSuccess) return loaded.status;
  void* pointers[] = {const_cast<MathArguments*>(&arguments)};
  return __cudaLaunchKernel(loaded.kernels[static_cast<size_t>(kernel)], geometry.grid,
                            dim3(geometry.threads), pointers, geometry.shared_bytes, stream);
}

Geometry GemmGeometry(int64_t m, int64_t n, int64_t k, int64_t batch) {
  constexpr int64_t kFewBlocks = 32;
  constexpr int64_t kPart = 256;
  int64_t tile = 128;
  int64_t blocks = Blocks(m, tile) * Blocks(n, tile) * batch;
  if (blocks < SmCount()) {
    tile = 64;
    blocks = Blocks(m, tile) * Blocks(n, tile) * batch;
  }
  int64_t parts = 1;
  if (blocks < kFewBlocks) {
    parts =
        std::max<int64_t>(1, std::min(Blocks(kFewBlocks, std::max<int64_t>(1, blocks)), k / kPart));
  }
  const int64_t depth = std::min<int64_t>(65535, batch * parts);
  Geometry geometry{};
  geometry.grid = dim3(static_cast<unsigned>(Blocks(m, tile)),
                       static_cast<unsigned>(std::min<int64_t>(65535, Blocks(n, tile))),
                       static_cast<unsigned>(depth));
  geometry.threads = tile == 128 ? 256 : 128;
  // Two buffers of 8 columns of each side's tile.
  geometry.shared_bytes = static_cast<unsigned>(2 * 8 * 2 * tile * 4);
  return geometry;
}

Geometry ElementGeometry(int64_t elements) {
  constexpr int64_t kThreads = 256;
  const int64_t each = elements > (int64_t{1} << 20) ? 4 : 1;
  const int64_t blocks = std::max<int64_t>(1, Blocks(elements, kThreads * each));
  return {dim3(static_cast<unsigned>(std::min<int64_t>(blocks, 0x7fffffff))), kThreads, 0};
}

cudaError_t LaunchGemm(const GemmArguments& gemm, cudaStream_t stream) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.batch <= 0) return cudaSuccess;
  MathArguments arguments{};
  arguments.gemm = gemm;
  const auto batch = static_cast<double>(gemm.batch);
  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  arguments.flops = 2 * m * n * k * batch * (IsComplex(gemm.type_a) ? 4 : 1);
  const bool reads_c = gemm.beta_at != nullptr || gemm.beta[0] != 0 || gemm.beta[1] != 0;
  arguments.dram_bytes =
      batch * (m * k * ElementBytes(gemm.type_a) + k * n * ElementBytes(gemm.type_b) +
               m * n * ElementBytes(gemm.type_d) * (reads_c ? 2 : 1));
  if (gemm.batch == 1 && (gemm.m == 1 || gemm.n == 1)) {  // a warp a row
    const Geometry geometry{dim3(static_cast<unsigned>(Blocks(gemm.m * gemm.n, 8))), 256, 0};
    return LaunchMath(MathKernel::kGemv, geometry, arguments, stream);
  }
  return LaunchMath(KernelOf(gemm), GemmGeometry(gemm.m, gemm.n, gemm.k, gemm.batch), arguments,
                    stream);
}

void LogMath(const char* library, const char* text) {
  const char* path = env::Get(env::kSimgpuLog);
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  dprintf(fd, "%s: %s\n", library, text);
  close(fd);
}

}  // namespace sgprs::simgpu::math
