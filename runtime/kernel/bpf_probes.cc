// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/bpf_probes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "bpf/probe_shared.h"
#include "runtime/kernel/wait_calls.h"

// Made by bpftool from bpf/release.bpf.c.
#include "bpf/release.skel.h"

namespace sgprs::kernel {
namespace {

constexpr int kFull = -EAGAIN;  // what OnRecord() says to stop a drain

// libbpf's own messages are for whoever writes probes; errors of calls are enough for users.
int Quiet(libbpf_print_level, const char*, va_list) { return 0; }

Status Refused(const std::string& what, int error) {
  if (error == EPERM || error == EACCES) {
    return Status(ErrorCode::kUnavailable,
                  what + " is not permitted: needs CAP_BPF and CAP_PERFMON, or root");
  }
  return Status(ErrorCode::kUnavailable,
                what + ": " + std::strerror(error) + " (the probes need kernel 5.18 or newer)");
}

bool KernelHasBtf() {
  btf* types = btf__load_vmlinux_btf();
  const bool has = libbpf_get_error(types) == 0 && types != nullptr;
  if (has) btf__free(types);
  return has;
}

// Calls `use` with the kernel's account of each program.
template <typename Use>
void ForEachProgramInfo(const release_bpf* object, Use use) {
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object->obj, program)) != nullptr) {
    bpf_prog_info info = {};
    uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0) use(info);
  }
}

}  // namespace

Result<std::unique_ptr<BpfProbes>> BpfProbes::Make(const ProbeOptions& options) {
  libbpf_set_print(Quiet);
  if (!KernelHasBtf()) {
    return Status(ErrorCode::kNotFound,
                  "the kernel tells nothing of its types: no BTF in /sys/kernel/btf/vmlinux");
  }
  std::unique_ptr<BpfProbes> probes(new BpfProbes);
  if (Status opened = probes->Open(options); !opened.ok()) return opened;
  // Attaching may be refused where loading is not; better now than at the first client.
  if (Status attached = probes->Attach(); !attached.ok()) return attached;
  probes->Detach();
  probes->level_ = geteuid() == 0 ? ProbeLevel::kRoot : ProbeLevel::kCapabilities;
  if (probes->level_ != ProbeLevel::kRoot) probes->why_ = "loaded without root";
  return probes;
}

BpfProbes::~BpfProbes() {
  ring_buffer__free(ring_);
  release_bpf__destroy(object_);
}

Status BpfProbes::Open(const ProbeOptions& options) {
  object_ = release_bpf__open();
  if (object_ == nullptr) return Refused("opening the probes", errno);
  FillWaitTable(object_->rodata->wait_of_syscall);
  object_->rodata->min_wait_ns = options.min_wait_ns;
  object_->rodata->clock_nanosleep_nr = __NR_clock_nanosleep;
  object_->rodata->wake_reader_bytes = options.ring_bytes / 2;
  if (const int error = bpf_map__set_max_entries(object_->maps.records, options.ring_bytes)) {
    return Refused("a ring of " + std::to_string(options.ring_bytes) + " bytes", -error);
  }
  if (const int error = release_bpf__load(object_)) return Refused("loading the probes", -error);
  ring_ = ring_buffer__new(bpf_map__fd(object_->maps.records), OnRecord, this, nullptr);
  if (ring_ == nullptr) return Refused("mapping the probes' ring", errno);
  return Status::Ok();
}

Status BpfProbes::Attach() {
  const int error = release_bpf__attach(object_);
  return error == 0 ? Status::Ok() : Refused("attaching the probes", -error);
}

void BpfProbes::Detach() { release_bpf__detach(object_); }

Status BpfProbes::Register(int pidfd, uint64_t client_id) {
  if (registered_ == 0) {
    if (Status attached = Attach(); !attached.ok()) return attached;
  }
  if (bpf_map_update_elem(bpf_map__fd(object_->maps.groups), &pidfd, &client_id, BPF_ANY) != 0) {
    const int error = errno;
    if (registered_ == 0) Detach();
    if (error == ESRCH || error == ENOENT) {
      return Status(ErrorCode::kNotFound, "the process is over");
    }
    return Status(ErrorCode::kInternal,
                  std::string("following a process: ") + std::strerror(error));
  }
  ++registered_;
  return Status::Ok();
}

void BpfProbes::Unregister(int pidfd) {
  if (registered_ == 0) return;
  // Of a process that is over the kernel has dropped it already.
  bpf_map_delete_elem(bpf_map__fd(object_->maps.groups), &pidfd);
  if (--registered_ == 0) Detach();
}

int BpfProbes::ring_fd() const { return ring_buffer__epoll_fd(ring_); }

int BpfProbes::OnRecord(void* self, void* data, size_t bytes) {
  auto* probes = static_cast<BpfProbes*>(self);
  SgprsWakeRecord record;
  if (bytes < sizeof(record)) return 0;
  std::memcpy(&record, data, sizeof(record));
  ++probes->drained_;
  (*probes->handler_)(record);
  return probes->drained_ < probes->limit_ ? 0 : kFull;
}

size_t BpfProbes::Drain(const std::function<void(const SgprsWakeRecord&)>& handler, size_t limit) {
  handler_ = &handler;
  drained_ = 0;
  limit_ = limit;
  ring_buffer__consume(ring_);  // its only error is our own kFull
  handler_ = nullptr;
  return drained_;
}

ProbeCounts BpfProbes::Counts() const {
  uint64_t sums[SGPRS_PROBE_COUNTS] = {};
  std::vector<uint64_t> of_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
  for (uint32_t i = 0; i < SGPRS_PROBE_COUNTS; ++i) {
    if (bpf_map_lookup_elem(bpf_map__fd(object_->maps.counts), &i, of_cpu.data()) != 0) continue;
    for (const uint64_t value : of_cpu) sums[i] += value;
  }
  ProbeCounts counts = {.sent = sums[SGPRS_PROBE_SENT],
                        .lost = sums[SGPRS_PROBE_LOST],
                        .short_waits = sums[SGPRS_PROBE_SHORT],
                        .mismatched = sums[SGPRS_PROBE_MISMATCHED],
                        .threads = sums[SGPRS_PROBE_THREADS],
                        .no_memory = sums[SGPRS_PROBE_NO_MEMORY]};
  ForEachProgramInfo(
      object_, [&counts](const bpf_prog_info& info) { counts.misses += info.recursion_misses; });
  return counts;
}

uint64_t BpfProbes::RunTimeNs() const {
  uint64_t total = 0;
  ForEachProgramInfo(object_, [&total](const bpf_prog_info& info) { total += info.run_time_ns; });
  return total;
}

}  // namespace sgprs::kernel
