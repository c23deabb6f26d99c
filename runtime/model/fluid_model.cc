// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/fluid_model.h"

#include <algorithm>
#include <cmath>

namespace sgprs::model {
namespace {

constexpr size_t kMaxSets = 512;
constexpr double kNoLimit = 1e9;
constexpr double kFarNs = 1e18;  // some 30 years: as good as never

uint64_t After(uint64_t from_ns, double delay_ns) {
  if (!(delay_ns < kFarNs)) return kNeverNs;
  return from_ns + static_cast<uint64_t>(std::ceil(delay_ns));
}

}  // namespace

FluidModel::FluidModel(const DeviceDescription& device, FluidOptions options)
    : device_(device), options_(options), atoms_(device.sm_count) {}

uint32_t FluidModel::AddKernel(const KernelLaunch& launch, uint64_t start_ns) {
  ForgetSetsIfMany();
  uint32_t handle;
  if (free_.empty()) {
    handle = static_cast<uint32_t>(kernels_.size());
    kernels_.emplace_back();
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  Kernel& kernel = kernels_[handle];
  kernel = Kernel{};
  kernel.launch = launch;
  kernel.set = atoms_.Intern(launch.sm_set);
  kernel.remaining = launch.work;
  kernel.start_ns = std::max(start_ns, now_ns_);
  if (kernel.start_ns > now_ns_) {
    kernel.work_start_ns = After(kernel.start_ns, launch.cost->latency_ns());  // at the earliest
    arriving_.push_back(handle);
    next_event_ns_ = std::min(next_event_ns_, kernel.start_ns);
  } else {
    Arrive(handle);
    next_event_ns_ = std::min(next_event_ns_, kernel.work_start_ns);
  }
  return handle;
}

void FluidModel::Arrive(uint32_t handle) {
  kernels_[handle].work_start_ns = DispatchedNs(kernels_[handle].launch);
  waiting_.push_back(handle);
}

// Those whose time has come, in the order of their starts.
void FluidModel::ArriveAll() {
  while (!arriving_.empty()) {
    const auto first = std::min_element(
        arriving_.begin(), arriving_.end(),
        [this](uint32_t a, uint32_t b) { return kernels_[a].start_ns < kernels_[b].start_ns; });
    if (kernels_[*first].start_ns > now_ns_) return;
    const uint32_t handle = *first;
    arriving_.erase(first);
    Arrive(handle);
  }
}

// End of the latency. A part of it is serial: one launch of the device at a time, in the order in
// which they came, longer the more launches of its context wait.
uint64_t FluidModel::DispatchedNs(const KernelLaunch& launch) {
  const double latency_ns = launch.cost->latency_ns();
  const double serial_ns = latency_ns * device_.cost.dispatch_part;
  double waiting = 0;
  for (uint32_t handle : waiting_) waiting += kernels_[handle].launch.context == launch.context;
  const double dispatch_ns = serial_ns * (1 + device_.cost.dispatch_contention * waiting);
  use_.dispatch_ns += dispatch_ns;
  dispatch_free_ns_ = After(std::max(now_ns_, dispatch_free_ns_), dispatch_ns);
  return After(dispatch_free_ns_, latency_ns - serial_ns);
}

void FluidModel::Remove(uint32_t handle) {
  std::erase(arriving_, handle);
  std::erase(waiting_, handle);
  if (std::erase(working_, handle) != 0) {
    Integrate(now_ns_);
    kernels_[handle].sms = 0;
    Recompute();
  } else {
    SetNextEvent();
  }
  kernels_[handle] = Kernel{};
  free_.push_back(handle);
}

uint64_t FluidModel::EarliestEndNs(uint32_t handle) const {
  const Kernel& kernel = kernels_[handle];
  const double best = kernel.launch.cost->Rate(device_.sm_count);
  const uint64_t from_ns = std::max(kernel.work_start_ns, integrated_ns_);
  if (kernel.work_start_ns == kNeverNs) return kNeverNs;
  return std::max(now_ns_, After(from_ns, std::max(0.0, kernel.remaining / best - 1)));
}

void FluidModel::Advance(uint64_t to_ns, std::vector<KernelEnd>* ended) {
  while (next_event_ns_ <= to_ns) StepTo(next_event_ns_, ended);
  now_ns_ = std::max(now_ns_, to_ns);
}

void FluidModel::StepTo(uint64_t event_ns, std::vector<KernelEnd>* ended) {
  now_ns_ = std::max(now_ns_, event_ns);
  ArriveAll();
  Integrate(now_ns_);
  Retire(ended);
  StartWork();
  Recompute();
}

void FluidModel::Integrate(uint64_t to_ns) {
  if (to_ns <= integrated_ns_) return;
  const double passed_ns = static_cast<double>(to_ns - integrated_ns_);
  for (uint32_t handle : working_) {
    Kernel& kernel = kernels_[handle];
    kernel.remaining = std::max(0.0, kernel.remaining - kernel.rate * passed_ns);
    kernel.sm_ns += kernel.sms * passed_ns;
    use_.sm_ns += kernel.sms * passed_ns;
    use_.dram_bytes += kernel.rate * passed_ns * kernel.launch.cost->dram_bytes();
  }
  integrated_ns_ = to_ns;
}

void FluidModel::Retire(std::vector<KernelEnd>* ended) {
  size_t kept = 0;
  for (uint32_t handle : working_) {
    Kernel& kernel = kernels_[handle];
    if (kernel.end_ns > now_ns_) {
      working_[kept++] = handle;
      continue;
    }
    const double work_ns = static_cast<double>(now_ns_ - kernel.work_start_ns);
    ended->push_back(
        {kernel.launch.tag, kernel.start_ns, now_ns_, work_ns > 0 ? kernel.sm_ns / work_ns : 0});
    kernel = Kernel{};
    free_.push_back(handle);
  }
  working_.resize(kept);
}

void FluidModel::StartWork() {
  size_t kept = 0;
  for (uint32_t handle : waiting_) {
    if (kernels_[handle].work_start_ns <= now_ns_) {
      working_.push_back(handle);
    } else {
      waiting_[kept++] = handle;
    }
  }
  waiting_.resize(kept);
}

// Round robin by process number among those that have work.
void FluidModel::ChooseProcess() {
  bool active_has_work = false;
  bool others = false;
  uint64_t next = kNeverNs;   // least process after the active one
  uint64_t first = kNeverNs;  // least process of all
  for (uint32_t handle : working_) {
    const uint64_t process = kernels_[handle].launch.process;
    if (process == active_process_) {
      active_has_work = true;
      continue;
    }
    others = true;
    first = std::min(first, process);
    if (process > active_process_) next = std::min(next, process);
  }
  const bool turn_over = slice_end_ns_ <= now_ns_;
  if (others && (!active_has_work || turn_over)) {
    active_process_ = next != kNeverNs ? next : first;
    slice_end_ns_ = now_ns_ + options_.time_slice_ns;
  } else if (!others) {
    slice_end_ns_ = kNeverNs;  // alone: no turn to end
  } else if (slice_end_ns_ == kNeverNs) {
    slice_end_ns_ = now_ns_ + options_.time_slice_ns;
  }
}

void FluidModel::CollectDemands() {
  sharers_.clear();
  demands_.clear();
  contexts_.clear();
  context_limits_.clear();
  for (uint32_t handle : working_) {
    Kernel& kernel = kernels_[handle];
    kernel.rate = kernel.sms = 0;
    kernel.end_ns = kNeverNs;
    const KernelLaunch& launch = kernel.launch;
    if (options_.time_slice_ns != 0 && launch.process != active_process_) continue;
    SmDemand demand{launch.priority, kernel.set, 0, launch.cost->fill_sms()};
    if (launch.sm_limit != 0) demand.sms = launch.cost->DemandUnder(launch.sm_limit);
    const auto found = std::find(contexts_.begin(), contexts_.end(), launch.context);
    demand.group = static_cast<uint32_t>(found - contexts_.begin());
    if (found == contexts_.end()) {
      contexts_.push_back(launch.context);
      context_limits_.push_back(launch.context_limit != 0 ? launch.context_limit : kNoLimit);
    }
    sharers_.push_back(handle);
    demands_.push_back(demand);
  }
}

void FluidModel::Recompute() {
  if (options_.time_slice_ns != 0) ChooseProcess();
  CollectDemands();
  sharing_.Share(atoms_, demands_, context_limits_, &given_);
  double busy = 0;
  for (size_t i = 0; i < sharers_.size(); ++i) {
    Kernel& kernel = kernels_[sharers_[i]];
    kernel.sms = given_[i];
    kernel.rate = kernel.launch.cost->Rate(given_[i]);
    busy += given_[i];
  }
  LimitBandwidth();
  for (size_t i = 0; i < sharers_.size(); ++i) {
    Kernel& kernel = kernels_[sharers_[i]];
    kernel.rate /= 1 + device_.cost.contention * (busy - kernel.sms) / device_.sm_count;
    kernel.end_ns = After(now_ns_, kernel.remaining / kernel.rate);
  }
  SetNextEvent();
}

void FluidModel::LimitBandwidth() {
  traffic_.clear();
  double total = 0;
  for (uint32_t handle : sharers_) {
    const Kernel& kernel = kernels_[handle];
    traffic_.push_back(kernel.rate * kernel.launch.cost->dram_bytes());
    total += traffic_.back();
  }
  const double capacity = device_.dram_bytes_per_ns * device_.cost.dram_efficiency;
  if (total <= capacity) return;
  ShareEvenly(capacity, &traffic_);
  for (size_t i = 0; i < sharers_.size(); ++i) {
    Kernel& kernel = kernels_[sharers_[i]];
    const double bytes = kernel.launch.cost->dram_bytes();
    if (bytes > 0) kernel.rate = std::min(kernel.rate, traffic_[i] / bytes);
  }
}

void FluidModel::SetNextEvent() {
  next_event_ns_ = options_.time_slice_ns != 0 ? slice_end_ns_ : kNeverNs;
  for (uint32_t handle : arriving_) {
    next_event_ns_ = std::min(next_event_ns_, kernels_[handle].start_ns);
  }
  for (uint32_t handle : waiting_) {
    next_event_ns_ = std::min(next_event_ns_, kernels_[handle].work_start_ns);
  }
  for (uint32_t handle : working_) {
    next_event_ns_ = std::min(next_event_ns_, kernels_[handle].end_ns);
  }
}

// A hostile client can name any number of SM sets; those in use are few.
void FluidModel::ForgetSetsIfMany() {
  if (atoms_.set_count() < kMaxSets) return;
  atoms_.Reset();
  for (uint32_t handle : arriving_) {
    kernels_[handle].set = atoms_.Intern(kernels_[handle].launch.sm_set);
  }
  for (uint32_t handle : waiting_) {
    kernels_[handle].set = atoms_.Intern(kernels_[handle].launch.sm_set);
  }
  for (uint32_t handle : working_) {
    kernels_[handle].set = atoms_.Intern(kernels_[handle].launch.sm_set);
  }
}

}  // namespace sgprs::model
