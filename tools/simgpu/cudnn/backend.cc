// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cudnn/backend.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace sgprs::simgpu::cudnn {
namespace {

Descriptor* Of(cudnnBackendDescriptor_t descriptor) { return static_cast<Descriptor*>(descriptor); }

void SetInteger(State* state, cudnnBackendAttributeName_t name, int64_t value) {
  Attribute& attribute = state->attributes[name];
  attribute.type = CUDNN_TYPE_INT64;
  attribute.count = 1;
  attribute.bytes.resize(sizeof(value));
  memcpy(attribute.bytes.data(), &value, sizeof(value));
}

void SetDescriptors(State* state, cudnnBackendAttributeName_t name,
                    std::vector<std::shared_ptr<const State>> states) {
  Attribute& attribute = state->attributes[name];
  attribute.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  attribute.count = static_cast<int64_t>(states.size());
  attribute.states = std::move(states);
}

// The one way to run a graph: engine 0, no knobs.
std::shared_ptr<const State> OneConfiguration(std::shared_ptr<const State> graph) {
  auto engine = std::make_shared<State>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->finalised = true;
  SetDescriptors(engine.get(), CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {std::move(graph)});
  SetInteger(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
  auto configuration = std::make_shared<State>();
  configuration->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  configuration->finalised = true;
  SetDescriptors(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, {std::move(engine)});
  return configuration;
}

cudnnStatus_t FinaliseGraph(State* state) {
  if (state->Find(CUDNN_ATTR_OPERATIONGRAPH_OPS) == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  SetInteger(state, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT,
             CheckGraph(*state) == CUDNN_STATUS_SUCCESS ? 1 : 0);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinaliseHeuristics(State* state) {
  auto graph = state->Descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (cudnnStatus_t bad = CheckGraph(*graph)) return bad;
  SetDescriptors(state, CUDNN_ATTR_ENGINEHEUR_RESULTS, {OneConfiguration(graph)});
  return CUDNN_STATUS_SUCCESS;
}

// An engine that the program names itself: fallback lists do.
cudnnStatus_t FinaliseEngine(State* state) {
  auto graph = state->Descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const std::vector<int64_t> index = state->Integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  if (index.size() != 1 || index[0] != 0) return CUDNN_STATUS_NOT_SUPPORTED;
  return CheckGraph(*graph);
}

cudnnStatus_t FinalisePlan(State* state) {
  if (state->Descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  SetInteger(state, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Finalise(State* state) {
  switch (state->type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return FinaliseGraph(state);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return FinaliseHeuristics(state);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return FinaliseEngine(state);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return FinalisePlan(state);
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

// Descriptors are returned by filling those that the caller made.
cudnnStatus_t GetDescriptors(const Attribute& attribute, int64_t room, int64_t* count,
                             void* elements) {
  if (count != nullptr) *count = attribute.count;
  if (elements == nullptr) return CUDNN_STATUS_SUCCESS;
  auto* out = static_cast<cudnnBackendDescriptor_t*>(elements);
  for (int64_t i = 0; i < std::min(room, attribute.count); ++i) {
    if (out[i] == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const State& from = *attribute.states[static_cast<size_t>(i)];
    if (Of(out[i])->state->type != from.type) return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
    Of(out[i])->state = std::make_shared<State>(from);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

const Attribute* State::Find(cudnnBackendAttributeName_t name) const {
  auto it = attributes.find(name);
  return it != attributes.end() ? &it->second : nullptr;
}

std::shared_ptr<const State> State::Descriptor(cudnnBackendAttributeName_t name) const {
  const Attribute* attribute = Find(name);
  return attribute != nullptr && attribute->states.size() == 1 ? attribute->states[0] : nullptr;
}

std::vector<int64_t> State::Integers(cudnnBackendAttributeName_t name) const {
  const Attribute* attribute = Find(name);
  if (attribute == nullptr || attribute->type != CUDNN_TYPE_INT64) return {};
  std::vector<int64_t> values(static_cast<size_t>(attribute->count));
  memcpy(values.data(), attribute->bytes.data(), values.size() * sizeof(int64_t));
  return values;
}

double State::Real(cudnnBackendAttributeName_t name, double otherwise) const {
  const Attribute* attribute = Find(name);
  if (attribute == nullptr || attribute->count != 1) return otherwise;
  if (attribute->type == CUDNN_TYPE_DOUBLE) {
    memcpy(&otherwise, attribute->bytes.data(), sizeof(otherwise));
  } else if (attribute->type == CUDNN_TYPE_FLOAT) {
    float value;
    memcpy(&value, attribute->bytes.data(), sizeof(value));
    otherwise = static_cast<double>(value);
  }
  return otherwise;
}

size_t AttributeBytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 0;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_FRACTION:
      return 8;
    default:  // enumerations, float, int32
      return 4;
  }
}

}  // namespace sgprs::simgpu::cudnn

using namespace sgprs::simgpu::cudnn;  // NOLINT: the API's functions have no namespace

STAND_IN_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                        cudnnBackendDescriptor_t* out) {
  if (out == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  auto* descriptor = new Descriptor{std::make_shared<State>()};
  descriptor->state->type = type;
  *out = descriptor;
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete Of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                                    cudnnBackendAttributeName_t name,
                                                    cudnnBackendAttributeType_t type, int64_t count,
                                                    const void* elements) {
  if (descriptor == nullptr || (elements == nullptr && count > 0) || count < 0) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  State& state = *Of(descriptor)->state;
  if (state.finalised) return CUDNN_STATUS_NOT_INITIALIZED;
  Attribute attribute;
  attribute.type = type;
  attribute.count = count;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* given = static_cast<const cudnnBackendDescriptor_t*>(elements);
    for (int64_t i = 0; i < count; ++i) {
      if (given[i] == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
      if (!Of(given[i])->state->finalised) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
      attribute.states.push_back(Of(given[i])->state);
    }
  } else {
    const auto* bytes = static_cast<const unsigned char*>(elements);
    attribute.bytes.assign(bytes, bytes + static_cast<size_t>(count) * AttributeBytes(type));
  }
  state.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                                    cudnnBackendAttributeName_t name,
                                                    cudnnBackendAttributeType_t type, int64_t room,
                                                    int64_t* count, void* elements) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const State& state = *Of(descriptor)->state;
  if (!state.finalised) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  const Attribute* attribute = state.Find(name);
  if (attribute == nullptr) {  // notes, knobs, intermediates: there are none
    if (count != nullptr) *count = 0;
    return CUDNN_STATUS_SUCCESS;
  }
  if (attribute->type != type) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    return GetDescriptors(*attribute, room, count, elements);
  }
  if (count != nullptr) *count = attribute->count;
  if (elements != nullptr && room > 0) {
    memcpy(elements, attribute->bytes.data(),
           static_cast<size_t>(std::min(room, attribute->count)) * AttributeBytes(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

STAND_IN_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  State& state = *Of(descriptor)->state;
  if (state.finalised) return CUDNN_STATUS_SUCCESS;
  const cudnnStatus_t status = Finalise(&state);
  state.finalised = status == CUDNN_STATUS_SUCCESS;
  return status;
}

STAND_IN_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                               cudnnBackendDescriptor_t pack) {
  if (handle == nullptr || plan == nullptr || pack == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (!Of(plan)->state->finalised || !Of(pack)->state->finalised) {
    return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  }
  return RunPlan(*Of(plan)->state, *Of(pack)->state, handle->stream);
}
