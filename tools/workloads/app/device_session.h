// SPDX-License-Identifier: Apache-2.0
// Driver, device 0 and its primary context, for the life of a program.
#ifndef SGPRS_TOOLS_WORKLOADS_APP_DEVICE_SESSION_H_
#define SGPRS_TOOLS_WORKLOADS_APP_DEVICE_SESSION_H_

#include <string>

#include "tools/workloads/driver/cuda_api.h"

namespace workloads {

// The context is current in the thread that opened it; other threads call MakeCurrent().
class DeviceSession {
 public:
  DeviceSession() = default;
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  // Once. False, after one line on stderr: no driver. Driver errors end the program (Check).
  bool Open(DriverEntry entry);
  void MakeCurrent() const;

  const CudaApi& api() const { return api_; }
  const std::string& device_name() const { return device_name_; }

 private:
  CudaApi api_{};
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string device_name_;
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_APP_DEVICE_SESSION_H_
