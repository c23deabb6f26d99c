// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/stage_cuts.h"

#include <algorithm>

namespace sgprs::sched {

std::vector<uint64_t> EqualCuts(uint64_t length, uint32_t chunks) {
  const uint64_t count = std::min<uint64_t>(length, chunks);
  std::vector<uint64_t> ends;
  ends.reserve(count);
  for (uint64_t i = 1; i <= count; ++i) {
    ends.push_back(length / count * i + length % count * i / count);
  }
  return ends;
}

std::vector<uint32_t> BalancedGroups(std::span<const uint64_t> chunk_ns, uint32_t stages) {
  const auto chunks = static_cast<uint32_t>(chunk_ns.size());
  const uint32_t groups = std::min(stages, chunks);
  std::vector<uint64_t> before(chunks + 1, 0);  // sum of the first i chunks
  for (uint32_t i = 0; i < chunks; ++i) before[i + 1] = before[i] + chunk_ns[i];

  // best[g][i]: least possible longest group when the first i chunks form g groups; cut[g][i]:
  // where the last of them begins. Every group has at least one chunk. Ties: the earliest cut.
  std::vector<std::vector<uint64_t>> best(groups + 1,
                                          std::vector<uint64_t>(chunks + 1, UINT64_MAX));
  std::vector<std::vector<uint32_t>> cut(groups + 1, std::vector<uint32_t>(chunks + 1, 0));
  best[0][0] = 0;
  for (uint32_t g = 1; g <= groups; ++g) {
    for (uint32_t i = g; i <= chunks; ++i) {
      for (uint32_t k = g - 1; k < i; ++k) {
        if (best[g - 1][k] == UINT64_MAX) continue;
        const uint64_t longest = std::max(best[g - 1][k], before[i] - before[k]);
        if (longest >= best[g][i]) continue;
        best[g][i] = longest;
        cut[g][i] = k;
      }
    }
  }
  std::vector<uint32_t> ends(groups);
  uint32_t end = chunks;
  for (uint32_t g = groups; g > 0; --g) {
    ends[g - 1] = end;
    end = cut[g][end];
  }
  return ends;
}

}  // namespace sgprs::sched
