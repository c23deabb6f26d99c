// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/model/device_description.h"
#include "tools/sgprs/jobs/why_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

// The first pass: what is usual for each task, and the candidates among its jobs.
struct Candidates {
  TaskStatistics statistics;
  std::optional<HistoryJob> asked;
  std::optional<HistoryJob> last_missed;
  std::optional<HistoryJob> tightest;
  std::optional<HistoryJob> last;
  uint64_t first_number = 0;
};

uint64_t Slack(const HistoryJob& job) {
  return job.job.deadline_ns > job.job.complete_ns ? job.job.deadline_ns - job.job.complete_ns : 0;
}

void Take(HistoryJob job, std::optional<uint64_t> number, Candidates* of) {
  of->statistics.Add(job);
  if (!of->last) of->first_number = job.job.job;
  if (number == job.job.job) of->asked = job;
  if (job.missed()) {
    of->last_missed = job;
  } else if (job.has_deadline() && !job.learning() &&
             (!of->tightest || Slack(job) < Slack(*of->tightest))) {
    of->tightest = job;
  }
  of->last = std::move(job);
}

const std::optional<HistoryJob>& Pick(const Candidates& of, bool numbered) {
  if (numbered) return of.asked;
  if (of.last_missed) return of.last_missed;
  return of.tightest ? of.tightest : of.last;
}

Status NoSuchJob(const std::string& word, uint64_t number, const Candidates& of) {
  return Status(ErrorCode::kNotFound,
                fmt::format("no job {} of {} is recorded: there are {} to {}", number,
                            Printable(word), of.first_number, of.last->job.job));
}

uint64_t Overlap(uint64_t from, uint64_t to, uint64_t a, uint64_t b) {
  const uint64_t begin = std::max(from, a);
  const uint64_t end = std::min(to, b);
  return end > begin ? end - begin : 0;
}

bool ShareSms(const SgprsLogPartition& a, const SgprsLogPartition& b) {
  return a.first_sm < b.first_sm + b.sm_count && b.first_sm < a.first_sm + a.sm_count;
}

// The second pass: who else had stages on the GPU meanwhile.
class Neighbourhood {
 public:
  Neighbourhood(const WhyView& view, const SgprsLogHeader& header) : view_(view), header_(header) {
    for (const SgprsLogStage& stage : view.job.stages) {
      if (stage.partition < used_.size()) used_[stage.partition] = true;
    }
  }

  void Add(const HistoryJob& other, const std::string& label) {
    if (other.task->client_id == view_.task.client_id) return;
    Neighbour here;
    for (const SgprsLogStage& stage : other.stages) {
      const uint64_t ns = Overlap(view_.job.job.release_ns, view_.job.job.complete_ns,
                                  stage.granted_ns, stage.gpu_end_ns);
      if (ns != 0) *Where(stage.partition, &here) += ns;
    }
    if (Sum(here) == 0) return;
    auto& [all, most] = found_[other.task->client_id];
    if (Sum(here) > most) {
      most = Sum(here);
      all.job = other.job.job;
    }
    all.label = label;
    all.same_ns += here.same_ns;
    all.beside_ns += here.beside_ns;
    all.elsewhere_ns += here.elsewhere_ns;
  }

  std::vector<Neighbour> Found() const {
    std::vector<Neighbour> out;
    for (const auto& [id, entry] : found_) out.push_back(entry.first);
    std::sort(out.begin(), out.end(), [](const Neighbour& a, const Neighbour& b) {
      return std::tie(a.same_ns, a.beside_ns, a.elsewhere_ns) >
             std::tie(b.same_ns, b.beside_ns, b.elsewhere_ns);
    });
    return out;
  }

 private:
  static uint64_t Sum(const Neighbour& one) {
    return one.same_ns + one.beside_ns + one.elsewhere_ns;
  }
  uint64_t* Where(uint32_t partition, Neighbour* here) const {
    if (partition >= used_.size()) return &here->elsewhere_ns;
    if (used_[partition]) return &here->same_ns;
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i] && ShareSms(header_.partitions[i], header_.partitions[partition])) {
        return &here->beside_ns;
      }
    }
    return &here->elsewhere_ns;
  }

  const WhyView& view_;
  const SgprsLogHeader& header_;
  std::array<bool, SGPRS_MAX_PARTITIONS> used_ = {};
  std::map<uint64_t, std::pair<Neighbour, uint64_t>> found_;
};

Status FindNeighbours(const std::string& log, const SgprsLogHeader& header, WhyView* view) {
  Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(log);
  if (!history.ok()) return history.status();
  Neighbourhood around(*view, header);
  for (;;) {
    Result<std::optional<HistoryJob>> job = (*history)->Next();
    if (!job.ok()) return job.status();
    if (!job->has_value()) break;
    around.Add(**job, (*history)->Label(*(*job)->task));
  }
  view->neighbours = around.Found();
  return Status::Ok();
}

}  // namespace

Result<WhyView> ReadWhy(const std::string& log, const std::string& word,
                        std::optional<uint64_t> number) {
  Result<std::unique_ptr<JobHistory>> opened = JobHistory::Open(log);
  if (!opened.ok()) return opened.status();
  JobHistory* history = opened->get();
  std::map<const HistoryTask*, Candidates> candidates;
  for (;;) {
    Result<std::optional<HistoryJob>> job = history->Next();
    if (!job.ok()) return job.status();
    if (!job->has_value()) break;
    const HistoryTask* task = (*job)->task;
    Take(std::move(**job), number, &candidates[task]);
  }
  Result<std::vector<const HistoryTask*>> found = history->Find(word);
  if (!found.ok()) return found.status();
  // Of several with this name: the one whose job is the latest, misses first.
  const HistoryTask* chosen = nullptr;
  for (const HistoryTask* task : *found) {
    const std::optional<HistoryJob>& job = Pick(candidates[task], number.has_value());
    if (!job) continue;
    const HistoryJob* best =
        chosen != nullptr ? &*Pick(candidates[chosen], number.has_value()) : nullptr;
    if (best == nullptr ||
        std::make_tuple(job->missed(), task->run, job->job.complete_ns) >
            std::make_tuple(best->missed(), chosen->run, best->job.complete_ns)) {
      chosen = task;
    }
  }
  if (chosen == nullptr) return NoSuchJob(word, *number, candidates[found->back()]);

  const Candidates& of = candidates[chosen];
  WhyView view = {.label = history->Label(*chosen),
                  .task = *chosen,
                  .job = *Pick(of, number.has_value()),
                  .jobs = of.statistics.jobs(),
                  .with_deadline = of.statistics.with_deadline(),
                  .missed = of.statistics.missed(),
                  .usual_jobs = of.statistics.usual_response().count(),
                  .usual_response_ns = of.statistics.usual_response().MedianNs()};
  view.diagnosis = Diagnose(view.job, of.statistics);
  view.user = SplitUser(view.job.job, PartsOf({view.job.job, view.job.stages}).of(JobPart::k_user));
  const SgprsLogHeader& header = history->header();
  view.partitions.assign(header.partitions, header.partitions + header.partition_count);
  view.simulated = model::IsSimulated(header.device_name);
  Status around = FindNeighbours(log, header, &view);
  if (!around.ok()) return around;
  return view;
}

}  // namespace sgprs::cli
