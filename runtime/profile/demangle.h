// SPDX-License-Identifier: Apache-2.0
// Names of kernels as people read them.
#ifndef SGPRS_RUNTIME_PROFILE_DEMANGLE_H_
#define SGPRS_RUNTIME_PROFILE_DEMANGLE_H_

#include <string>

namespace sgprs::profile {

// "at::native::fill<float>(float*)" of a C++ symbol; any other name, and one that was cut, as it
// is.
std::string Demangle(const std::string& name);

// The same without arguments and template arguments, of a demangled name, too: "at::native::fill".
std::string ShortName(const std::string& name);

}  // namespace sgprs::profile

#endif  // SGPRS_RUNTIME_PROFILE_DEMANGLE_H_
