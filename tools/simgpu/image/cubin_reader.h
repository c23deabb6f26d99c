// SPDX-License-Identifier: Apache-2.0
// Reads cubins: ELF files of machine 190 (EM_CUDA) with kernels in .text.NAME, their parameters in
// .nv.info.NAME, and variables in .nv.global, .nv.global.init and .nv.constant3.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_CUBIN_READER_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_CUBIN_READER_H_

#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "tools/simgpu/image/image.h"

namespace sgprs::simgpu {

// `compute`: as in ReadImage, 0 = any device will do. Addresses in initial values stay as they are
// in the file (relocations are not applied). Errors: kInvalid damaged, kNotFound for another
// device. Thread: any; keeps nothing of `bytes`.
Result<Image> ReadCubin(std::span<const uint8_t> bytes, uint32_t compute);

bool LooksLikeElf(std::span<const uint8_t> bytes);

// Bytes of the ELF file at `data`, by its own headers; 0 = no ELF file. Reads its header and its
// section table, without bounds: for images whose size the caller does not know.
uint64_t ElfSize(const uint8_t* data);

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_CUBIN_READER_H_
