// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "bpf/probe_shared.h"
#include "runtime/kernel/wait_calls.h"

// Made by bpftool from bpf/*.bpf.c; only the objects' bytes are used.
#include "bpf/plain.skel.h"
#include "bpf/release.skel.h"

namespace sgprs::kernel {
namespace {

Status Refused(const std::string& what, int error) {
  if (error == EPERM || error == EACCES) {
    return Status(ErrorCode::kUnavailable,
                  what + " is not permitted: needs CAP_BPF and CAP_PERFMON, or root");
  }
  return Status(ErrorCode::kUnavailable,
                what + ": " + std::strerror(error) + " (the probes need kernel 5.18 or newer)");
}

// Calls `use` with the kernel's account of each program.
template <typename Use>
void ForEachProgramInfo(const bpf_object* object, Use use) {
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object, program)) != nullptr) {
    bpf_prog_info info = {};
    uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0) use(info);
  }
}

}  // namespace

Result<std::unique_ptr<BpfObject>> BpfObject::Load(BpfProgram program,
                                                   const ProbeOptions& options) {
  std::unique_ptr<BpfObject> loaded(new BpfObject);
  size_t bytes = 0;
  const void* data = program == BpfProgram::kRelease ? release_bpf__elf_bytes(&bytes)
                                                     : plain_bpf__elf_bytes(&bytes);
  loaded->object_ = bpf_object__open_mem(data, bytes, nullptr);
  if (loaded->object_ == nullptr) return Refused("opening the probes", errno);
  if (Status configured = loaded->Configure(options); !configured.ok()) return configured;
  if (const int error = bpf_object__load(loaded->object_)) {
    return Refused("loading the probes", -error);
  }
  return loaded;
}

BpfObject::~BpfObject() {
  Detach();
  bpf_object__close(object_);
}

Status BpfObject::Configure(const ProbeOptions& options) {
  groups_ = bpf_object__find_map_by_name(object_, "groups");
  records_ = bpf_object__find_map_by_name(object_, "records");
  counts_ = bpf_object__find_map_by_name(object_, "counts");
  bpf_map* settings = bpf_object__find_map_by_name(object_, SGPRS_PROBE_SETTINGS_SECTION);
  if (groups_ == nullptr || records_ == nullptr || counts_ == nullptr || settings == nullptr) {
    return Status(ErrorCode::kInternal, "the probes' object lacks a map");
  }
  SgprsProbeSettings values = {.min_wait_ns = options.min_wait_ns,
                               .wake_reader_bytes = options.ring_bytes / 2,
                               .clock_nanosleep = __NR_clock_nanosleep};
  FillWaitTable(values.wait_of_syscall);
  if (const int error = bpf_map__set_initial_value(settings, &values, sizeof(values))) {
    return Refused("configuring the probes", -error);
  }
  if (const int error = bpf_map__set_max_entries(records_, options.ring_bytes)) {
    return Refused("a ring of " + std::to_string(options.ring_bytes) + " bytes", -error);
  }
  return Status::Ok();
}

Status BpfObject::Attach() {
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object_, program)) != nullptr) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) {
      const int error = errno;
      Detach();
      return Refused(std::string("attaching the probe ") + bpf_program__name(program), error);
    }
    links_.push_back(link);
  }
  return Status::Ok();
}

void BpfObject::Detach() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  links_.clear();
}

int BpfObject::groups_fd() const { return bpf_map__fd(groups_); }
int BpfObject::records_fd() const { return bpf_map__fd(records_); }

ProbeCounts BpfObject::Counts() const {
  uint64_t sums[SGPRS_PROBE_COUNTS] = {};
  std::vector<uint64_t> of_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
  for (uint32_t i = 0; i < SGPRS_PROBE_COUNTS; ++i) {
    if (bpf_map_lookup_elem(bpf_map__fd(counts_), &i, of_cpu.data()) != 0) continue;
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

uint64_t BpfObject::RunTimeNs() const {
  uint64_t total = 0;
  ForEachProgramInfo(object_, [&total](const bpf_prog_info& info) { total += info.run_time_ns; });
  return total;
}

}  // namespace sgprs::kernel
