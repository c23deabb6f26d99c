// SPDX-License-Identifier: Apache-2.0
// Parameters that kernels, programs and host bodies share. Device and host code.
#ifndef SGPRS_TOOLS_WORKLOADS_KERNELS_KERNEL_TYPES_H_
#define SGPRS_TOOLS_WORKLOADS_KERNELS_KERNEL_TYPES_H_

namespace workloads {

// Of convolutions and poolings, one image, NCHW, square kernels.
struct WindowShape {
  int channels_in;
  int height_in;
  int width_in;
  int channels_out;
  int height_out;
  int width_out;
  int kernel;
  int stride;
  int pad;
};

// wl_conv2d: a block makes kConvTile channels of kConvTile pixels.
inline constexpr int kConvTile = 32;
inline constexpr int kConvDepth = 16;
inline constexpr int kConvThreads = 16;     // in x and in y; each thread makes 2x2 outputs
inline constexpr int kFlatThreads = 256;    // element-wise kernels, pooling, depthwise
inline constexpr int kAverageThreads = 64;  // wl_average_pool: one block a channel
inline constexpr int kLinearThreads = 128;

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_KERNELS_KERNEL_TYPES_H_
