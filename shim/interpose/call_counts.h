// SPDX-License-Identifier: Apache-2.0
// Counting calls for `sgprs doctor -- CMD`. Off unless $SGPRS_DOCTOR names a directory when the
// first symbol is bound; while off nothing is counted and no call takes another way.
#ifndef SGPRS_SHIM_INTERPOSE_CALL_COUNTS_H_
#define SGPRS_SHIM_INTERPOSE_CALL_COUNTS_H_

#include <cstdint>

#include "sgprs/abi/call_counts.h"

namespace sgprs::shim {

// The file of this process, or nullptr. Any thread.
SgprsCallCounts* CallCounts();
// Opens it at the first call, if asked for.
SgprsCallCounts* OpenCallCounts();

// The calling thread has entered symbol `index`.
void CountCall(uint32_t index);
// What became of the thread's latest call. No-ops while off.
void CountRecorded();
void CountDrained();
void CountEscape(SgprsEscape why);
// A line of text of the header: `said` or `graph_fixed`.
void CountText(char* field, const char* text);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_CALL_COUNTS_H_
