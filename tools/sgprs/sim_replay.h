// SPDX-License-Identifier: Apache-2.0
// `sgprs sim --replay`: what a recorded trace would have been under another policy. Releases,
// stages and their times are the trace's; who runs where and when is decided anew.
//
// The times were measured beside whatever else ran then, so contention is in them already and the
// model adds its own: the recorded policy is replayed too, as the one to compare with.
#ifndef SGPRS_TOOLS_SGPRS_SIM_REPLAY_H_
#define SGPRS_TOOLS_SGPRS_SIM_REPLAY_H_

#include <cstddef>

#include "runtime/base/result.h"
#include "runtime/model/scenario.h"
#include "tools/sgprs/sim_report.h"
#include "tools/sgprs/trace_reader.h"

namespace sgprs::cli {

// The part of a trace that can be replayed: whole jobs after their task was learnt.
struct ReplayInput {
  model::Scenario scenario;   // everything but the policy
  model::SimResult recorded;  // what the trace itself says of these jobs, with rows
  size_t jobs = 0;            // taken
  size_t jobs_left_out = 0;   // learning, or not whole
};

// `device`: name of a modelled device, empty = the trace's own. Errors kInvalid: no job to replay,
// a device that is not modelled.
Result<ReplayInput> MakeReplay(const RecordedTrace& trace, const std::string& device);

Result<SimReport> ReplayReport(const SimOptions& options);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SIM_REPLAY_H_
