// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cublas/lt_descriptor.h"

#include <cstring>
#include <new>

using sgprs::simgpu::cublas::LtLayout;
using sgprs::simgpu::cublas::LtMatmul;
using sgprs::simgpu::cublas::Of;

namespace {

struct Place {
  void* at = nullptr;  // null: an attribute that nothing here depends on
  size_t bytes = 0;
};

Place Find(LtLayout* layout, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return {&layout->type, sizeof(layout->type)};
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return {&layout->order, sizeof(layout->order)};
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return {&layout->rows, sizeof(layout->rows)};
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return {&layout->columns, sizeof(layout->columns)};
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return {&layout->ld, sizeof(layout->ld)};
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return {&layout->batch, sizeof(layout->batch)};
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return {&layout->stride, sizeof(layout->stride)};
    default:
      return {};
  }
}

Place Find(LtMatmul* matmul, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return {&matmul->compute, sizeof(matmul->compute)};
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return {&matmul->scale, sizeof(matmul->scale)};
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return {&matmul->pointer_mode, sizeof(matmul->pointer_mode)};
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return {&matmul->op_a, sizeof(matmul->op_a)};
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return {&matmul->op_b, sizeof(matmul->op_b)};
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return {&matmul->op_c, sizeof(matmul->op_c)};
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return {&matmul->epilogue, sizeof(matmul->epilogue)};
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return {&matmul->bias, sizeof(matmul->bias)};
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return {&matmul->bias_type, sizeof(matmul->bias_type)};
    default:
      return {};
  }
}

cublasStatus_t Set(const Place& place, const void* from, size_t bytes) {
  if (from == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (place.at == nullptr) return CUBLAS_STATUS_SUCCESS;
  if (bytes != place.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(place.at, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Get(const Place& place, void* to, size_t bytes, size_t* written) {
  if (bytes == 0) {
    if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *written = place.bytes;
    return CUBLAS_STATUS_SUCCESS;
  }
  if (to == nullptr || place.at == nullptr || bytes != place.bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  memcpy(to, place.at, bytes);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

STAND_IN_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                                       cudaDataType type, uint64_t rows,
                                                       uint64_t cols, int64_t ld) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new (std::nothrow) cublasLtMatrixLayoutOpaque_t{};
  if (*layout == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  *Of(*layout) = LtLayout{static_cast<uint32_t>(type), CUBLASLT_ORDER_COL, rows, cols, ld, 1, 0, 0};
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* from,
    size_t bytes) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return Set(Find(Of(layout), attribute), from, bytes);
}
STAND_IN_API cublasStatus_t cublasLtMatrixLayoutGetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, void* to,
    size_t bytes, size_t* written) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return Get(Find(Of(layout), attribute), to, bytes, written);
}

STAND_IN_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc,
                                                     cublasComputeType_t compute,
                                                     cudaDataType_t scale) {
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = new (std::nothrow) cublasLtMatmulDescOpaque_t{};
  if (*desc == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  LtMatmul* matmul = Of(*desc);
  matmul->compute = compute;
  matmul->scale = scale;
  matmul->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  matmul->bias_type = -1;
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                           cublasLtMatmulDescAttributes_t attribute,
                                                           const void* from, size_t bytes) {
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return Set(Find(Of(desc), attribute), from, bytes);
}
STAND_IN_API cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                                           cublasLtMatmulDescAttributes_t attribute,
                                                           void* to, size_t bytes,
                                                           size_t* written) {
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return Get(Find(Of(desc), attribute), to, bytes, written);
}

// Preferences choose between algorithms; here there is one, without workspace.
STAND_IN_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  if (pref == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *pref = new (std::nothrow) cublasLtMatmulPreferenceOpaque_t{};
  return *pref != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
STAND_IN_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  delete pref;
  return CUBLAS_STATUS_SUCCESS;
}
STAND_IN_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t, const void* from,
    size_t) {
  return pref != nullptr && from != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
