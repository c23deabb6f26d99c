// SPDX-License-Identifier: Apache-2.0
// Matrix products: GEMM, batched GEMM, GEMV, dot products.
#include <algorithm>
#include <cstring>

#include "tools/simgpu/cublas/handle.h"

using sgprs::simgpu::cublas::IsElement;
using sgprs::simgpu::cublas::StatusOf;
using sgprs::simgpu::math::DotArguments;
using sgprs::simgpu::math::Element;
using sgprs::simgpu::math::GemmArguments;
using sgprs::simgpu::math::LaunchGemm;

namespace {

void ReadScalar(const void* from, Element type, double out[2]) {
  float real;
  switch (type) {
    case Element::kDouble:
      memcpy(out, from, sizeof(double));
      break;
    case Element::kComplexDouble:
      memcpy(out, from, 2 * sizeof(double));
      break;
    case Element::kComplexFloat:
      memcpy(&real, static_cast<const char*>(from) + sizeof(float), sizeof(real));
      out[1] = static_cast<double>(real);
      [[fallthrough]];
    default:
      memcpy(&real, from, sizeof(real));
      out[0] = static_cast<double>(real);
      break;
  }
}

// Host pointers are read now, device pointers when the kernel runs.
void SetScalars(cublasHandle_t handle, const void* alpha, const void* beta, Element type,
                GemmArguments* gemm) {
  gemm->scale = type;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    gemm->alpha_at = alpha;
    gemm->beta_at = beta;
    return;
  }
  ReadScalar(alpha, type, gemm->alpha);
  ReadScalar(beta, type, gemm->beta);
}

struct Shape {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k, lda, ldb, ldc;
};

bool IsShape(const Shape& shape) {
  if (shape.m < 0 || shape.n < 0 || shape.k < 0) return false;
  const int64_t rows_a = shape.op_a == CUBLAS_OP_N ? shape.m : shape.k;
  const int64_t rows_b = shape.op_b == CUBLAS_OP_N ? shape.k : shape.n;
  return shape.lda >= std::max<int64_t>(1, rows_a) && shape.ldb >= std::max<int64_t>(1, rows_b) &&
         shape.ldc >= std::max<int64_t>(1, shape.m);
}

GemmArguments Describe(const Shape& shape, const void* a, const void* b, void* c) {
  GemmArguments gemm{};
  gemm.m = shape.m;
  gemm.n = shape.n;
  gemm.k = shape.k;
  gemm.batch = 1;
  gemm.lda = shape.lda;
  gemm.ldb = shape.ldb;
  gemm.ldc = shape.ldc;
  gemm.ldd = shape.ldc;
  gemm.op_a = shape.op_a;
  gemm.op_b = shape.op_b;
  gemm.a = a;
  gemm.b = b;
  gemm.c = c;
  gemm.d = c;
  return gemm;
}

struct Types {
  Element a, b, c, scale;
};
constexpr Types Same(Element type) { return {type, type, type, type}; }

struct Batch {
  int64_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  bool by_array = false;
};

cublasStatus_t Gemm(cublasHandle_t handle, const Shape& shape, const Types& types,
                    const void* alpha, const void* a, const void* b, const void* beta, void* c,
                    const Batch& batch = {}) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!IsShape(shape) || batch.count < 0 || alpha == nullptr || beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  GemmArguments gemm = Describe(shape, a, b, c);
  gemm.type_a = types.a;
  gemm.type_b = types.b;
  gemm.type_c = types.c;
  gemm.type_d = types.c;
  gemm.batch = batch.count;
  gemm.stride_a = batch.stride_a;
  gemm.stride_b = batch.stride_b;
  gemm.stride_c = batch.stride_c;
  gemm.stride_d = batch.stride_c;
  gemm.by_array = batch.by_array ? 1 : 0;
  SetScalars(handle, alpha, beta, types.scale, &gemm);
  return StatusOf(LaunchGemm(gemm, handle->stream));
}

// The type of alpha and beta; false: a computation that is not simulated.
bool ScaleOf(cublasComputeType_t compute, cudaDataType a, Element* scale) {
  const bool complex = a == CUDA_C_32F || a == CUDA_C_64F;
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      *scale = Element::kHalf;
      return true;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      *scale = complex ? Element::kComplexDouble : Element::kDouble;
      return true;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return false;
    default:
      *scale = complex ? Element::kComplexFloat : Element::kFloat;
      return true;
  }
}

cublasStatus_t GemmOfTypes(cublasHandle_t handle, const Shape& shape, const void* alpha,
                           const void* a, cudaDataType type_a, const void* b, cudaDataType type_b,
                           const void* beta, void* c, cudaDataType type_c,
                           cublasComputeType_t compute, const Batch& batch) {
  Element scale;
  if (!IsElement(type_a) || !IsElement(type_b) || !IsElement(type_c) ||
      !ScaleOf(compute, type_a, &scale)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (scale == Element::kHalf && handle != nullptr &&
      handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    return CUBLAS_STATUS_NOT_SUPPORTED;  // alpha and beta in half precision
  }
  const Types types{static_cast<Element>(type_a), static_cast<Element>(type_b),
                    static_cast<Element>(type_c), scale};
  return Gemm(handle, shape, types, alpha, a, b, beta, c, batch);
}

// y = alpha op(A) x + beta y, as the row y' = alpha x' op(A)' + beta y'.
cublasStatus_t Gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, Element type,
                    const void* alpha, const void* a, int lda, const void* x, int incx,
                    const void* beta, void* y, int incy) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || lda < std::max(1, m) || incx <= 0 || incy <= 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool plain = op == CUBLAS_OP_N;
  const Shape shape{
      CUBLAS_OP_N, plain ? CUBLAS_OP_T : CUBLAS_OP_N, 1, plain ? m : n, plain ? n : m, incx, lda,
      incy};
  GemmArguments gemm = Describe(shape, x, a, y);
  if (op == CUBLAS_OP_C) gemm.op_b = CUBLAS_OP_CONJG;
  gemm.type_a = gemm.type_b = gemm.type_c = gemm.type_d = type;
  SetScalars(handle, alpha, beta, type, &gemm);
  return StatusOf(LaunchGemm(gemm, handle->stream));
}

cublasStatus_t Dot(cublasHandle_t handle, int n, const void* x, int incx, const void* y, int incy,
                   void* result, Element type, Element type_result, bool conjugate) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  sgprs::simgpu::math::MathArguments arguments{};
  DotArguments& dot = arguments.dot;
  dot.n = std::max(0, n);
  dot.stride_x = incx;
  dot.stride_y = incy;
  dot.x = x;
  dot.y = y;
  dot.result = result;
  dot.type = type;
  dot.type_result = type_result;
  dot.conjugate = conjugate ? 1 : 0;
  arguments.flops = 2.0 * static_cast<double>(dot.n);
  arguments.dram_bytes = 2.0 * static_cast<double>(dot.n) * ElementBytes(type);
  cudaError_t status =
      LaunchMath(sgprs::simgpu::math::MathKernel::kDot, sgprs::simgpu::math::ElementGeometry(dot.n),
                 arguments, handle->stream);
  // A result in host memory is there when the call returns.
  if (status == cudaSuccess && handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    status = cudaStreamSynchronize(handle->stream);
  }
  return StatusOf(status);
}

}  // namespace

#define GEMM(letter, type, element)                                                                \
  STAND_IN_API cublasStatus_t cublas##letter##gemm_v2(                                             \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,     \
      int k, const type* alpha, const type* A, int lda, const type* B, int ldb, const type* beta,  \
      type* C, int ldc) {                                                                          \
    return Gemm(handle, {transa, transb, m, n, k, lda, ldb, ldc}, Same(element), alpha, A, B,      \
                beta, C);                                                                          \
  }                                                                                                \
  STAND_IN_API cublasStatus_t cublas##letter##gemmStridedBatched(                                  \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,     \
      int k, const type* alpha, const type* A, int lda, long long strideA, const type* B, int ldb, \
      long long strideB, const type* beta, type* C, int ldc, long long strideC, int count) {       \
    return Gemm(handle, {transa, transb, m, n, k, lda, ldb, ldc}, Same(element), alpha, A, B,      \
                beta, C, {count, strideA, strideB, strideC, false});                               \
  }                                                                                                \
  STAND_IN_API cublasStatus_t cublas##letter##gemmBatched(                                         \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,     \
      int k, const type* alpha, const type* const A[], int lda, const type* const B[], int ldb,    \
      const type* beta, type* const C[], int ldc, int count) {                                     \
    return Gemm(handle, {transa, transb, m, n, k, lda, ldb, ldc}, Same(element), alpha, A, B,      \
                beta, const_cast<type**>(C), {count, 0, 0, 0, true});                              \
  }                                                                                                \
  STAND_IN_API cublasStatus_t cublas##letter##gemv_v2(                                             \
      cublasHandle_t handle, cublasOperation_t trans, int m, int n, const type* alpha,             \
      const type* A, int lda, const type* x, int incx, const type* beta, type* y, int incy) {      \
    return Gemv(handle, trans, m, n, element, alpha, A, lda, x, incx, beta, y, incy);              \
  }

GEMM(S, float, Element::kFloat)
GEMM(D, double, Element::kDouble)
GEMM(C, cuComplex, Element::kComplexFloat)
GEMM(Z, cuDoubleComplex, Element::kComplexDouble)
#undef GEMM

#define DOT(name, type, element, conjugate)                                                        \
  STAND_IN_API cublasStatus_t cublas##name##_v2(cublasHandle_t handle, int n, const type* x,       \
                                                int incx, const type* y, int incy, type* result) { \
    return Dot(handle, n, x, incx, y, incy, result, element, element, conjugate);                  \
  }

DOT(Sdot, float, Element::kFloat, false)
DOT(Ddot, double, Element::kDouble, false)
DOT(Cdotu, cuComplex, Element::kComplexFloat, false)
DOT(Cdotc, cuComplex, Element::kComplexFloat, true)
DOT(Zdotu, cuDoubleComplex, Element::kComplexDouble, false)
DOT(Zdotc, cuDoubleComplex, Element::kComplexDouble, true)
#undef DOT

STAND_IN_API cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x,
                                        cudaDataType xType, int incx, const void* y,
                                        cudaDataType yType, int incy, void* result,
                                        cudaDataType resultType, cudaDataType) {
  if (!IsElement(xType) || xType != yType || !IsElement(resultType)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return Dot(handle, n, x, incx, y, incy, result, static_cast<Element>(xType),
             static_cast<Element>(resultType), false);
}

STAND_IN_API cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const float* alpha, const void* A, cudaDataType Atype,
                                          int lda, const void* B, cudaDataType Btype, int ldb,
                                          const float* beta, void* C, cudaDataType Ctype, int ldc) {
  return GemmOfTypes(handle, {transa, transb, m, n, k, lda, ldb, ldc}, alpha, A, Atype, B, Btype,
                     beta, C, Ctype, CUBLAS_COMPUTE_32F, {});
}
STAND_IN_API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const void* alpha, const void* A, cudaDataType Atype,
                                         int lda, const void* B, cudaDataType Btype, int ldb,
                                         const void* beta, void* C, cudaDataType Ctype, int ldc,
                                         cublasComputeType_t compute, cublasGemmAlgo_t) {
  return GemmOfTypes(handle, {transa, transb, m, n, k, lda, ldb, ldc}, alpha, A, Atype, B, Btype,
                     beta, C, Ctype, compute, {});
}
STAND_IN_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
    cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype,
    int ldc, long long strideC, int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return GemmOfTypes(handle, {transa, transb, m, n, k, lda, ldb, ldc}, alpha, A, Atype, B, Btype,
                     beta, C, Ctype, compute, {count, strideA, strideB, strideC, false});
}
