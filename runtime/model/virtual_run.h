// SPDX-License-Identifier: Apache-2.0
// Runs a scenario in virtual time: the scheduler core and the policies of sgprsd, the very same
// objects, over the fluid model of the device and a model of the applications.
//
// Pure: no clock, thread or I/O; the same scenario gives the same result, bit for bit. Several
// runs may go on in several threads.
#ifndef SGPRS_RUNTIME_MODEL_VIRTUAL_RUN_H_
#define SGPRS_RUNTIME_MODEL_VIRTUAL_RUN_H_

#include "runtime/base/result.h"
#include "runtime/model/scenario.h"
#include "runtime/model/sim_result.h"

namespace sgprs::model {

struct RunOptions {
  bool keep_jobs = false;    // fill SimResult::jobs
  bool keep_stages = false;  // fill SimResult::stages (270 000 rows a minute at N = 30)
  bool switch_loss = false;  // fill LossTable::switch_fps: a second run, in which grants are free
  // Only rows of jobs and stages that touch [from, to) of the run are kept.
  uint64_t keep_from_ns = 0;
  uint64_t keep_to_ns = UINT64_MAX;
};

// Errors: kNotFound (device, network, policy), kInvalid (pool, options); the text names it.
Result<SimResult> Run(const Scenario& scenario, const RunOptions& options = {});

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_VIRTUAL_RUN_H_
