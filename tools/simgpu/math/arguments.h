// SPDX-License-Identifier: Apache-2.0
// What the kernels of the stand-in cuBLAS, cuBLASLt and cuDNN are passed: one parameter, the work
// of the launch first, then what its body needs. Pointers are device pointers.
#ifndef SGPRS_TOOLS_SIMGPU_MATH_ARGUMENTS_H_
#define SGPRS_TOOLS_SIMGPU_MATH_ARGUMENTS_H_

#include <cstdint>

#define SIMGPU_MATH_ARGUMENT_BYTES 512  // a literal: it is pasted into PTX

namespace sgprs::simgpu::math {

// Values as in cudaDataType (library_types.h), of the types that bodies compute with.
enum class Element : uint32_t {
  kFloat = 0,
  kDouble = 1,
  kHalf = 2,
  kComplexFloat = 4,
  kComplexDouble = 5,
  kBfloat16 = 14,
};
// 0: not a type that is computed with.
uint32_t ElementBytes(Element element);

enum class Activation : uint32_t { kNone = 0, kRelu = 1, kGelu = 2 };

// D = activation(alpha op(A) op(B) + beta C + bias), column-major as BLAS has it.
struct GemmArguments {
  int64_t m, n, k, batch;
  int64_t lda, ldb, ldc, ldd;
  int64_t stride_a, stride_b, stride_c, stride_d;  // elements
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;  // of m elements, or null
  // Pointer mode device: read when the kernel runs, in type `scale`; null: the doubles below.
  const void* alpha_at;
  const void* beta_at;
  double alpha[2];  // real, imaginary
  double beta[2];
  uint32_t op_a, op_b;  // cublasOperation_t
  Element type_a, type_b, type_c, type_d, type_bias, scale;
  Activation activation;
  uint32_t by_array;  // a, b, c, d are arrays of `batch` pointers
};

struct DotArguments {
  int64_t n, stride_x, stride_y;
  const void* x;
  const void* y;
  void* result;
  Element type, type_result;
  uint32_t conjugate;
};

// Images n, channels c, up to three spatial dimensions; strides in elements.
struct ConvolutionArguments {
  static constexpr int kDims = 5;  // n, c, then spatial
  int32_t dims;
  int32_t x_size[kDims], y_size[kDims], w_size[kDims];
  int64_t x_stride[kDims], y_stride[kDims], w_stride[kDims];
  int32_t padding[3], stride[3], dilation[3];
  int32_t groups;
  void* x;  // forward, backward filter: in; backward data: out
  void* w;
  void* y;
  double alpha, beta;
  Element type;
  uint32_t kind;  // 0 forward, 1 backward data, 2 backward filter
};

// Per channel (dimension 1); strides in elements. The backward pass reads dy with y's strides and
// writes dx with x's.
struct BatchNormArguments {
  static constexpr int kDims = 5;  // n, c, then spatial
  int32_t size[kDims];
  int64_t x_stride[kDims], y_stride[kDims];
  const void* x;
  void* y;   // backward: dy, read
  void* dx;  // backward
  const void* scale;
  const void* bias;
  void* mean;  // inference: read; training: running mean, updated, or null
  void* variance;
  void* saved_mean;     // training: written; backward: read
  void* saved_inverse;  // 1 / sqrt(variance + epsilon)
  void* dscale;
  void* dbias;
  double epsilon, factor;
  Element type, type_parameters;
};

struct MathArguments {
  double flops;
  double dram_bytes;
  union {
    GemmArguments gemm;
    DotArguments dot;
    ConvolutionArguments convolution;
    BatchNormArguments batch_norm;
    unsigned char bytes[SIMGPU_MATH_ARGUMENT_BYTES - 16];
  };
};
static_assert(sizeof(MathArguments) == SIMGPU_MATH_ARGUMENT_BYTES);

}  // namespace sgprs::simgpu::math

#endif  // SGPRS_TOOLS_SIMGPU_MATH_ARGUMENTS_H_
