// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/device_session.h"

#include <cerrno>
#include <cstdio>

namespace workloads {

bool DeviceSession::Open(DriverEntry entry) {
  std::string error;
  if (!OpenDriver(entry, &api_, &error)) {
    std::fprintf(stderr, "%s: no CUDA driver: %s\n", program_invocation_short_name, error.c_str());
    return false;
  }
  Check(api_, api_.cuInit(0), "cuInit");
  Check(api_, api_.cuDeviceGet(&device_, 0), "device 0");
  char name[256] = "";
  Check(api_, api_.cuDeviceGetName(name, sizeof(name), device_), "name of device 0");
  device_name_ = name;
  Check(api_, api_.cuDevicePrimaryCtxRetain(&context_, device_), "primary context");
  MakeCurrent();
  return true;
}

void DeviceSession::MakeCurrent() const {
  Check(api_, api_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

DeviceSession::~DeviceSession() {
  if (context_ == nullptr) return;
  api_.cuCtxSetCurrent(nullptr);
  api_.cuDevicePrimaryCtxRelease(device_);
}

}  // namespace workloads
