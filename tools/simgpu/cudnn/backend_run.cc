// SPDX-License-Identifier: Apache-2.0
// Operations of the graph API: which are simulated, and their launches.
#include <algorithm>
#include <cstring>

#include "tools/simgpu/cudnn/backend.h"
#include "tools/simgpu/cudnn/convolution.h"

namespace sgprs::simgpu::cudnn {
namespace {

using Name = cudnnBackendAttributeName_t;

// Attributes of one pass.
struct Names {
  Pass pass;
  Name how, x, w, y, alpha, beta;
};

const Names* NamesOf(cudnnBackendDescriptorType_t type) {
  static constexpr Names kForward = {Pass::kForward,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static constexpr Names kData = {Pass::kBackwardData,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static constexpr Names kFilter = {Pass::kBackwardFilter,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return &kForward;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return &kData;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return &kFilter;
    default:
      return nullptr;
  }
}

cudnnStatus_t ReadTensor(const State* state, cudnnTensorStruct* out, int64_t* id) {
  if (state == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const std::vector<int64_t> size = state->Integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> stride = state->Integers(CUDNN_ATTR_TENSOR_STRIDES);
  const std::vector<int64_t> ids = state->Integers(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  const Attribute* type = state->Find(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (size.empty() || size.size() != stride.size() || ids.size() != 1 || type == nullptr ||
      type->bytes.size() != sizeof(out->type)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (size.size() > CUDNN_DIM_MAX) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  memcpy(&out->type, type->bytes.data(), sizeof(out->type));
  out->dims = static_cast<int>(size.size());
  std::copy(size.begin(), size.end(), out->size);
  std::copy(stride.begin(), stride.end(), out->stride);
  *id = ids[0];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t ReadHow(const State* state, cudnnConvolutionStruct* out) {
  if (state == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const std::vector<int64_t> padding = state->Integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const std::vector<int64_t> stride = state->Integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const std::vector<int64_t> dilation = state->Integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  if (padding.size() > CUDNN_DIM_MAX || padding.size() != stride.size() ||
      padding.size() != dilation.size()) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (state->Integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) != padding) {
    return CUDNN_STATUS_NOT_SUPPORTED_PADDING;
  }
  out->dims = static_cast<int>(padding.size());
  std::copy(padding.begin(), padding.end(), out->padding);
  std::copy(stride.begin(), stride.end(), out->stride);
  std::copy(dilation.begin(), dilation.end(), out->dilation);
  return CUDNN_STATUS_SUCCESS;
}

struct Ids {
  int64_t x, w, y;
};

cudnnStatus_t ReadConvolution(const State& operation, const Names& names, Convolution* out,
                              Ids* ids) {
  out->pass = names.pass;
  if (cudnnStatus_t bad = ReadHow(operation.Descriptor(names.how).get(), &out->how)) return bad;
  if (cudnnStatus_t bad = ReadTensor(operation.Descriptor(names.x).get(), &out->x, &ids->x)) {
    return bad;
  }
  if (cudnnStatus_t bad = ReadTensor(operation.Descriptor(names.w).get(), &out->w, &ids->w)) {
    return bad;
  }
  if (cudnnStatus_t bad = ReadTensor(operation.Descriptor(names.y).get(), &out->y, &ids->y)) {
    return bad;
  }
  // The graph API has no group count: the shapes say it.
  if (out->x.dims >= 2 && out->w.dims >= 2 && out->w.size[1] > 0) {
    out->how.groups = static_cast<int>(out->x.size[1] / out->w.size[1]);
  }
  out->alpha = operation.Real(names.alpha, 1);
  out->beta = operation.Real(names.beta, 0);
  return Check(*out);
}

void* PointerOf(const State& pack, int64_t id) {
  const std::vector<int64_t> ids = pack.Integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const Attribute* pointers = pack.Find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size() && pointers != nullptr; ++i) {
    if (ids[i] != id || (i + 1) * sizeof(void*) > pointers->bytes.size()) continue;
    void* pointer;
    memcpy(&pointer, pointers->bytes.data() + i * sizeof(pointer), sizeof(pointer));
    return pointer;
  }
  return nullptr;  // a virtual tensor: it stays inside the fused kernel
}

}  // namespace

cudnnStatus_t CheckGraph(const State& graph) {
  const Attribute* operations = graph.Find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (operations == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  bool convolves = false;
  for (const auto& operation : operations->states) {
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) continue;
    const Names* names = NamesOf(operation->type);
    if (names == nullptr) return CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
    Convolution unused;
    Ids ids;
    if (cudnnStatus_t bad = ReadConvolution(*operation, *names, &unused, &ids)) return bad;
    convolves = true;
  }
  return convolves ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
}

cudnnStatus_t RunPlan(const State& plan, const State& pack, cudaStream_t stream) {
  auto configuration = plan.Descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  auto engine =
      configuration != nullptr ? configuration->Descriptor(CUDNN_ATTR_ENGINECFG_ENGINE) : nullptr;
  auto graph = engine != nullptr ? engine->Descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) : nullptr;
  const Attribute* operations =
      graph != nullptr ? graph->Find(CUDNN_ATTR_OPERATIONGRAPH_OPS) : nullptr;
  if (operations == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  for (const auto& operation : operations->states) {
    const Names* names = NamesOf(operation->type);
    if (names == nullptr) continue;  // pointwise: fused, its time is the convolution's
    Convolution convolution;
    Ids ids;
    if (cudnnStatus_t bad = ReadConvolution(*operation, *names, &convolution, &ids)) return bad;
    convolution.x_data = PointerOf(pack, ids.x);
    convolution.w_data = PointerOf(pack, ids.w);
    convolution.y_data = PointerOf(pack, ids.y);
    if (cudnnStatus_t bad = Launch(convolution, stream)) return bad;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace sgprs::simgpu::cudnn
