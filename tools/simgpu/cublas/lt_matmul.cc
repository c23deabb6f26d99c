// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul and the choice of its one algorithm.
#include <cstring>

#include "tools/simgpu/cublas/lt_descriptor.h"
#include "tools/simgpu/math/launcher.h"

using sgprs::simgpu::cublas::LtLayout;
using sgprs::simgpu::cublas::LtMatmul;
using sgprs::simgpu::cublas::Of;
using sgprs::simgpu::math::Activation;
using sgprs::simgpu::math::Element;
using sgprs::simgpu::math::ElementBytes;
using sgprs::simgpu::math::GemmArguments;

namespace {

bool IsElement(uint32_t type) { return ElementBytes(static_cast<Element>(type)) != 0; }

// False: an epilogue that is not simulated.
bool ReadEpilogue(const LtMatmul& matmul, GemmArguments* gemm) {
  switch (matmul.epilogue & ~static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS)) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT:
      break;
    case CUBLASLT_EPILOGUE_RELU:
      gemm->activation = Activation::kRelu;
      break;
    case CUBLASLT_EPILOGUE_GELU:
      gemm->activation = Activation::kGelu;
      break;
    default:
      return false;
  }
  if ((matmul.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) gemm->bias = matmul.bias;
  return true;
}

struct Operands {
  const LtLayout* a;
  const LtLayout* b;
  const LtLayout* c;
  const LtLayout* d;
};

bool IsSupported(const LtMatmul& matmul, const Operands& of) {
  for (const LtLayout* layout : {of.a, of.b, of.c, of.d}) {
    if (layout->order != CUBLASLT_ORDER_COL || !IsElement(layout->type)) return false;
  }
  GemmArguments unused{};
  const bool scale = matmul.scale == CUDA_R_32F || matmul.scale == CUDA_R_64F ||
                     matmul.scale == CUDA_C_32F || matmul.scale == CUDA_C_64F;
  return ReadEpilogue(matmul, &unused) && scale && matmul.op_c == CUBLAS_OP_N;
}

bool IsProduct(const LtMatmul& matmul, const Operands& of) {
  const bool turned_a = matmul.op_a != CUBLAS_OP_N;
  const bool turned_b = matmul.op_b != CUBLAS_OP_N;
  const uint64_t rows = turned_a ? of.a->columns : of.a->rows;
  const uint64_t inner_a = turned_a ? of.a->rows : of.a->columns;
  const uint64_t inner_b = turned_b ? of.b->columns : of.b->rows;
  const uint64_t columns = turned_b ? of.b->rows : of.b->columns;
  return inner_a == inner_b && rows == of.d->rows && columns == of.d->columns &&
         of.a->batch == of.d->batch && of.b->batch == of.d->batch;
}

void ReadScalar(const void* from, int32_t type, double out[2]) {
  float parts[2] = {0, 0};
  switch (type) {
    case CUDA_R_64F:
      memcpy(out, from, sizeof(double));
      return;
    case CUDA_C_64F:
      memcpy(out, from, 2 * sizeof(double));
      return;
    default:
      memcpy(parts, from, type == CUDA_C_32F ? sizeof(parts) : sizeof(parts[0]));
      out[0] = static_cast<double>(parts[0]);
      out[1] = static_cast<double>(parts[1]);
  }
}

GemmArguments Describe(const LtMatmul& matmul, const Operands& of) {
  GemmArguments gemm{};
  gemm.m = static_cast<int64_t>(of.d->rows);
  gemm.n = static_cast<int64_t>(of.d->columns);
  gemm.k = static_cast<int64_t>(matmul.op_a != CUBLAS_OP_N ? of.a->rows : of.a->columns);
  gemm.batch = of.d->batch;
  gemm.lda = of.a->ld;
  gemm.ldb = of.b->ld;
  gemm.ldc = of.c->ld;
  gemm.ldd = of.d->ld;
  gemm.stride_a = of.a->stride;
  gemm.stride_b = of.b->stride;
  gemm.stride_c = of.c->stride;
  gemm.stride_d = of.d->stride;
  gemm.op_a = static_cast<uint32_t>(matmul.op_a);
  gemm.op_b = static_cast<uint32_t>(matmul.op_b);
  gemm.type_a = static_cast<Element>(of.a->type);
  gemm.type_b = static_cast<Element>(of.b->type);
  gemm.type_c = static_cast<Element>(of.c->type);
  gemm.type_d = static_cast<Element>(of.d->type);
  gemm.type_bias = matmul.bias_type < 0 ? gemm.type_d : static_cast<Element>(matmul.bias_type);
  gemm.scale = static_cast<Element>(matmul.scale);
  ReadEpilogue(matmul, &gemm);
  return gemm;
}

}  // namespace

STAND_IN_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one;  // a handle holds nothing
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
STAND_IN_API size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }
STAND_IN_API cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  constexpr int kVersion[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *value = kVersion[type];
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulAlgoCheck(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algo,
    cublasLtMatmulHeuristicResult_t* result) {
  if (desc == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr ||
      result == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *result = cublasLtMatmulHeuristicResult_t{};
  if (algo != nullptr) result->algo = *algo;
  const Operands of{Of(a), Of(b), Of(c), Of(d)};
  if (!IsSupported(*Of(desc), of)) {
    result->state = CUBLAS_STATUS_NOT_SUPPORTED;
  } else if (!IsProduct(*Of(desc), of)) {
    result->state = CUBLAS_STATUS_INVALID_VALUE;
  }
  result->wavesCount = 1;
  return result->state;
}

STAND_IN_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t, int requested, cublasLtMatmulHeuristicResult_t results[],
    int* count) {
  if (count == nullptr || requested <= 0 || results == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle, desc, a, b, c, d, nullptr, &results[0]);
  if (status == CUBLAS_STATUS_SUCCESS) *count = 1;
  return status;
}

STAND_IN_API cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t,
                                                   cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                                   cudaDataType_t, cudaDataType_t, int,
                                                   cublasLtMatmulAlgo_t* algo) {
  if (algo == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *algo = cublasLtMatmulAlgo_t{};
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(
    cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t, const void*, size_t) {
  return algo != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
// The one algorithm: id 0, every setting 0.
STAND_IN_API cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t, void* to, size_t bytes,
    size_t* written) {
  if (algo == nullptr || (to == nullptr && bytes > 0)) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes > 0) memset(to, 0, bytes);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                           const void* alpha, const void* A,
                                           cublasLtMatrixLayout_t a, const void* B,
                                           cublasLtMatrixLayout_t b, const void* beta,
                                           const void* C, cublasLtMatrixLayout_t c, void* D,
                                           cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t*,
                                           void*, size_t, cudaStream_t stream) {
  cublasLtMatmulHeuristicResult_t checked;
  if (cublasStatus_t bad = cublasLtMatmulAlgoCheck(nullptr, desc, a, b, c, d, nullptr, &checked)) {
    return bad;
  }
  if (alpha == nullptr || beta == nullptr || A == nullptr || B == nullptr || D == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const LtMatmul& matmul = *Of(desc);
  GemmArguments gemm = Describe(matmul, {Of(a), Of(b), Of(c), Of(d)});
  gemm.a = A;
  gemm.b = B;
  gemm.c = C;
  gemm.d = D;
  if (matmul.pointer_mode == CUBLASLT_POINTER_MODE_HOST) {
    ReadScalar(alpha, matmul.scale, gemm.alpha);
    ReadScalar(beta, matmul.scale, gemm.beta);
  } else if (matmul.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
    gemm.alpha_at = alpha;
    gemm.beta_at = beta;
  } else {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return LaunchGemm(gemm, stream) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                 : CUBLAS_STATUS_EXECUTION_FAILED;
}
