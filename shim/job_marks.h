// SPDX-License-Identifier: Apache-2.0
// Jobs that the program marks itself: include/sgprs/sgprs.h, NVTX ranges.
#ifndef SGPRS_SHIM_JOB_MARKS_H_
#define SGPRS_SHIM_JOB_MARKS_H_

namespace sgprs::shim {

// The calling thread's next launch begins a job / the job is over. Any thread, never blocks.
void JobBegins();
void JobEnds();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_JOB_MARKS_H_
