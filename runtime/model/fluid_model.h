// SPDX-License-Identifier: Apache-2.0
// Fluid sharing of one device by the kernels that run on it: a kernel waits out its latency, then
// progresses at the rate of the SMs that it gets (sm_sharing.h), slowed where the memory bandwidth
// is short and by the contention of others. Time is the caller's; used by the simulated device and
// by the virtual-time simulator. Pure: no clock, no thread, no I/O. Not thread-safe.
#ifndef SGPRS_RUNTIME_MODEL_FLUID_MODEL_H_
#define SGPRS_RUNTIME_MODEL_FLUID_MODEL_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/model/device_description.h"
#include "runtime/model/kernel_cost.h"
#include "runtime/model/sm_atoms.h"
#include "runtime/model/sm_set.h"
#include "runtime/model/sm_sharing.h"

namespace sgprs::model {

inline constexpr uint64_t kNeverNs = std::numeric_limits<uint64_t>::max();

struct FluidOptions {
  // 0: all processes run together (MPS). Else only one process's kernels progress at a time, and
  // the turn passes after so long, or at once when the process has nothing to run.
  uint64_t time_slice_ns = 0;
};

struct KernelLaunch {
  std::shared_ptr<const KernelCost> cost;
  uint64_t tag = 0;            // the caller's, handed back in KernelEnd
  double work = 1;             // times what the cost says
  uint64_t process = 0;        // time slices are per process
  int priority = 0;            // lower is more urgent
  SmSet sm_set;                // real SMs that it may use; empty = all
  uint32_t sm_limit = 0;       // at most so many, any of them; 0 = no limit
  uint64_t context = 0;        // unique over all processes
  uint32_t context_limit = 0;  // SMs that the context's kernels may use together; 0 = no limit
};

struct KernelEnd {
  uint64_t tag;
  uint64_t start_ns;
  uint64_t end_ns;
  double mean_sms;  // over its time on the SMs
};

// What the device did since the beginning.
struct FluidUse {
  double dispatch_ns = 0;  // the dispatcher was busy
  double sm_ns = 0;        // SMs were held, summed over SMs
  double dram_bytes = 0;
};

class FluidModel {
 public:
  // `device` must outlive the model.
  explicit FluidModel(const DeviceDescription& device, FluidOptions options = {});

  // The launch is at the head of its queue at `start_ns` >= now_ns(). Returns its handle, valid
  // until its KernelEnd.
  uint32_t AddKernel(const KernelLaunch& launch, uint64_t start_ns);
  // The kernel vanishes without a KernelEnd.
  void Remove(uint32_t handle);

  // When the model changes next by itself (an end, or an inner change of rates); kNeverNs = never.
  uint64_t NextEventNs() const { return next_event_ns_; }
  // Earliest time at which this kernel can end if nothing is added: never later than its KernelEnd.
  uint64_t EarliestEndNs(uint32_t handle) const;
  // End at the present rates; kNeverNs if it stands still or is in its latency.
  uint64_t PredictedEndNs(uint32_t handle) const { return kernels_[handle].end_ns; }

  // Lets time pass up to and including `to_ns` and appends the ends in order. To react to an end
  // (the next kernel of a stream starts there), advance event by event.
  void Advance(uint64_t to_ns, std::vector<KernelEnd>* ended);

  uint64_t now_ns() const { return now_ns_; }
  const FluidUse& use() const { return use_; }
  size_t running() const { return arriving_.size() + waiting_.size() + working_.size(); }
  // SMs that the kernel has now; 0 during its latency.
  double SmsOf(uint32_t handle) const { return kernels_[handle].sms; }

 private:
  struct Kernel {
    KernelLaunch launch;
    uint32_t set = 0;  // SmAtoms index
    uint64_t start_ns = 0;
    uint64_t work_start_ns = 0;  // latency ends
    uint64_t end_ns = kNeverNs;  // at the present rate
    double remaining = 1;        // of the work
    double rate = 0;             // per ns
    double sms = 0;
    double sm_ns = 0;  // integral of sms
  };

  void StepTo(uint64_t event_ns, std::vector<KernelEnd>* ended);
  void Integrate(uint64_t to_ns);
  void Retire(std::vector<KernelEnd>* ended);
  void StartWork();
  void ChooseProcess();
  void Recompute();
  void CollectDemands();
  void LimitBandwidth();
  void SetNextEvent();
  void Arrive(uint32_t handle);
  void ArriveAll();
  uint64_t DispatchedNs(const KernelLaunch& launch);
  void ForgetSetsIfMany();

  const DeviceDescription& device_;
  FluidOptions options_;
  SmAtoms atoms_;
  SmSharing sharing_;
  std::vector<Kernel> kernels_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> arriving_;  // start in the future
  std::vector<uint32_t> waiting_;   // in their latency
  std::vector<uint32_t> working_;
  uint64_t now_ns_ = 0;
  uint64_t integrated_ns_ = 0;  // `remaining` is as of then
  uint64_t next_event_ns_ = kNeverNs;
  uint64_t active_process_ = 0;
  uint64_t slice_end_ns_ = kNeverNs;
  FluidUse use_;
  uint64_t dispatch_free_ns_ = 0;  // the last launch in the queue is dispatched

  // Scratch of Recompute.
  std::vector<uint32_t> sharers_;
  std::vector<SmDemand> demands_;
  std::vector<uint64_t> contexts_;
  std::vector<double> context_limits_;
  std::vector<double> given_;
  std::vector<double> traffic_;
};

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_FLUID_MODEL_H_
