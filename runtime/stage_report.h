// SPDX-License-Identifier: Apache-2.0
// What the stages of a task are made of, for `sgprs tasks --stages`.
#ifndef SGPRS_RUNTIME_STAGE_REPORT_H_
#define SGPRS_RUNTIME_STAGE_REPORT_H_

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/client.h"
#include "runtime/sched/scheduler.h"
#include "sgprs/abi/job_log.h"

namespace sgprs::runtime {

// {"task","signature","profiled","stages":[{"launches","costs":[{"sms","ns"}],
// "kernels":[{"name","launches"}]}]}, the kernels that a stage launches most, by their short names;
// "kernels" is empty where no whole job lies in the lane. At most SGPRS_CONTROL_TEXT_BYTES. Thread:
// the loop's; reads the lane's slots once. Error kUnavailable: the task has no stages yet.
Result<std::string> StageReport(const Client& client, const sched::Scheduler& scheduler);

// For the job log: a row for each stage. Empty: not known yet, or no whole job lies in the lane.
// Thread and cost as above.
std::vector<SgprsLogStageKernels> KernelsOfStages(const Client& client,
                                                  const sched::Scheduler& scheduler);

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_STAGE_REPORT_H_
