// SPDX-License-Identifier: Apache-2.0
// What a node does, from and to the API's general form (CUgraphNodeParams). The calls for one type
// of node fill that form.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_CONTENT_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_CONTENT_H_

#include "tools/simgpu/driver/graph.h"

namespace sgprs::simgpu::driver {

// Checks and builds. `attributes`: of a kernel, as set on the node before. `params` is written
// where the API says so (the address of an allocation).
CUresult MakeContent(CUgraphNodeParams* params, const std::vector<CUlaunchAttribute>& attributes,
                     NodeContent* content);
// Pointers in the result are good while the node is and does not change.
CUresult DescribeContent(GraphNode* node, CUgraphNodeParams* params);
// A kernel node's attributes are `attributes` from now on.
CUresult SetKernelAttributes(GraphNode* node, const std::vector<CUlaunchAttribute>& attributes);

// May `next` take the place of `now` in an executable? Same type is for the caller to see.
CUresult CheckReplacement(const NodeContent& now, const NodeContent& next);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_GRAPH_CONTENT_H_
