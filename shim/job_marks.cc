// SPDX-License-Identifier: Apache-2.0
#include "shim/job_marks.h"

#include "runtime/base/clock.h"
#include "shim/session.h"

namespace sgprs::shim {

void JobBegins() {
  // Relaxed: the launch that reads it comes later on this thread.
  TheSession()->job_mark.store(true, std::memory_order_relaxed);
}

void JobEnds() {
  Session* session = TheSession();
  session->after_sync.store(true, std::memory_order_relaxed);
  session->last_call_ns.store(NowNs(), std::memory_order_relaxed);
}

}  // namespace sgprs::shim

#define SGPRS_EXPORT extern "C" __attribute__((visibility("default")))

// What include/sgprs/sgprs.h calls.
SGPRS_EXPORT void sgprs_shim_job_begin(void) { sgprs::shim::JobBegins(); }
SGPRS_EXPORT void sgprs_shim_job_end(void) { sgprs::shim::JobEnds(); }
