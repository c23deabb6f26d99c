// SPDX-License-Identifier: Apache-2.0
// Probes that are there: one loaded object of bpf/ and the ring it writes. Contract: probes.h.
// Thread: the loop's.
#ifndef SGPRS_RUNTIME_KERNEL_BPF_PROBES_H_
#define SGPRS_RUNTIME_KERNEL_BPF_PROBES_H_

#include <memory>
#include <optional>
#include <string>

#include "runtime/kernel/bpf_object.h"
#include "runtime/kernel/probes.h"

struct ring_buffer;

namespace sgprs::kernel {

class BpfProbes : public Probes {
 public:
  // Loads, attaches once to see that it may, and detaches again. Errors: kNotFound (the kernel has
  // no BTF, and without it nothing could be loaded either), kUnavailable (the text says what was
  // refused), kInternal.
  static Result<std::unique_ptr<BpfProbes>> Make(const ProbeOptions& options);
  ~BpfProbes() override;

  ProbeLevel level() const override { return level_; }
  const std::string& why() const override { return why_; }
  Status Register(int pidfd, uint64_t client_id) override;
  void Unregister(int pidfd) override;
  int ring_fd() const override;
  size_t Drain(const std::function<void(const SgprsWakeRecord&)>& handler, size_t limit) override;
  ProbeCounts Counts() const override { return object_->Counts(); }
  uint64_t RunTimeNs() const override { return object_->RunTimeNs(); }

 private:
  BpfProbes() = default;
  Status Open(BpfProgram program, const ProbeOptions& options);
  // What `groups` is keyed by: the pidfd itself, or the process's id. nullopt: it is over.
  std::optional<int> KeyOf(int pidfd) const;
  static int OnRecord(void* self, void* data, size_t bytes);

  std::unique_ptr<BpfObject> object_;
  ring_buffer* ring_ = nullptr;
  ProbeLevel level_ = ProbeLevel::kNone;
  std::string why_;
  size_t registered_ = 0;
  // While Drain() runs.
  const std::function<void(const SgprsWakeRecord&)>* handler_ = nullptr;
  size_t drained_ = 0;
  size_t limit_ = 0;
};

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_BPF_PROBES_H_
