// SPDX-License-Identifier: Apache-2.0
// Learns one task: its launch sequence, where its time goes, where to cut it, what stages cost.
//
//   kSequence ── a closed job gives the sequence ──► kChunks ── `learning_jobs` jobs measured ──►
//   kScheduled
//       ▲                                              │ another sequence: taken as the new one │
//       └── the sequence changed too often ────────────┘ │ └── `relearn_after` jobs in a row off
//       the sequence ─────────────────────────────────────────┘
// After kMaxChanges changes two jobs in a row must agree before kChunks is entered again, so that a
// task without a steady sequence runs its jobs openly instead of in chunks.
#ifndef SGPRS_RUNTIME_SCHED_LEARNER_H_
#define SGPRS_RUNTIME_SCHED_LEARNER_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/sched/cost_model.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::sched {

// How a job is cut.
enum class PlanKind : uint8_t {
  kOpen,    // length unknown: ranges as they come
  kWhole,   // one stage (policies without stages)
  kChunks,  // equal chunks, to see where time goes
  kStages,  // balanced stages
};
inline constexpr size_t kPlanKinds = 4;

struct StageSample {
  uint32_t stage = 0;
  uint32_t partition = 0;
  uint64_t ns = 0;
};

// What a closed job tells. `generation` as of when it was planned.
struct JobRecord {
  PlanKind kind = PlanKind::kOpen;
  uint64_t generation = 0;
  std::vector<StageSample> samples;
};

struct LearnerConfig {
  uint32_t stages = 6;
  uint32_t window = 5;
  uint32_t learning_jobs = 2;
  uint32_t learning_chunks = 24;
  uint32_t relearn_after = 3;
  uint64_t min_stage_ns = 0;
  bool mean_cost = false;  // a cost is the mean of its measurements, not their maximum
};

// Profiles that are known, by signature.
using ProfileBook = std::map<uint64_t, TaskProfile>;

class Learner {
 public:
  enum class Phase : uint8_t { kSequence, kChunks, kScheduled };
  static constexpr uint32_t kMaxChanges = 6;

  // `sizes` and `book` outlive it; without a book everything is learnt.
  Learner(const LearnerConfig& config, const SizeClasses* sizes, const ProfileBook* book = nullptr);

  // Error kInvalid: what of a profile does not fit together.
  static Status Check(const TaskProfile& profile);

  Phase phase() const { return phase_; }
  uint64_t length() const { return phase_ == Phase::kSequence ? 0 : length_; }
  uint64_t generation() const { return generation_; }
  uint64_t signature() const { return phase_ == Phase::kSequence ? 0 : hash_; }
  bool profiled() const { return phase_ == Phase::kScheduled && profiled_; }
  // Stages with the costs that were measured; nullopt: no stages are cut yet.
  std::optional<TaskProfile> Learnt() const;
  // How the next job is to be cut.
  PlanKind Plan(bool staged) const;
  // Ends (exclusive) of the stages, in launches; empty for kOpen.
  std::span<const uint64_t> Ends(PlanKind kind) const;
  // Whether costs(kind) holds more than defaults.
  bool CostKnown(PlanKind kind) const;
  const CostModel& costs(PlanKind kind) const { return costs_[static_cast<size_t>(kind)]; }

  // Takes for learnt what a profile says (scheduler.h, TaskProfile). Error kInvalid: the text names
  // what does not fit.
  Status Adopt(const TaskProfile& profile);

  // A range of an open job took `ns`.
  void RecordOpen(uint32_t partition, uint64_t ns);
  // A job is over; `launches` are its identities, empty = lost (teaches nothing).
  // True: it left the learnt sequence.
  bool JobClosed(const JobRecord& record, std::span<const uint64_t> launches);

 private:
  CostModel& model(PlanKind kind) { return costs_[static_cast<size_t>(kind)]; }
  void AdoptSequence(uint64_t hash, uint64_t length);
  // Takes what the book says of this signature, if it does.
  bool AdoptFromBook(uint64_t hash, uint64_t length);
  bool ClosedInSequence(uint64_t hash, uint64_t length);
  bool ClosedInChunks(const JobRecord& record, uint64_t hash, uint64_t length);
  bool ClosedScheduled(const JobRecord& record, uint64_t hash);
  void RecordSamples(const JobRecord& record);
  void CutStages();

  const LearnerConfig config_;
  const SizeClasses* const sizes_;
  const ProfileBook* const book_;
  bool profiled_ = false;
  Phase phase_ = Phase::kSequence;
  uint64_t generation_ = 0;  // counts adopted sequences
  uint64_t hash_ = 0;        // of the sequence learnt, or of the candidate in kSequence
  uint64_t length_ = 0;
  uint32_t changes_ = 0;        // sequences replaced before one was scheduled
  uint32_t measured_jobs_ = 0;  // chunk jobs that match
  uint32_t off_in_a_row_ = 0;
  std::array<std::vector<uint64_t>, kPlanKinds> ends_;
  std::array<CostModel, kPlanKinds> costs_;
};

}  // namespace sgprs::sched

#endif  // SGPRS_RUNTIME_SCHED_LEARNER_H_
