// SPDX-License-Identifier: Apache-2.0
// `sgprsd --simulate`: the device process `simgpu` as a child, if none is alive on its socket.
#ifndef SGPRS_RUNTIME_SIMULATED_DEVICE_H_
#define SGPRS_RUNTIME_SIMULATED_DEVICE_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::runtime {

class SimulatedDevice {
 public:
  // Blocks until the device answers on `socket_path`, 10 s at most. `device`: empty = simgpu's own
  // default. Starts nothing if one answers already. Errors: kNotFound (no program), kUnavailable
  // (it ended or does not answer), kInternal.
  static Result<std::unique_ptr<SimulatedDevice>> Ensure(const std::string& device,
                                                         const std::string& socket_path);
  // Stops the child and waits for it, 5 s at most. A device that was alive before is left alone; so
  // is the child if this process is killed: its clients need it.
  ~SimulatedDevice();

  bool started() const { return pid_ > 0; }
  // Readable when the child is over; -1 if none was started.
  int pidfd() const { return pidfd_.get(); }

 private:
  SimulatedDevice() = default;

  pid_t pid_ = 0;
  UniqueFd pidfd_;
};

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_SIMULATED_DEVICE_H_
