// SPDX-License-Identifier: Apache-2.0
// Declarations of PTX variables and parameters, with their sizes and initial bytes.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_PTX_VARIABLE_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_PTX_VARIABLE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/simgpu/image/ptx_tokens.h"

namespace sgprs::simgpu {

struct PtxVariable {
  std::string_view name;  // a piece of the PTX text
  uint64_t size_bytes = 0;
  uint64_t align_bytes = 1;
  std::vector<uint8_t> initial;  // empty or size_bytes long
};

// What one module may ask for, so that a hostile text can not eat the memory of its reader.
inline constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
inline constexpr uint64_t kMaxInitialBytes = uint64_t{1} << 26;

// Reads one declaration, the tokens after the state space (`.global`, `.param` ...) on, up to but
// without ',' ')' or ';'. Addresses of other symbols as initial values become zeroes. Errors land
// in `tokens`; the variable is then of no use. `initial_budget_bytes` shrinks by what is kept.
PtxVariable ReadPtxVariable(PtxTokens& tokens, uint64_t& initial_budget_bytes);

// The same for a list, `.u32 a, b[2];`, up to and with its ';'. Empty after an error.
std::vector<PtxVariable> ReadPtxVariables(PtxTokens& tokens, uint64_t& initial_budget_bytes);

// Rounds up to a power of two.
inline uint64_t AlignUp(uint64_t value, uint64_t align) {
  return (value + align - 1) & ~(align - 1);
}

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_PTX_VARIABLE_H_
