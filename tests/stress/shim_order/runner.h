// SPDX-License-Identifier: Apache-2.0
// Runs programs through the driver API.
#ifndef SGPRS_TESTS_STRESS_SHIM_ORDER_RUNNER_H_
#define SGPRS_TESTS_STRESS_SHIM_ORDER_RUNNER_H_

#include "tests/stress/shim_order/program.h"

namespace shim_order {

// Initialises the driver and makes the primary context of device 0 current. Ends the program on any
// error, as everything here does: exit code 3, one line on stderr.
void OpenDevice();

struct RunOptions {
  // The launch that is operation i runs the kernel so_step_i, so that the device's log tells them
  // apart.
  bool named = false;
  // No stream waits for an event: the program is broken, and a checker has to find out.
  bool without_waits = false;
};

// Runs one program, its threads at once. Blocks until all is over.
Results Run(const Program& program, const RunOptions& options);

}  // namespace shim_order

#endif  // SGPRS_TESTS_STRESS_SHIM_ORDER_RUNNER_H_
