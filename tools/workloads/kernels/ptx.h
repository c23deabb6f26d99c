// SPDX-License-Identifier: Apache-2.0
// The kernels, as the PTX text that is inside these programs.
#ifndef SGPRS_TOOLS_WORKLOADS_KERNELS_PTX_H_
#define SGPRS_TOOLS_WORKLOADS_KERNELS_PTX_H_

extern "C" {
extern const char workload_network_ptx[];
extern const char workload_probe_ptx[];
}

#endif  // SGPRS_TOOLS_WORKLOADS_KERNELS_PTX_H_
