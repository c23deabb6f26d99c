// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/duration.h"
#include "runtime/model/device_description.h"
#include "tools/sgprs/sim_sweep.h"

namespace sgprs::cli {
namespace {

using model::DeviceDescription;
using model::Scenario;

// A job's stages in order; empty if the job can not be replayed.
using StagesOfJob = std::map<std::pair<uint32_t, uint64_t>, std::vector<const RecordedStage*>>;

StagesOfJob GroupStages(const RecordedTrace& trace) {
  StagesOfJob stages;
  for (const RecordedStage& stage : trace.stages) {
    stages[{stage.row.task, stage.row.job}].push_back(&stage);
  }
  for (auto& [job, list] : stages) {
    std::stable_sort(list.begin(), list.end(), [](const RecordedStage* a, const RecordedStage* b) {
      return a->row.stage < b->row.stage;
    });
    // All stages, once each, and none of them while the task was still learnt.
    bool whole = list.size() == list.front()->row.stage_count;
    for (size_t i = 0; i < list.size(); ++i) {
      whole &= list[i]->row.stage == i && !list[i]->learning;
    }
    if (!whole) list.clear();
  }
  return stages;
}

Result<const DeviceDescription*> DeviceOf(const RecordedTrace& trace, const std::string& device) {
  const std::string& wanted = device.empty() ? trace.device : device;
  std::vector<std::string_view> names;
  for (const DeviceDescription& one : model::AllDevices()) {
    if (one.name == wanted || one.display_name == wanted) return &one;
    names.push_back(one.name);
  }
  return Status(ErrorCode::kInvalid,
                fmt::format("the trace's device '{}' is not modelled: say --device, one of {}",
                            wanted, fmt::join(names, ", ")));
}

uint64_t Percentile(const std::vector<uint64_t>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<size_t>(part * static_cast<double>(sorted.size() - 1));
  return sorted[index];
}

// What the trace says of the jobs taken.
void CountRecorded(const RecordedTrace& trace, const std::vector<model::JobRow>& jobs,
                   model::SimResult* recorded) {
  std::vector<std::vector<uint64_t>> responses(trace.tasks.size());
  for (const RecordedTask& task : trace.tasks) {
    model::TaskResult row;
    row.name = task.name;
    row.task_class = task.task_class;
    row.period_ns = task.period_ns;
    row.deadline_ns = task.deadline_ns;
    row.mk_k = row.mk_worst = 0;  // not known of a part of a run
    recorded->tasks.push_back(std::move(row));
  }
  for (const model::JobRow& job : jobs) {
    model::TaskResult& task = recorded->tasks[job.task];
    for (uint64_t* count : {&task.expected, &task.released, &task.completed, &recorded->expected,
                            &recorded->released, &recorded->completed}) {
      ++*count;
    }
    task.on_time += job.on_time ? 1 : 0;
    recorded->on_time += job.on_time ? 1 : 0;
    responses[job.task].push_back(job.complete_ns - job.release_ns);
  }
  for (size_t i = 0; i < responses.size(); ++i) {
    std::sort(responses[i].begin(), responses[i].end());
    recorded->tasks[i].response = {Percentile(responses[i], 0.5), Percentile(responses[i], 0.99),
                                   Percentile(responses[i], 1)};
  }
  const double seconds = static_cast<double>(recorded->horizon_ns) / 1e9;
  recorded->completed_fps = static_cast<double>(recorded->completed) / seconds;
  recorded->on_time_fps = static_cast<double>(recorded->on_time) / seconds;
  recorded->miss_percent = 100 * static_cast<double>(recorded->expected - recorded->on_time) /
                           static_cast<double>(std::max<uint64_t>(1, recorded->expected));
}

model::RecordedJob JobOf(const model::JobRow& job, const std::vector<const RecordedStage*>& stages,
                         const std::vector<uint32_t>& sm_counts, uint64_t begin_ns) {
  model::RecordedJob out;
  out.release_ns = job.release_ns - begin_ns;
  for (const RecordedStage* stage : stages) {
    out.stages.push_back({stage->row.end_ns - stage->row.start_ns, sm_counts[stage->row.partition],
                          std::max(1u, stage->launches)});
  }
  return out;
}

// The jobs that can be replayed, by release, and the stages of all that is in the trace.
std::vector<model::JobRow> TakeJobs(const RecordedTrace& trace, const StagesOfJob& stages) {
  std::vector<model::JobRow> jobs;
  for (const model::JobRow& job : trace.jobs) {
    const auto found = stages.find({job.task, job.job});
    if (found != stages.end() && !found->second.empty()) jobs.push_back(job);
  }
  return jobs;
}

void AddTasks(const RecordedTrace& trace, Scenario* scenario) {
  for (const RecordedTask& task : trace.tasks) {
    model::TaskGroup group;
    group.task.name = task.name;
    group.task.task_class = task.task_class;
    if (task.period_ns != 0) group.task.period_ns = task.period_ns;
    group.task.deadline_ns = task.deadline_ns;
    group.task.random_phase = false;
    scenario->groups.push_back(std::move(group));
  }
}

void ShiftRows(const RecordedTrace& trace, const std::vector<model::JobRow>& jobs,
               uint64_t begin_ns, model::SimResult* recorded) {
  for (model::JobRow job : jobs) {
    job.release_ns -= begin_ns;
    job.complete_ns -= begin_ns;
    if (job.deadline_ns != UINT64_MAX) job.deadline_ns -= begin_ns;
    recorded->jobs.push_back(job);
  }
  for (const RecordedStage& stage : trace.stages) {
    model::StageRow row = stage.row;
    if (row.start_ns < begin_ns) continue;
    row.start_ns -= begin_ns;
    row.granted_ns = row.start_ns;
    row.end_ns -= begin_ns;
    if (row.virtual_deadline_ns != UINT64_MAX) {
      row.virtual_deadline_ns -= std::min(row.virtual_deadline_ns, begin_ns);
    }
    recorded->stages.push_back(row);
    recorded->switches += row.switched ? 1 : 0;
  }
}

}  // namespace

Result<ReplayInput> MakeReplay(const RecordedTrace& trace, const std::string& device) {
  const Result<const DeviceDescription*> model = DeviceOf(trace, device);
  if (!model.ok()) return model.status();
  const StagesOfJob stages = GroupStages(trace);
  const std::vector<model::JobRow> jobs = TakeJobs(trace, stages);
  if (jobs.empty()) {
    return Status(ErrorCode::kInvalid, "the trace has no whole job of a learnt task to replay");
  }
  ReplayInput input;
  input.jobs = jobs.size();
  input.jobs_left_out = trace.jobs.size() - jobs.size();
  const uint64_t begin_ns = jobs.front().release_ns;
  uint64_t end_ns = 0;
  for (const model::JobRow& job : jobs) end_ns = std::max(end_ns, job.release_ns + 1);

  Scenario& scenario = input.scenario;
  scenario.name = "replay";
  scenario.device = std::string((*model)->name);
  scenario.sm_counts = trace.sm_counts;
  scenario.partitions = static_cast<uint32_t>(trace.sm_counts.size());
  scenario.policy = trace.policy;
  scenario.warmup_ns = 0;
  scenario.horizon_ns = end_ns - begin_ns;
  AddTasks(trace, &scenario);
  for (const model::JobRow& job : jobs) {
    scenario.groups[job.task].task.jobs.push_back(
        JobOf(job, stages.at({job.task, job.job}), trace.sm_counts, begin_ns));
  }
  std::erase_if(scenario.groups,
                [](const model::TaskGroup& group) { return group.task.jobs.empty(); });

  model::SimResult& recorded = input.recorded;
  recorded.scenario = scenario.name;
  recorded.device = scenario.device;
  recorded.device_sm_count = trace.device_sm_count;
  recorded.policy = fmt::format("{} as recorded", trace.policy);
  recorded.overload = "late";
  recorded.admission = "off";
  recorded.seed = scenario.seed;
  recorded.n = static_cast<uint32_t>(scenario.groups.size());
  recorded.horizon_ns = scenario.horizon_ns;
  for (uint32_t sm_count : trace.sm_counts) recorded.partitions.push_back({sm_count, 0, 0, 0, 0});
  ShiftRows(trace, jobs, begin_ns, &recorded);
  CountRecorded(trace, jobs, &recorded);
  return input;
}

namespace {

// The recorded policy first, then those that were asked for.
std::vector<std::string> PoliciesOf(const SimOptions& options, const std::string& recorded) {
  std::vector<std::string> policies = {recorded};
  const std::vector<std::string> usual = {"naive", "sgprs"};
  for (const std::string& policy : options.policies.empty() ? usual : options.policies) {
    if (policy != recorded) policies.push_back(policy);
  }
  return policies;
}

std::vector<Scenario> ReplayScenarios(const SimOptions& options, const ReplayInput& input) {
  model::ScenarioFile file;
  file.scenario = input.scenario;
  file.scenario.policy_options = options.policy_options;
  if (options.admission.has_value()) file.scenario.admission = *options.admission;
  file.sweep.policies = PoliciesOf(options, input.scenario.policy);
  file.sweep.overload = options.overload;
  file.sweep.partitions = options.partitions;
  file.sweep.oversubscription = options.oversubscription;
  if (!options.partitions.empty() || !options.oversubscription.empty()) {
    file.scenario.sm_counts.clear();
  }
  return WithoutRepeats(file.Expand());
}

}  // namespace

Result<SimReport> ReplayReport(const SimOptions& options) {
  Result<RecordedTrace> trace = ReadTrace(options.replay);
  if (!trace.ok()) return trace.status();
  Result<ReplayInput> input = MakeReplay(*trace, options.device);
  if (!input.ok()) return input.status().WithContext(options.replay);
  std::vector<Scenario> scenarios = ReplayScenarios(options, *input);
  const size_t gantts = options.gantt.has_value() ? scenarios.size() + 1 : 0;
  const size_t pictures = IsSvgFile(options.svg) && gantts > 0 ? gantts : gantts + 1;
  if (Status outputs = CheckOutputs(options, pictures, true); !outputs.ok()) return outputs;
  if (options.gantt.has_value() && options.gantt->from_ns >= input->scenario.horizon_ns) {
    return Status(ErrorCode::kInvalid, fmt::format("--gantt begins after the recorded {}",
                                                   FormatDurationNs(input->scenario.horizon_ns)));
  }
  Result<std::vector<SimSeries>> replayed = RunSeries(options, std::move(scenarios));
  if (!replayed.ok()) return replayed.status();
  std::vector<model::SimResult> recorded;
  recorded.push_back(std::move(input->recorded));
  std::vector<SimSeries> series = MakeSeries(std::move(recorded));
  std::move(replayed->begin(), replayed->end(), std::back_inserter(series));
  SimReport report = ReportOf(
      options, "replay",
      fmt::format("{} recorded jobs of {} tasks", input->jobs, input->scenario.groups.size()),
      series, false);
  if (input->jobs_left_out > 0) {
    report.text += fmt::format(
        "\n{} jobs are left out: their task was being learnt, or they are not whole in the "
        "trace.\n",
        input->jobs_left_out);
  }
  report.text +=
      "\nThe measured times hold the contention of the recorded run, and the model adds its own: "
      "compare\nwith the replay of the recorded policy. Frames that the recording skipped are in "
      "no row.\n";
  report.json["jobs"] = input->jobs;
  report.json["jobs_left_out"] = input->jobs_left_out;
  return report;
}

}  // namespace sgprs::cli
