// SPDX-License-Identifier: Apache-2.0
// CUuserObject: something of the program's that graphs keep alive.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_USER_OBJECT_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_USER_OBJECT_H_

#include <atomic>

#include "tools/simgpu/driver/api.h"

namespace sgprs::simgpu::driver {

struct UserObject {
  void* data = nullptr;
  CUhostFn destroy = nullptr;
  std::atomic<uint64_t> references{0};
};

void RetainUserObject(UserObject* object, unsigned int count);
// The last one runs the destructor, on this thread, where it may make no driver calls.
void ReleaseUserObject(UserObject* object, unsigned int count);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_USER_OBJECT_H_
