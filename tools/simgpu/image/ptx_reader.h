// SPDX-License-Identifier: Apache-2.0
// Reads what a driver must know of PTX text: kernels, parameters, memory, module variables.
// It is no assembler: instructions are only looked through for the names that they use.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_PTX_READER_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_PTX_READER_H_

#include <cstdint>
#include <string_view>

#include "runtime/base/result.h"
#include "tools/simgpu/image/image.h"

namespace sgprs::simgpu {

// `text` without a closing NUL. `compute` as in ReadImage; 0 = any device will do. Errors: kInvalid
// with the line, kNotFound for a `.target` that the device can not run. Thread: any; keeps nothing
// of `text`.
Result<Image> ReadPtx(std::string_view text, uint32_t compute);

// Does the text begin (after blanks and comments) as PTX does, with `.version`?
bool LooksLikePtx(std::string_view text);

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_PTX_READER_H_
