// SPDX-License-Identifier: Apache-2.0
// Environment variables by identifier; the list is environment.inc.
#ifndef SGPRS_RUNTIME_BASE_ENVIRONMENT_H_
#define SGPRS_RUNTIME_BASE_ENVIRONMENT_H_

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace sgprs::env {

#define SGPRS_ENV(identifier, name, help) inline constexpr const char* identifier = name;
#include "runtime/base/environment.inc"
#undef SGPRS_ENV

// Value of the variable, or nullptr if it is unset or empty.
inline const char* Get(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

// Directory of the sockets: $SGPRS_RUNTIME_DIR, else /run/sgprs for root, else
// $XDG_RUNTIME_DIR/sgprs, else /tmp/sgprs-UID. Does not make it.
inline std::string RuntimeDir() {
  if (const char* dir = Get(kRuntimeDir)) return dir;
  if (geteuid() == 0) return "/run/sgprs";
  if (const char* xdg = Get("XDG_RUNTIME_DIR")) return std::string(xdg) + "/sgprs";
  return "/tmp/sgprs-" + std::to_string(geteuid());
}
inline std::string ControlSocketPath() {
  const char* path = Get(kSocket);
  return path != nullptr ? path : RuntimeDir() + "/control.sock";
}
inline std::string SimgpuSocketPath() {
  const char* path = Get(kSimgpuSocket);
  return path != nullptr ? path : RuntimeDir() + "/simgpu.sock";
}

}  // namespace sgprs::env

#endif  // SGPRS_RUNTIME_BASE_ENVIRONMENT_H_
