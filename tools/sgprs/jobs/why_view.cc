// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/why_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernel/wait_calls.h"
#include "tools/sgprs/jobs/job_source.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr size_t kMostNeighbours = 6;
constexpr size_t kMostStages = 24;

enum class UserKind { kUnknown, kRan, kPreempted, kBlocked, kStopped };

// What user code did longest.
UserKind KindOf(const UserSplit& user) {
  if (!user.known) return UserKind::kUnknown;
  const uint64_t most = std::max({user.run_ns, user.queued_ns, user.blocked_ns, user.stopped_ns});
  if (most == user.stopped_ns) return UserKind::kStopped;
  if (most == user.queued_ns) return UserKind::kPreempted;
  return most == user.blocked_ns ? UserKind::kBlocked : UserKind::kRan;
}

std::string Culprit(const SgprsLogJob& job) {
  const std::string name = Printable(job.culprit_comm);
  return fmt::format("{} (thread {}) had CPU {} for {}", name.empty() ? "a thread" : name,
                     job.culprit_tid, job.cpu, TimeWords(job.culprit_ns));
}

bool HasCulprit(const SgprsLogJob& job, bool preempted) {
  return job.culprit_tid != 0 && ((job.flags & SGPRS_LOG_PREEMPTED) != 0) == preempted;
}

std::string UserSentence(const WhyView& view, uint64_t took_ns) {
  const UserSplit& user = view.user;
  std::string out =
      fmt::format("Its own code took {} between its wait and its first launch", TimeWords(took_ns));
  switch (KindOf(user)) {
    case UserKind::kUnknown:
      return out + ".";
    case UserKind::kStopped:
      return out + fmt::format("; for {} of that it was stopped (SIGSTOP or a debugger).",
                               TimeWords(user.stopped_ns));
    case UserKind::kPreempted:
      out += fmt::format("; for {} of that another thread had its CPU.", TimeWords(user.queued_ns));
      if (HasCulprit(view.job.job, true)) out += " " + Culprit(view.job.job) + ".";
      return out;
    case UserKind::kBlocked:
      return out + fmt::format("; for {} of that it slept in other calls or page faults.",
                               TimeWords(user.blocked_ns));
    case UserKind::kRan:
      return out + fmt::format("; it ran for {} of that.", TimeWords(user.run_ns));
  }
  return out;
}

std::string HeldBy(const WhyView& view) {
  for (const Neighbour& one : view.neighbours) {
    if (one.same_ns != 0) return one.label + " was in its partition.";
  }
  return "";
}

std::string RunQueueSentence(const WhyView& view, uint64_t took_ns) {
  std::string out =
      fmt::format("Its thread was ready to run for {}, and had no CPU.", TimeWords(took_ns));
  if (HasCulprit(view.job.job, false)) out += " Meanwhile " + Culprit(view.job.job) + ".";
  return out;
}

std::string StartSentence(const WhyView& view, uint64_t took_ns) {
  return fmt::format(
      "It launched {} after its release; without the kernel's stamps of this job nobody can say "
      "why{}.",
      TimeWords(took_ns),
      (view.job.job.flags & SGPRS_LOG_STAMPS) == 0 ? " (`sgprs doctor` says what keeps the probes "
                                                     "out)"
                                                   : "");
}

std::string ExecuteSentence(const WhyView& view, uint64_t took_ns) {
  std::string out = fmt::format("Its stages took {} on the GPU.", TimeWords(took_ns));
  const auto beside =
      std::find_if(view.neighbours.begin(), view.neighbours.end(),
                   [](const Neighbour& one) { return one.same_ns + one.beside_ns != 0; });
  if (beside != view.neighbours.end()) {
    out += fmt::format(" {} ran on the same SMs for {}.", beside->label,
                       TimeWords(beside->same_ns + beside->beside_ns));
  }
  return out;
}

// What happened, in the part that cost the deadline.
std::string Sentence(const WhyView& view, const PartFinding& finding) {
  const std::string took = TimeWords(finding.took_ns);
  switch (finding.part) {
    case JobPart::k_timer:
      return fmt::format("The timer's interrupt came {} after it was due.", took);
    case JobPart::k_wakeup:
      return fmt::format("The kernel woke the thread {} after the timer's interrupt.", took);
    case JobPart::k_run_queue:
      return RunQueueSentence(view, finding.took_ns);
    case JobPart::k_return:
      return fmt::format("The thread ran, but its system call returned only after {}.", took);
    case JobPart::k_user:
      return UserSentence(view, finding.took_ns);
    case JobPart::k_start:
      return StartSentence(view, finding.took_ns);
    case JobPart::k_own_job:
      return fmt::format("It was due or launched {} before its own previous job was over.", took);
    case JobPart::k_hold:
      return fmt::format("The overload policy held it back for {}: too much was asked of the GPU.",
                         took);
    case JobPart::k_queue:
      return fmt::format("It had launched, but waited {} for its partition. {}", took,
                         HeldBy(view));
    case JobPart::k_runtime:
      return fmt::format("Its partition was free, but sgprsd granted it only after {}.", took);
    case JobPart::k_between:
      return fmt::format(
          "Between its stages {} passed with nothing of it on the GPU: its process was late with "
          "the next launches, or sgprsd with the grant.",
          took);
    case JobPart::k_issue:
      return fmt::format("It was granted, but its process handed it to the driver only after {}.",
                         took);
    case JobPart::k_execute:
      return ExecuteSentence(view, finding.took_ns);
  }
  return "";
}

const char* UserRemedy(UserKind kind) {
  switch (kind) {
    case UserKind::kStopped:
      return "Do not stop it: nothing else was wrong.";
    case UserKind::kPreempted:
      return "Give it a CPU of its own (taskset), or a real-time priority (chrt -f 1 PROGRAM).";
    case UserKind::kBlocked:
      return "Have files and memory ready before the release (mlockall, reading ahead).";
    default:
      return "Launch earlier in the program's turn, or do this work after the launches.";
  }
}

const char* Remedy(const WhyView& view) {
  switch (view.diagnosis.cause) {
    case JobPart::k_timer:
      return "Keep CPUs out of deep sleep (hold /dev/cpu_dma_latency at 0); in a virtual machine, "
             "look at its host.";
    case JobPart::k_wakeup:
    case JobPart::k_return:
      return "An interrupt or the host of a virtual machine took the CPU; a real-time kernel "
             "bounds this.";
    case JobPart::k_run_queue:
      return "Give it a CPU of its own (taskset), or a real-time priority (chrt -f 1 PROGRAM).";
    case JobPart::k_user:
      return UserRemedy(KindOf(view.user));
    case JobPart::k_start:
      return "Run sgprsd with the rights for kernel probes, and this line will say more.";
    case JobPart::k_own_job:
      return "The job before ran late: ask `sgprs why` of that one, or use a longer period.";
    case JobPart::k_hold:
    case JobPart::k_queue:
      return "Ask less of the GPU, or say that it matters more (`sgprs run --class high`), or give "
             "it a partition of its own (`sgprs policy`).";
    case JobPart::k_runtime:
    case JobPart::k_issue:
    case JobPart::k_between:
      return "CPUs are short: leave one to sgprsd and to the programs' launches.";
    case JobPart::k_execute:
      return "Fewer or smaller neighbours on its SMs, a partition of its own (`sgprs policy`), or "
             "a longer deadline.";
  }
  return "";
}

// Whether the device itself may have been late.
std::string SimulatedNote(const WhyView& view) {
  if (!view.simulated) return "";
  switch (view.diagnosis.cause) {
    case JobPart::k_own_job:
    case JobPart::k_queue:
    case JobPart::k_runtime:
    case JobPart::k_between:
    case JobPart::k_issue:
    case JobPart::k_execute:
      return "The device is simulated on this machine's CPUs: while they are short, kernels and "
             "completions come late, too.\n";
    default:
      return "";
  }
}

std::string Title(const WhyView& view) {
  const Diagnosis& diagnosis = view.diagnosis;
  const SgprsLogJob& job = view.job.job;
  if (!view.job.has_deadline()) {
    return fmt::format("{} has no deadline; job {} took {}, most of it {}.\n", view.label, job.job,
                       TimeWords(diagnosis.response_ns), CauseWords(view));
  }
  const std::string deadline =
      TimeWords(job.deadline_ns - std::min(job.release_ns, job.deadline_ns));
  if (view.job.missed()) {
    return fmt::format("{} job {} missed its deadline of {} by {}: {}.\n", view.label, job.job,
                       deadline, TimeWords(diagnosis.late_ns), CauseWords(view));
  }
  std::string out;
  if (view.missed == 0) {
    out = fmt::format("{} missed no deadline in {}.\n", view.label, Counted(view.jobs, "job"));
  }
  return out + fmt::format(
                   "{} job {} met its deadline of {} with {} to spare; its tightest phase "
                   "was {}.\n",
                   view.label, job.job, deadline, TimeWords(diagnosis.slack_ns), CauseWords(view));
}

std::string PartsTable(const WhyView& view) {
  const Diagnosis& diagnosis = view.diagnosis;
  TextTable table;
  table.AddColumn("  PART", TextTable::Align::kLeft);
  for (const char* title : {"TOOK", "USUAL", "OVER"}) table.AddColumn(title);
  table.AddColumn("", TextTable::Align::kLeft);
  for (const JobPartInfo& info : kJobParts) {
    for (const PartFinding& finding : diagnosis.parts) {
      if (finding.part != info.part) continue;
      const bool cause = finding.part == diagnosis.cause;
      table.AddRow({fmt::format("  {}", info.name), TimeWords(finding.took_ns),
                    diagnosis.compared ? TimeWords(finding.usual_ns) : "-",
                    diagnosis.compared ? TimeWords(finding.excess_ns) : "-",
                    fmt::format("{}{}", cause ? "<- " : "   ", info.help)});
    }
  }
  const uint64_t usual_ns = view.usual_response_ns;
  const uint64_t response_ns = diagnosis.response_ns;
  table.AddRow({"  all", TimeWords(response_ns), diagnosis.compared ? TimeWords(usual_ns) : "-",
                diagnosis.compared ? TimeWords(response_ns - std::min(usual_ns, response_ns)) : "-",
                ""});
  return table.Format();
}

std::string UsualLine(const WhyView& view) {
  if (view.diagnosis.compared) {
    return fmt::format("  Usual is the median of its {} on time.\n",
                       Counted(view.usual_jobs, "job"));
  }
  return fmt::format(
      "  Only {} of it met a deadline: too few to say what is usual, so the longest "
      "part is blamed.\n",
      Counted(view.usual_jobs, "job"));
}

std::string PartitionName(const WhyView& view, uint32_t partition) {
  if (partition >= view.partitions.size()) return fmt::format("{}", partition);
  const SgprsLogPartition& sms = view.partitions[partition];
  return fmt::format("{} (SMs {}-{})", partition, sms.first_sm, sms.first_sm + sms.sm_count - 1);
}

std::string StagesTable(const WhyView& view) {
  if (view.job.stages.empty()) return "";
  TextTable table;
  table.AddColumn("  STAGE");
  table.AddColumn("PARTITION", TextTable::Align::kLeft);
  table.AddColumn("LEVEL", TextTable::Align::kLeft);
  for (const char* title : {"WAITED", "TOOK", "ENDED"}) table.AddColumn(title);
  table.AddColumn("VIRTUAL DEADLINE", TextTable::Align::kLeft);
  table.AddColumn("KERNELS", TextTable::Align::kLeft);
  uint64_t ready_ns = view.job.job.first_launch_ns;
  const uint64_t release_ns = view.job.job.release_ns;
  for (size_t i = 0; i < view.job.stages.size() && i < kMostStages; ++i) {
    const SgprsLogStage& stage = view.job.stages[i];
    auto since = [](uint64_t from, uint64_t to) { return TimeWords(to > from ? to - from : 0); };
    std::string virtual_deadline = "-";
    if (stage.virtual_deadline_ns != UINT64_MAX) {
      const bool met = (stage.flags & SGPRS_LOG_STAGE_VIRTUAL_MET) != 0;
      virtual_deadline = fmt::format("{} {}", since(release_ns, stage.virtual_deadline_ns),
                                     met ? "met" : "missed");
    }
    table.AddRow({fmt::format("{}", i), PartitionName(view, stage.partition),
                  std::string(LevelWord(stage.level)), since(ready_ns, stage.granted_ns),
                  since(stage.granted_ns, stage.gpu_end_ns), since(release_ns, stage.gpu_end_ns),
                  virtual_deadline, view.job.Kernels(i)});
    ready_ns = stage.gpu_end_ns;
  }
  return "\n" + table.Format();
}

std::string Neighbours(const WhyView& view) {
  if (view.neighbours.empty()) return "\nNobody else was on the GPU meanwhile.\n";
  std::string out = "\nOn the GPU meanwhile:\n";
  for (size_t i = 0; i < view.neighbours.size() && i < kMostNeighbours; ++i) {
    const Neighbour& one = view.neighbours[i];
    out += fmt::format("  {} (job {}):", one.label, one.job);
    if (one.same_ns != 0) out += fmt::format(" {} in its partition", TimeWords(one.same_ns));
    if (one.beside_ns != 0) out += fmt::format(" {} on SMs it shares", TimeWords(one.beside_ns));
    if (one.elsewhere_ns != 0) out += fmt::format(" {} on other SMs", TimeWords(one.elsewhere_ns));
    out += "\n";
  }
  if (view.neighbours.size() > kMostNeighbours) {
    out += fmt::format("  and {} more\n", view.neighbours.size() - kMostNeighbours);
  }
  return out;
}

std::string Cure(const WhyView& view) {
  const Diagnosis& diagnosis = view.diagnosis;
  if (diagnosis.late_ns == 0) return "";
  if (!diagnosis.compared) {
    return fmt::format("A deadline of {} would have met it.\n", TimeWords(diagnosis.response_ns));
  }
  if (diagnosis.cure.empty()) {
    return fmt::format(
        "Had everything been as usual it would still have been late: usually it takes {}.\n",
        TimeWords(view.usual_response_ns));
  }
  std::string names;
  uint64_t saved_ns = 0;
  for (size_t i = 0; i < diagnosis.cure.size(); ++i) {
    names += (i == 0 ? "" : i + 1 == diagnosis.cure.size() ? " and " : ", ");
    names += InfoOf(diagnosis.cure[i]).name;
    saved_ns += diagnosis.parts[i].excess_ns;
  }
  return fmt::format("With the usual {} it would have ended {} before its deadline.\n", names,
                     TimeWords(saved_ns - diagnosis.late_ns));
}

// What the deadline counts from, where that is not when the timer was due.
std::string ReleaseNote(const SgprsLogJob& job) {
  const uint64_t woken_ns = job.due_ns != 0 ? job.due_ns : job.wakeup_ns;
  if (woken_ns == 0 || job.release_ns <= woken_ns + 1000) return "";
  return fmt::format(
      "\nIts deadline counts from {} after its wait ended ({}); for the deadline of "
      "its timer use release = \"timer\".\n",
      TimeWords(job.release_ns - woken_ns),
      job.release_rule == SGPRS_RELEASE_GRID ? "release = \"grid\"" : "its first launch");
}

Json StageJson(const SgprsLogStage& stage) {
  Json json = {{"partition", stage.partition},
               {"level", LevelWord(stage.level)},
               {"granted_ns", stage.granted_ns},
               {"issued_ns", stage.issued_ns},
               {"gpu_end_ns", stage.gpu_end_ns},
               {"virtual_deadline_ns", nullptr},
               {"virtual_met", (stage.flags & SGPRS_LOG_STAGE_VIRTUAL_MET) != 0}};
  if (stage.virtual_deadline_ns != UINT64_MAX) {
    json["virtual_deadline_ns"] = stage.virtual_deadline_ns;
  }
  return json;
}

Json CpuJson(const SgprsLogJob& job) {
  if (job.culprit_tid == 0) return nullptr;
  return {{"cpu", job.cpu},
          {"name", Printable(job.culprit_comm)},
          {"thread", job.culprit_tid},
          {"ran_ns", job.culprit_ns},
          {"when", (job.flags & SGPRS_LOG_PREEMPTED) != 0 ? "user" : "run_queue"}};
}

}  // namespace

std::string CauseWords(const WhyView& view) {
  std::string words = InfoOf(view.diagnosis.cause).words;
  if (view.diagnosis.cause != JobPart::k_user) return words;
  switch (KindOf(view.user)) {
    case UserKind::kStopped:
      return words + " (stopped)";
    case UserKind::kPreempted:
      return words + " (preempted)";
    case UserKind::kBlocked:
      return words + " (asleep in other calls)";
    default:
      return words;
  }
}

std::string WhyText(const WhyView& view) {
  std::string out = Title(view);
  if (view.diagnosis.parts.empty()) return out;
  out += "\n" + Sentence(view, view.diagnosis.parts.front()) + "\n";
  out += Cure(view);
  if (view.job.missed()) out += std::string(Remedy(view)) + "\n" + SimulatedNote(view);
  out += ReleaseNote(view.job.job);
  out += "\n" + PartsTable(view) + UsualLine(view);
  out += StagesTable(view) + Neighbours(view);
  if (view.job.job.stages_lost != 0) {
    out += fmt::format("{} more of its stages are not in the record.\n", view.job.job.stages_lost);
  }
  return out;
}

Json WhyJson(const WhyView& view) {
  const Diagnosis& diagnosis = view.diagnosis;
  const SgprsLogJob& job = view.job.job;
  Json json = {{"version", kJsonVersion},
               {"task", view.label},
               {"client_id", job.client_id},
               {"job", job.job},
               {"missed", view.job.missed()},
               {"cause", InfoOf(diagnosis.cause).name},
               {"cause_words", CauseWords(view)},
               {"simulated", view.simulated},
               {"response_ns", diagnosis.response_ns},
               {"deadline_ns", nullptr},
               {"late_ns", diagnosis.late_ns},
               {"slack_ns", diagnosis.slack_ns},
               {"wait", kernel::NameOfWait(job.wait)},
               {"compared", diagnosis.compared},
               {"usual_jobs", view.usual_jobs},
               {"usual_response_ns", view.usual_response_ns},
               {"parts", Json::object()},
               {"would_have_met_it", Json::array()},
               {"user", nullptr},
               {"cpu", CpuJson(job)},
               {"stages", Json::array()},
               {"neighbours", Json::array()},
               {"task_jobs", view.jobs},
               {"task_missed", view.missed}};
  if (view.job.has_deadline()) json["deadline_ns"] = job.deadline_ns - job.release_ns;
  for (const PartFinding& finding : diagnosis.parts) {
    json["parts"][InfoOf(finding.part).name] = {{"took_ns", finding.took_ns},
                                                {"usual_ns", finding.usual_ns},
                                                {"excess_ns", finding.excess_ns}};
  }
  for (const JobPart part : diagnosis.cure) json["would_have_met_it"].push_back(InfoOf(part).name);
  if (view.user.known) {
    json["user"] = {{"ran_ns", view.user.run_ns},
                    {"preempted_ns", view.user.queued_ns},
                    {"blocked_ns", view.user.blocked_ns},
                    {"stopped_ns", view.user.stopped_ns}};
  }
  for (size_t i = 0; i < view.job.stages.size(); ++i) {
    Json stage = StageJson(view.job.stages[i]);
    const std::string kernels = view.job.Kernels(i);
    stage["kernels"] = kernels.empty() ? Json(nullptr) : Json(kernels);
    json["stages"].push_back(std::move(stage));
  }
  for (const Neighbour& one : view.neighbours) {
    json["neighbours"].push_back({{"task", one.label},
                                  {"job", one.job},
                                  {"same_partition_ns", one.same_ns},
                                  {"shared_sms_ns", one.beside_ns},
                                  {"elsewhere_ns", one.elsewhere_ns}});
  }
  return json;
}

}  // namespace sgprs::cli
