// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/bpf_probes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace sgprs::kernel {
namespace {

constexpr int kFull = -EAGAIN;  // what OnRecord() says to stop a drain

// libbpf's own messages are for whoever writes probes; errors of calls are enough for users.
int Quiet(libbpf_print_level, const char*, va_list) { return 0; }

bool KernelHasBtf() {
  btf* types = btf__load_vmlinux_btf();
  const bool has = libbpf_get_error(types) == 0 && types != nullptr;
  if (has) btf__free(types);
  return has;
}

}  // namespace

Result<std::unique_ptr<BpfProbes>> BpfProbes::Make(const ProbeOptions& options) {
  libbpf_set_print(Quiet);
  std::unique_ptr<BpfProbes> probes(new BpfProbes);
  if (!KernelHasBtf()) {
    const std::string no_btf =
        "the kernel tells nothing of its types (no BTF in "
        "/sys/kernel/btf/vmlinux)";
    if (Status opened = probes->Open(BpfProgram::kPlain, options); !opened.ok()) {
      return Status(ErrorCode::kNotFound, no_btf + ", and without: " + opened.text());
    }
    probes->level_ = ProbeLevel::kPlain;
    probes->why_ = no_btf + ": no overdue sleeps, no check by the kernel's count of switches";
    return probes;
  }
  if (Status opened = probes->Open(BpfProgram::kRelease, options); !opened.ok()) return opened;
  probes->level_ = geteuid() == 0 ? ProbeLevel::kRoot : ProbeLevel::kCapabilities;
  if (probes->level_ != ProbeLevel::kRoot) probes->why_ = "loaded without root";
  return probes;
}

BpfProbes::~BpfProbes() { ring_buffer__free(ring_); }

Status BpfProbes::Open(BpfProgram program, const ProbeOptions& options) {
  Result<std::unique_ptr<BpfObject>> object = BpfObject::Load(program, options);
  if (!object.ok()) return object.status();
  object_ = std::move(*object);
  // Attaching may be refused where loading is not; better now than at the first client.
  if (Status attached = object_->Attach(); !attached.ok()) return attached;
  object_->Detach();
  ring_ = ring_buffer__new(object_->records_fd(), OnRecord, this, nullptr);
  if (ring_ == nullptr) {
    return Status(ErrorCode::kInternal,
                  std::string("mapping the probes' ring: ") + std::strerror(errno));
  }
  return Status::Ok();
}

std::optional<int> BpfProbes::KeyOf(int pidfd) const {
  if (level_ != ProbeLevel::kPlain) return pidfd;
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  std::string word;
  int pid = -1;
  while (info >> word) {
    if (word == "Pid:" && info >> pid) break;
  }
  return pid > 0 ? std::optional<int>(pid) : std::nullopt;
}

Status BpfProbes::Register(int pidfd, uint64_t client_id) {
  const std::optional<int> key = KeyOf(pidfd);
  if (!key) return Status(ErrorCode::kNotFound, "the process is over");
  if (registered_ == 0) {
    if (Status attached = object_->Attach(); !attached.ok()) return attached;
  }
  if (bpf_map_update_elem(object_->groups_fd(), &*key, &client_id, BPF_ANY) != 0) {
    const int error = errno;
    if (registered_ == 0) object_->Detach();
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
  if (const std::optional<int> key = KeyOf(pidfd)) {
    bpf_map_delete_elem(object_->groups_fd(), &*key);
  }
  if (--registered_ == 0) object_->Detach();
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

}  // namespace sgprs::kernel
