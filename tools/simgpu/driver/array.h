// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: device memory with a shape, row after row without gaps. Textures and surfaces of
// them are not simulated.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_ARRAY_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_ARRAY_H_

#include <cstddef>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/objects.h"

namespace sgprs::simgpu::driver {

struct Array {
  Context* root = nullptr;
  uint32_t generation = 0;  // of the root, when the array was made
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  CUdeviceptr memory = 0;
  size_t element_bytes = 0;
  size_t row_bytes = 0;
  size_t rows = 1;
  size_t slices = 1;
  bool of_mipmap = false;  // a level: not the program's to destroy

  size_t slice_bytes() const { return row_bytes * rows; }
};

struct MipmappedArray {
  Context* root = nullptr;
  uint32_t generation = 0;
  std::vector<Array*> levels;
};

// The array behind a handle; INVALID_HANDLE: none, or its context was reset.
CUresult FindArray(CUarray handle, Array** array);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_ARRAY_H_
