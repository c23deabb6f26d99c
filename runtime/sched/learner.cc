// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/learner.h"

#include <algorithm>

#include "runtime/sched/stage_cuts.h"

namespace sgprs::sched {

// FNV-1a over the words.
uint64_t SignatureOf(std::span<const uint64_t> launches) {
  uint64_t hash = 14695981039346656037ull;
  for (const uint64_t launch : launches) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((launch >> shift) & 0xff)) * 1099511628211ull;
    }
  }
  return hash;
}

Learner::Learner(const LearnerConfig& config, const SizeClasses* sizes, const ProfileBook* book)
    : config_(config),
      sizes_(sizes),
      book_(book),
      costs_{CostModel(sizes, config.window, config.mean_cost),
             CostModel(sizes, config.window, config.mean_cost),
             CostModel(sizes, config.window, config.mean_cost),
             CostModel(sizes, config.window, config.mean_cost)} {
  model(PlanKind::kOpen).Reset(1);
}

PlanKind Learner::Plan(bool staged) const {
  if (phase_ == Phase::kSequence) return PlanKind::kOpen;
  if (!staged) return PlanKind::kWhole;
  return phase_ == Phase::kChunks ? PlanKind::kChunks : PlanKind::kStages;
}

std::span<const uint64_t> Learner::Ends(PlanKind kind) const {
  return ends_[static_cast<size_t>(kind)];
}

bool Learner::CostKnown(PlanKind kind) const {
  if (kind == PlanKind::kStages) return true;
  if (kind != PlanKind::kWhole) return false;
  for (size_t c = 0; c < sizes_->count(); ++c) {
    if (costs(kind).Measured(0, c)) return true;
  }
  return false;
}

Status Learner::Check(const TaskProfile& profile) {
  const auto bad = [](std::string what) {
    return Status(ErrorCode::kInvalid, "profile: " + std::move(what));
  };
  if (profile.stages.empty() || profile.stages.size() > SGPRS_MAX_STAGES) {
    return bad(std::to_string(profile.stages.size()) + " stages, must be 1 to " +
               std::to_string(SGPRS_MAX_STAGES));
  }
  uint64_t before = 0;
  for (const TaskProfile::Stage& stage : profile.stages) {
    if (stage.end <= before) return bad("ends of stages must rise");
    if (stage.costs.empty()) return bad("a stage without a cost");
    before = stage.end;
  }
  if (before != profile.launches.size()) {
    return bad("the last stage ends at " + std::to_string(before) + " of " +
               std::to_string(profile.launches.size()) + " launches");
  }
  return Status::Ok();
}

Status Learner::Adopt(const TaskProfile& profile) {
  if (Status fits = Check(profile); !fits.ok()) return fits;
  AdoptSequence(SignatureOf(profile.launches), profile.launches.size());
  std::vector<uint64_t>& ends = ends_[static_cast<size_t>(PlanKind::kStages)];
  ends.clear();
  CostModel& stages = model(PlanKind::kStages);
  stages.Reset(profile.stages.size());
  std::vector<uint64_t> whole_ns(sizes_->count(), 0);
  for (size_t i = 0; i < profile.stages.size(); ++i) {
    ends.push_back(profile.stages[i].end);
    for (const TaskProfile::Cost& cost : profile.stages[i].costs) {
      stages.Seed(i, cost.sm_count, cost.ns);
    }
    for (size_t c = 0; c < whole_ns.size(); ++c) whole_ns[c] += stages.CostOfClass(i, c);
  }
  for (size_t c = 0; c < whole_ns.size(); ++c) {
    model(PlanKind::kWhole).Seed(0, sizes_->sm_count(c), whole_ns[c]);
  }
  phase_ = Phase::kScheduled;
  changes_ = 0;
  profiled_ = true;
  return Status::Ok();
}

bool Learner::AdoptFromBook(uint64_t hash, uint64_t length) {
  if (book_ == nullptr || phase_ == Phase::kScheduled) return false;
  const auto found = book_->find(hash);
  return found != book_->end() && found->second.launches.size() == length &&
         Adopt(found->second).ok();
}

std::optional<TaskProfile> Learner::Learnt() const {
  if (phase_ != Phase::kScheduled) return std::nullopt;
  TaskProfile out;
  const CostModel& stages = costs(PlanKind::kStages);
  const std::span<const uint64_t> ends = Ends(PlanKind::kStages);
  for (size_t i = 0; i < ends.size(); ++i) {
    TaskProfile::Stage stage = {.end = ends[i], .costs = {}};
    for (size_t c = 0; c < sizes_->count(); ++c) {
      if (!stages.Measured(i, c)) continue;
      stage.costs.push_back({sizes_->sm_count(c), stages.MeasuredCost(i, c)});
    }
    out.stages.push_back(std::move(stage));
  }
  return out;
}

void Learner::RecordOpen(uint32_t partition, uint64_t ns) {
  model(PlanKind::kOpen).Record(0, partition, ns);
}

bool Learner::JobClosed(const JobRecord& record, std::span<const uint64_t> launches) {
  if (launches.empty()) return false;
  const uint64_t hash = SignatureOf(launches);
  const bool left = phase_ == Phase::kChunks && hash != hash_;
  if (AdoptFromBook(hash, launches.size())) return left;
  switch (phase_) {
    case Phase::kSequence:
      return ClosedInSequence(hash, launches.size());
    case Phase::kChunks:
      return ClosedInChunks(record, hash, launches.size());
    case Phase::kScheduled:
      return ClosedScheduled(record, hash);
  }
  return false;
}

void Learner::AdoptSequence(uint64_t hash, uint64_t length) {
  phase_ = Phase::kChunks;
  profiled_ = false;
  ++generation_;
  hash_ = hash;
  length_ = length;
  measured_jobs_ = 0;
  off_in_a_row_ = 0;
  ends_[static_cast<size_t>(PlanKind::kWhole)] = {length};
  model(PlanKind::kWhole).Reset(1);
  std::vector<uint64_t>& chunks = ends_[static_cast<size_t>(PlanKind::kChunks)];
  chunks = EqualCuts(length, config_.learning_chunks);
  model(PlanKind::kChunks).Reset(chunks.size());
}

bool Learner::ClosedInSequence(uint64_t hash, uint64_t length) {
  const bool agrees = hash == hash_ && length == length_;
  if (changes_ <= kMaxChanges || agrees) {
    AdoptSequence(hash, length);
  } else {
    hash_ = hash;
    length_ = length;
  }
  return false;
}

bool Learner::ClosedInChunks(const JobRecord& record, uint64_t hash, uint64_t length) {
  if (hash != hash_) {
    if (++changes_ > kMaxChanges) {
      phase_ = Phase::kSequence;
      hash_ = hash;
      length_ = length;
    } else {
      AdoptSequence(hash, length);
    }
    return true;
  }
  RecordSamples(record);
  const bool measured = record.kind == PlanKind::kChunks && record.generation == generation_ &&
                        record.samples.size() == costs(PlanKind::kChunks).stages();
  if (measured && ++measured_jobs_ >= config_.learning_jobs) CutStages();
  return false;
}

bool Learner::ClosedScheduled(const JobRecord& record, uint64_t hash) {
  if (hash == hash_) {
    off_in_a_row_ = 0;
    RecordSamples(record);
    return false;
  }
  if (++off_in_a_row_ >= config_.relearn_after) {
    phase_ = Phase::kSequence;
    length_ = 0;
  }
  return true;
}

void Learner::RecordSamples(const JobRecord& record) {
  if (record.kind == PlanKind::kOpen || record.generation != generation_) return;
  CostModel& costs = model(record.kind);
  for (const StageSample& sample : record.samples) {
    if (sample.stage < costs.stages()) costs.Record(sample.stage, sample.partition, sample.ns);
  }
}

void Learner::CutStages() {
  const CostModel& chunks = costs(PlanKind::kChunks);
  std::vector<uint64_t> chunk_ns(chunks.stages());
  for (size_t i = 0; i < chunk_ns.size(); ++i) chunk_ns[i] = chunks.LargestCost(i);
  uint64_t most = config_.stages;
  if (config_.min_stage_ns != 0) {
    most = std::clamp<uint64_t>(chunks.TotalLargestCost() / config_.min_stage_ns, 1, most);
  }
  const std::vector<uint32_t> groups = BalancedGroups(chunk_ns, static_cast<uint32_t>(most));

  const std::span<const uint64_t> chunk_ends = Ends(PlanKind::kChunks);
  std::vector<uint64_t>& ends = ends_[static_cast<size_t>(PlanKind::kStages)];
  ends.clear();
  CostModel& stages = model(PlanKind::kStages);
  stages.Reset(groups.size());
  uint32_t first = 0;
  for (size_t stage = 0; stage < groups.size(); ++stage) {
    ends.push_back(chunk_ends[groups[stage] - 1]);
    // One seed in the largest partition; the other sizes are scaled from it until measured.
    uint64_t seed_ns = 0;
    for (uint32_t chunk = first; chunk < groups[stage]; ++chunk) seed_ns += chunk_ns[chunk];
    stages.Record(stage, sizes_->largest_partition(), seed_ns);
    first = groups[stage];
  }
  phase_ = Phase::kScheduled;
  changes_ = 0;
  off_in_a_row_ = 0;
}

}  // namespace sgprs::sched
