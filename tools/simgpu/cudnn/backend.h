// SPDX-License-Identifier: Apache-2.0
// Descriptors of cuDNN's graph API: attributes as they were set. A descriptor is a handle to a
// state that others may hold too: what was set into another descriptor outlives its own handle.
#ifndef SGPRS_TOOLS_SIMGPU_CUDNN_BACKEND_H_
#define SGPRS_TOOLS_SIMGPU_CUDNN_BACKEND_H_

#include <map>
#include <memory>
#include <vector>

#include "tools/simgpu/cudnn/api.h"

namespace sgprs::simgpu::cudnn {

struct State;

struct Attribute {
  cudnnBackendAttributeType_t type;
  int64_t count = 0;
  std::vector<unsigned char> bytes;                  // but descriptors
  std::vector<std::shared_ptr<const State>> states;  // CUDNN_TYPE_BACKEND_DESCRIPTOR
};

// Changed until it is finalised, by one thread at a time, as the API asks.
struct State {
  cudnnBackendDescriptorType_t type;
  bool finalised = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;

  const Attribute* Find(cudnnBackendAttributeName_t name) const;
  // The one descriptor, or nullptr.
  std::shared_ptr<const State> Descriptor(cudnnBackendAttributeName_t name) const;
  std::vector<int64_t> Integers(cudnnBackendAttributeName_t name) const;
  // A float or double; `otherwise` if it is not set.
  double Real(cudnnBackendAttributeName_t name, double otherwise) const;
};

struct Descriptor {
  std::shared_ptr<State> state;
};

// Bytes of one element of an attribute; 0: descriptors, or a type that is not known.
size_t AttributeBytes(cudnnBackendAttributeType_t type);

// Whether this operation graph is one that is simulated: convolutions, and pointwise operations
// beside them. SUCCESS or NOT_SUPPORTED_GRAPH_PATTERN, or what is wrong with a convolution.
cudnnStatus_t CheckGraph(const State& graph);
// Launches the plan's operations with the pack's pointers.
cudnnStatus_t RunPlan(const State& plan, const State& pack, cudaStream_t stream);

}  // namespace sgprs::simgpu::cudnn

#endif  // SGPRS_TOOLS_SIMGPU_CUDNN_BACKEND_H_
