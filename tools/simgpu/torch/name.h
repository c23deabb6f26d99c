// SPDX-License-Identifier: Apache-2.0
// Reading a demangled kernel name: its template, the template's arguments, element types.
#ifndef SGPRS_TOOLS_SIMGPU_TORCH_NAME_H_
#define SGPRS_TOOLS_SIMGPU_TORCH_NAME_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgprs::simgpu::torch {

// Element types by their C++ names.
enum class Type { kFloat, kDouble, kHalf, kBfloat16, kBool, kInt8, kUint8, kInt16, kInt32, kInt64 };

std::optional<Type> TypeOf(std::string_view name);
unsigned BytesOf(Type type);

// "void ns::kernel<A, B<C, D>>(...)": kernel's name without namespaces, and its arguments "A",
// "B<C, D>".
struct KernelName {
  std::string kernel;
  std::vector<std::string> arguments;
};
// Nothing: not a template.
std::optional<KernelName> ParseName(std::string_view demangled);

// The text between `head` and its matching '>', e.g. Inside("X<NonZeroOp<long>>", "NonZeroOp<").
std::optional<std::string> Inside(std::string_view text, std::string_view head);
// The first type in `text` that an element may have; nothing if there is none.
std::optional<Type> FirstType(std::string_view text);

}  // namespace sgprs::simgpu::torch

#endif  // SGPRS_TOOLS_SIMGPU_TORCH_NAME_H_
