// SPDX-License-Identifier: Apache-2.0
// Where a job of known length is cut.
#ifndef SGPRS_RUNTIME_SCHED_STAGE_CUTS_H_
#define SGPRS_RUNTIME_SCHED_STAGE_CUTS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sgprs::sched {

// Ends (exclusive) of min(chunks, length) equal pieces of [0, length); the last is `length`.
std::vector<uint64_t> EqualCuts(uint64_t length, uint32_t chunks);

// Groups neighbouring chunks into min(stages, chunks) stages so that the longest stage is as short
// as possible. `chunk_ends` as from EqualCuts, `chunk_ns` the time of each. Returns for every stage
// how many chunks lie before its end; the last is the number of chunks.
std::vector<uint32_t> BalancedGroups(std::span<const uint64_t> chunk_ns, uint32_t stages);

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_STAGE_CUTS_H_
