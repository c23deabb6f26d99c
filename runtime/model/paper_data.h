// SPDX-License-Identifier: Apache-2.0
// The published results as data (facts/papers.md 1.9, 2.3, 2.4): read off the figures of the
// authors' repositories, to be set beside ours. Nothing here enters the model.
#ifndef SGPRS_RUNTIME_MODEL_PAPER_DATA_H_
#define SGPRS_RUNTIME_MODEL_PAPER_DATA_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace sgprs::model {

inline constexpr uint32_t kPaperFirstN = 20;
inline constexpr size_t kPaperPoints = 11;  // N = 20 .. 30

// One curve of the SGPRS paper.
struct PaperCurve {
  std::string_view policy;  // naive, sgprs
  uint32_t partitions;
  double oversubscription;               // 0 for naive (full-size partitions)
  std::array<double, kPaperPoints> fps;  // completed, late ones included
  std::array<double, kPaperPoints> miss_percent;
  uint32_t pivot;  // largest N without a miss
};
std::span<const PaperCurve> PaperCurves();
// nullptr: none published. `oversubscription` is ignored for naive.
const PaperCurve* FindPaperCurve(std::string_view policy, uint32_t partitions,
                                 double oversubscription);

// DARIS, ResNet18, one stream a context: best jobs per second.
struct DarisCell {
  uint32_t contexts;
  double oversubscription;  // equal to `contexts` in the last column
  double jobs_per_second;
};
std::span<const DarisCell> DarisCells();

struct DarisAblation {
  std::string_view what;
  double jobs_per_second;
  double high_miss_percent_least, high_miss_percent_most;
  double low_miss_percent_least, low_miss_percent_most;
};
std::span<const DarisAblation> DarisAblations();

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_PAPER_DATA_H_
