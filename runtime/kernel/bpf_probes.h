// SPDX-License-Identifier: Apache-2.0
// Probes that are there: owns the loaded object of bpf/release.bpf.c, its links and its ring.
// Contract: probes.h. Thread: the loop's.
#ifndef SGPRS_RUNTIME_KERNEL_BPF_PROBES_H_
#define SGPRS_RUNTIME_KERNEL_BPF_PROBES_H_

#include <memory>
#include <string>

#include "runtime/kernel/probes.h"

struct release_bpf;
struct ring_buffer;

namespace sgprs::kernel {

class BpfProbes : public Probes {
 public:
  // Loads, attaches once to see that it may, and detaches again. Errors: kNotFound (the kernel has
  // no BTF), kUnavailable (the text says what was refused), kInternal.
  static Result<std::unique_ptr<BpfProbes>> Make(const ProbeOptions& options);
  ~BpfProbes() override;

  ProbeLevel level() const override { return level_; }
  const std::string& why() const override { return why_; }
  Status Register(int pidfd, uint64_t client_id) override;
  void Unregister(int pidfd) override;
  int ring_fd() const override;
  size_t Drain(const std::function<void(const SgprsWakeRecord&)>& handler, size_t limit) override;
  ProbeCounts Counts() const override;
  uint64_t RunTimeNs() const override;

 private:
  BpfProbes() = default;
  Status Open(const ProbeOptions& options);
  Status Attach();
  void Detach();
  static int OnRecord(void* self, void* data, size_t bytes);

  release_bpf* object_ = nullptr;
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
