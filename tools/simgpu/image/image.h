// SPDX-License-Identifier: Apache-2.0
// What the stand-in driver needs to know of a code image: kernels with their parameters, and global
// variables. Reads PTX text, cubin (ELF, .nv.info) and fat binaries (plain, lz4 and zstd members).
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_IMAGE_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace sgprs::simgpu {

struct ImageParam {
  uint32_t offset_bytes;
  uint32_t size_bytes;
};

struct ImageKernel {
  std::string name;
  std::vector<ImageParam> params;
  uint32_t registers = 0;  // per thread, 0 = unknown (PTX)
  uint32_t static_shared_bytes = 0;
  uint32_t max_threads = 1024;  // .maxntid / EIATTR_MAX_THREADS
  uint32_t local_bytes = 0;
  uint32_t const_bytes = 0;
};

struct ImageGlobal {
  std::string name;
  uint64_t size_bytes = 0;
  std::vector<uint8_t> initial;  // empty = zeroes
  bool constant = false;
};

struct Image {
  std::vector<ImageKernel> kernels;
  std::vector<ImageGlobal> globals;
  uint32_t compute = 0;  // sm_75 -> 75; 0 = unknown
};

// Reads the image at `data`. `size_bytes` 0 = unknown, as in cuModuleLoadData: PTX ends at its NUL,
// ELF and fat binaries know their own size; a parser never reads beyond what those headers say.
// Of a fat binary the best member for `compute` (75 = 7.5) is taken: newest cubin of that major
// with minor <= asked, else the newest PTX with arch <= asked.
// Errors: not an image, damaged, no member for this device. Thread: any; never keeps `data`.
Result<Image> ReadImage(const void* data, size_t size_bytes, uint32_t compute);

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_IMAGE_H_
