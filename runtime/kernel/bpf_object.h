// SPDX-License-Identifier: Apache-2.0
// One BPF object of bpf/, whichever: its programs, and the maps that all objects have by the same
// names (bpf/release_maps.bpf.h). Thread: the loop's.
#ifndef SGPRS_RUNTIME_KERNEL_BPF_OBJECT_H_
#define SGPRS_RUNTIME_KERNEL_BPF_OBJECT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/kernel/probes.h"

struct bpf_link;
struct bpf_map;
struct bpf_object;

namespace sgprs::kernel {

enum class BpfProgram {
  kRelease,  // relocated against the kernel's BTF
  kPlain,    // classic tracepoints
};

class BpfObject {
 public:
  // Loads; the kernel verifies. Errors: kUnavailable (not permitted, or the kernel refused; the
  // text says which).
  static Result<std::unique_ptr<BpfObject>> Load(BpfProgram program, const ProbeOptions& options);
  ~BpfObject();
  BpfObject(const BpfObject&) = delete;
  BpfObject& operator=(const BpfObject&) = delete;

  // All programs or none. Error kUnavailable.
  Status Attach();
  void Detach();

  int groups_fd() const;
  int records_fd() const;
  ProbeCounts Counts() const;
  uint64_t RunTimeNs() const;

 private:
  BpfObject() = default;
  Status Configure(const ProbeOptions& options);

  bpf_object* object_ = nullptr;
  bpf_map* groups_ = nullptr;
  bpf_map* records_ = nullptr;
  bpf_map* counts_ = nullptr;
  std::vector<bpf_link*> links_;
};

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_BPF_OBJECT_H_
