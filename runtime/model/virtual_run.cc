// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/virtual_run.h"

#include <algorithm>
#include <utility>

#include "runtime/model/engine.h"
#include "runtime/model/fluid_bound.h"
#include "runtime/model/networks.h"
#include "runtime/model/profile.h"
#include "runtime/policy/policy.h"

namespace sgprs::model {

Engine::Engine(const Scenario& scenario, const RunOptions& options)
    : scenario_(scenario), options_(options) {
  window_ = {scenario.warmup_ns, scenario.warmup_ns + scenario.horizon_ns};
}

Status Engine::Prepare() {
  device_ = FindDevice(scenario_.device);
  if (device_ == nullptr) {
    std::string names;
    for (const DeviceDescription& device : AllDevices()) {
      if (!names.empty()) names += ", ";
      names += device.name;
    }
    return Status(ErrorCode::kNotFound,
                  "no device \"" + scenario_.device + "\"; there are " + names);
  }
  specs_ = scenario_.Tasks();
  if (specs_.empty()) return Status(ErrorCode::kInvalid, "the scenario has no task");
  fluid_ = std::make_unique<FluidModel>(*device_);
  Status status = MakeScheduler();
  if (!status.ok()) return status;
  return MakeTasks();
}

Status Engine::MakeScheduler() {
  Result<policy::PolicyOptions> parsed = policy::ParsePolicyOptions(scenario_.policy_options);
  if (!parsed.ok()) return parsed.status();
  const std::unique_ptr<policy::Policy> policy = policy::MakePolicy(scenario_.policy, *parsed);
  if (policy == nullptr) {
    return Status(ErrorCode::kNotFound, "no policy \"" + scenario_.policy + "\"; there are " +
                                            std::string(policy::PolicyNames()));
  }
  pool::PoolConfig pool;
  pool.partitions = scenario_.partitions;
  pool.sm_counts = scenario_.sm_counts;
  pool.oversubscription = scenario_.oversubscription;
  const pool::DeviceShape shape{device_->sm_count, device_->sm_minimum, device_->sm_alignment};
  Result<std::vector<pool::PartitionSpan>> spans =
      pool::LayOutPool(pool, shape, policy->traits().pool);
  if (!spans.ok()) return spans.status();
  spans_ = std::move(spans).value();

  sched::SchedulerConfig config;
  config.device_sm_count = device_->sm_count;
  config.policy = scenario_.policy;
  config.options = *parsed;
  config.overload = scenario_.overload;
  config.stages = scenario_.stages;
  config.window = scenario_.window;
  config.min_stage_ns = scenario_.min_stage_ns;
  gated_ = scenario_.overload == Overload::kHold || policy->gate() != nullptr;
  capacity_ = policy::PartitionCapacity(*parsed, static_cast<uint32_t>(spans_.size()));
  for (const pool::PartitionSpan& span : spans_) {
    config.partitions.push_back({span.sm_count, capacity_});
  }
  Result<std::unique_ptr<sched::Scheduler>> scheduler = sched::Scheduler::Make(config);
  if (!scheduler.ok()) return scheduler.status();
  scheduler_ = std::move(scheduler).value();
  return Status::Ok();
}

Result<std::unique_ptr<JobWork>> Engine::MakeWork(const TaskSpec& spec) {
  if (!spec.jobs.empty()) return MakeRecordedWork(*device_, &spec.jobs);
  std::unique_ptr<NetworkCosts>& costs = networks_[spec.network];
  if (costs == nullptr) {
    const NetworkRow* row = FindNetwork(spec.network);
    if (row == nullptr) {
      return Status(ErrorCode::kNotFound, "task \"" + spec.name + "\": no network \"" +
                                              spec.network + "\"; there are " + NetworkNames());
    }
    costs = std::make_unique<NetworkCosts>(*device_, row->make());
  }
  return MakeNetworkWork(costs.get(), scenario_.detail);
}

const sched::TaskProfile& Engine::ProfileOf(const std::string& network) {
  auto known = profiles_.find(network);
  if (known == profiles_.end()) {
    std::vector<uint32_t> sm_counts;
    for (const pool::PartitionSpan& span : spans_) sm_counts.push_back(span.sm_count);
    known = profiles_
                .emplace(network,
                         ProfileNetwork(*device_, networks_[network].get(), sm_counts, capacity_))
                .first;
  }
  return known->second;
}

// Admission at registration, as sgprsd judges a task that it knows; without a profile the cost is
// unknown and the task fits. One stage more at once than the profile was measured with does not
// make the device faster: dispatch is serial.
void Engine::Judge(VirtualTask* task) {
  if (scenario_.admission == AdmissionMode::kOff) return;
  const sched::TaskView view = scheduler_->View(task->id);
  const auto slots = static_cast<uint32_t>(spans_.size()) * capacity_;
  const policy::TaskDemand demand = {.task_class = task->spec().task_class,
                                     .period_ns = task->spec().period_ns,
                                     .deadline_ns = task->spec().deadline_ns,
                                     .response_ns = view.response_ns,
                                     .service_ns = view.response_ns / ProfiledAtOnce(slots)};
  const policy::AdmissionAnswer answer = policy::JudgeAdmission(admitted_, demand);
  if (!answer.fits) {
    const bool reject = scenario_.admission == AdmissionMode::kReject;
    result_.warnings.push_back("task \"" + task->spec().name + "\" " +
                               (reject ? "rejected: " : "does not fit: ") + answer.why);
    if (reject) {
      scheduler_->RemoveTask(task->id, 0);
      task->admitted = false;
      return;
    }
  }
  admitted_.push_back(demand);
}

Status Engine::MakeTasks() {
  tasks_.reserve(specs_.size());
  uint64_t longest_ns = 0;
  for (uint32_t i = 0; i < specs_.size(); ++i) {
    const TaskSpec& spec = specs_[i];
    Result<std::unique_ptr<JobWork>> work = MakeWork(spec);
    if (!work.ok()) return work.status();
    tasks_.emplace_back(spec, std::move(work).value(), window_, Random(scenario_.seed, i));
    longest_ns = std::max({longest_ns, spec.period_ns, spec.deadline_ns});
    sched::TaskConfig config;
    config.name = spec.name;
    config.task_class = spec.task_class;
    config.period_ns = spec.period_ns;
    config.deadline_ns = spec.deadline_ns;
    if (scenario_.costs == CostSource::kProfile && spec.jobs.empty()) {
      config.profile = ProfileOf(spec.network);
    }
    Result<sched::TaskId> id = scheduler_->AddTask(config, 0);
    if (!id.ok()) return id.status();
    tasks_.back().id = *id;
    if (by_id_.size() <= *id) by_id_.resize(*id + 1);
    by_id_[*id] = i;
    Judge(&tasks_.back());
  }
  // Late jobs may end after the window: the paper's rule bounds the backlog of a task.
  end_ns_ = window_.to_ns + 3 * longest_ns;
  return Status::Ok();
}

// What a second of the task's frames needs at least; nothing of a recorded one.
FluidDemand Engine::DemandPerSecond(const VirtualTask& task) const {
  if (!task.admitted || task.work().kernels().empty()) return {};
  uint32_t largest = 0;
  for (const pool::PartitionSpan& span : spans_) largest = std::max(largest, span.sm_count);
  return 1e9 / static_cast<double>(task.spec().period_ns) *
         DemandOf(*device_, task.work().kernels(), largest);
}

// README.md, "The bound".
LossTable Engine::Losses() const {
  LossTable loss;
  FluidDemand per_second;
  for (const VirtualTask& task : tasks_) {
    if (!task.admitted || task.work().kernels().empty()) continue;
    loss.offered_fps += 1e9 / static_cast<double>(task.spec().period_ns);
    per_second += DemandPerSecond(task);
  }
  const FluidBound bound = BoundOf(*device_, per_second);
  if (bound.scale == 0) return loss;
  loss.bound_by = bound.resource;
  loss.fluid_bound_fps = loss.offered_fps * bound.scale;
  loss.completed_fps = result_.completed_fps;
  loss.not_offered_fps = std::max(0.0, loss.fluid_bound_fps - loss.offered_fps);

  // What the resource did in the window, as parts of it.
  const double window_ns = static_cast<double>(window_.to_ns - window_.from_ns);
  double busy = (use_at_[1].dispatch_ns - use_at_[0].dispatch_ns) / window_ns;
  if (bound.resource == "SMs") {
    busy = (use_at_[1].sm_ns - use_at_[0].sm_ns) / window_ns / device_->sm_count;
  } else if (bound.resource == "DRAM") {
    busy = (use_at_[1].dram_bytes - use_at_[0].dram_bytes) / window_ns /
           (device_->dram_bytes_per_ns * device_->cost.dram_efficiency);
  }
  const double useful = loss.completed_fps / loss.fluid_bound_fps;
  loss.contention_fps = loss.fluid_bound_fps * std::max(0.0, std::min(busy, 1.0) - useful);
  // Idle time that nothing was offered for is no loss of the schedule.
  const double rest = loss.fluid_bound_fps - loss.completed_fps - loss.not_offered_fps;
  if (loss.not_offered_fps > 0)
    loss.contention_fps = std::min(loss.contention_fps, std::max(0.0, rest));
  loss.idle_fps = rest - loss.contention_fps;
  return loss;
}

SimResult Engine::TakeResult() {
  SimResult& r = result_;
  r.scenario = scenario_.name;
  r.device = scenario_.device;
  r.device_sm_count = device_->sm_count;
  r.policy = scenario_.policy;
  r.policy_options = scenario_.policy_options;
  r.overload = OverloadName(scenario_.overload);
  r.admission = AdmissionName(scenario_.admission);
  r.standstill_ns = scenario_.standstill_ns;
  r.oversubscription = scenario_.oversubscription;
  r.seed = scenario_.seed;
  r.n = static_cast<uint32_t>(specs_.size());
  r.warmup_ns = scenario_.warmup_ns;
  r.horizon_ns = scenario_.horizon_ns;
  const std::string bound_by = Losses().bound_by;
  for (VirtualTask& task : tasks_) {
    TaskResult row = task.Result();
    if (!task.admitted) {
      row.expected = row.skipped = 0;  // nobody waits for its frames
      r.tasks.push_back(std::move(row));
      continue;
    }
    const sched::TaskView view = scheduler_->View(task.id);
    row.utilisation = PartOf(*device_, DemandPerSecond(task), bound_by);
    row.switches = view.switches;
    row.stages_late = view.stages_late;
    r.expected += row.expected;
    r.released += row.released;
    r.completed += row.completed;
    r.on_time += row.on_time;
    r.held += row.held;
    r.switches += row.switches;
    r.utilisation += row.utilisation;
    if (row.task_class == SGPRS_CLASS_HIGH) {
      r.high_utilisation += row.utilisation;
      r.high_misses += row.expected - row.on_time;
    }
    r.tasks.push_back(std::move(row));
  }
  const double seconds = static_cast<double>(scenario_.horizon_ns) * 1e-9;
  r.completed_fps = static_cast<double>(r.completed) / seconds;
  r.on_time_fps = static_cast<double>(r.on_time) / seconds;
  if (r.expected != 0) {
    r.miss_percent =
        100 * static_cast<double>(r.expected - r.on_time) / static_cast<double>(r.expected);
  }
  r.loss = Losses();
  for (uint32_t i = 0; i < spans_.size(); ++i) {
    const sched::PartitionStats stats = scheduler_->Stats(i, now_ns_);
    r.partitions.push_back({spans_[i].sm_count, capacity_,
                            static_cast<double>(stats.busy_ns) / static_cast<double>(now_ns_),
                            stats.stages_completed, stats.switches_in});
  }
  return std::move(result_);
}

Result<SimResult> Run(const Scenario& scenario, const RunOptions& options) {
  Engine engine(scenario, options);
  Status status = engine.Prepare();
  if (!status.ok()) return status;
  engine.RunToEnd();
  SimResult result = engine.TakeResult();
  const bool has_costs = scenario.host.grant_round_trip_ns != 0 || scenario.host.switch_ns != 0;
  if (!options.switch_loss || !has_costs) return result;
  Scenario free = scenario;
  free.host.grant_round_trip_ns = free.host.switch_ns = 0;
  Result<SimResult> without = Run(free, {});
  if (!without.ok()) return without.status();
  LossTable& loss = result.loss;
  loss.switch_fps =
      std::clamp(without->completed_fps - result.completed_fps, 0.0, std::max(0.0, loss.idle_fps));
  loss.idle_fps -= loss.switch_fps;
  return result;
}

}  // namespace sgprs::model
