// SPDX-License-Identifier: Apache-2.0
// What include/sgprs/sgprs.h calls.
#include "runtime/base/clock.h"
#include "shim/session.h"

#define SGPRS_EXPORT extern "C" __attribute__((visibility("default")))

SGPRS_EXPORT void sgprs_shim_job_begin(void) {
  // Relaxed: the launch that reads it comes later on this thread.
  sgprs::shim::TheSession()->job_mark.store(true, std::memory_order_relaxed);
}

SGPRS_EXPORT void sgprs_shim_job_end(void) {
  auto* session = sgprs::shim::TheSession();
  session->after_sync.store(true, std::memory_order_relaxed);
  session->last_call_ns.store(sgprs::NowNs(), std::memory_order_relaxed);
}
