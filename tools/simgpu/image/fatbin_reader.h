// SPDX-License-Identifier: Apache-2.0
// Reads fat binaries: a header (magic 0xBA55ED50), then members, each PTX or cubin, plain or
// compressed with LZ4 or Zstandard.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_FATBIN_READER_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_FATBIN_READER_H_

#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "tools/simgpu/image/image.h"

namespace sgprs::simgpu {

// What the compilers put into a program around a fat binary (__fatBinC_Wrapper_t).
struct FatbinWrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  const void* prelinked;
};
inline constexpr uint32_t kFatbinWrapperMagic = 0x466243b1;

// Takes the best member for `compute` (see ReadImage; 0 = the newest of all). Errors: kInvalid
// damaged, kNotFound no member for the device. Thread: any; keeps nothing of `bytes`.
Result<Image> ReadFatbin(std::span<const uint8_t> bytes, uint32_t compute);

bool LooksLikeFatbin(std::span<const uint8_t> bytes);

// Bytes of the fat binary at `data` by its own header, of which 16 bytes are read; 0 = not one.
uint64_t FatbinSize(const uint8_t* data);

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_FATBIN_READER_H_
