// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/call_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "runtime/base/environment.h"
#include "shim/interpose/calls.h"
#include "shim/interpose/errno_guard.h"
#include "shim/interpose/interpose.h"

namespace sgprs::shim {
namespace {

constinit std::atomic<SgprsCallCounts*> g_counts{nullptr};
constinit std::atomic<uint32_t> g_asked{0};  // 1 = somebody looks, 2 = looked
thread_local uint32_t t_call = 0;

constexpr size_t kBytes = sizeof(SgprsCallCounts) + sizeof(SgprsCallRow) * kCallLimit;

SgprsCallRow* RowOf(SgprsCallCounts* counts, uint32_t index) {
  return reinterpret_cast<SgprsCallRow*>(counts + 1) + index;
}

// Relaxed: statistics, read when the process is gone.
void Add(uint64_t* count) {
  std::atomic_ref<uint64_t>(*count).fetch_add(1, std::memory_order_relaxed);
}

int MakeFile(const char* directory) {
  char path[512];
  for (int i = 0; i < 100; ++i) {
    snprintf(path, sizeof(path), i == 0 ? "%s/%d.calls" : "%s/%d-%d.calls", directory, getpid(), i);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

SgprsCallCounts* Map(const char* directory) {
  const int fd = MakeFile(directory);
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  if (ftruncate(fd, kBytes) == 0) {
    at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (at == MAP_FAILED) return nullptr;
  auto* counts = static_cast<SgprsCallCounts*>(at);
  counts->magic = SGPRS_CALLS_MAGIC;
  counts->major = SGPRS_ABI_MAJOR;
  counts->minor = SGPRS_ABI_MINOR;
  counts->pid = static_cast<uint32_t>(getpid());
  counts->row_count = kCallLimit;
  snprintf(counts->program, sizeof(counts->program), "%s", program_invocation_short_name);
  return counts;
}

}  // namespace

SgprsCallCounts* CallCounts() {
  // Acquire pairs with OpenCallCounts(): the header is whole.
  return g_counts.load(std::memory_order_acquire);
}

SgprsCallCounts* OpenCallCounts() {
  uint32_t none = 0;
  if (g_asked.load(std::memory_order_acquire) == 0 &&
      g_asked.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
    ErrnoGuard keep_errno;
    const char* directory = env::Get(env::kDoctor);
    if (directory != nullptr) g_counts.store(Map(directory), std::memory_order_release);
    g_asked.store(2, std::memory_order_release);
  }
  // A symbol that another thread binds in this moment is not counted.
  return CallCounts();
}

void CountCall(uint32_t index) {
  t_call = index;
  SgprsCallCounts* counts = CallCounts();
  if (counts == nullptr) return;
  SgprsCallRow* row = RowOf(counts, index);
  if (std::atomic_ref<uint64_t>(row->calls).fetch_add(1, std::memory_order_relaxed) == 0) {
    row->treatment = TreatmentOf(index);
    snprintf(row->name, sizeof(row->name), "%s", CallName(index));
  }
}

void CountRecorded() {
  if (SgprsCallCounts* counts = CallCounts()) Add(&RowOf(counts, t_call)->recorded);
}
void CountDrained() {
  if (SgprsCallCounts* counts = CallCounts()) Add(&RowOf(counts, t_call)->drained);
}
void CountEscape(SgprsEscape why) {
  SgprsCallCounts* counts = CallCounts();
  if (counts == nullptr) return;
  Add(&RowOf(counts, t_call)->escaped);
  Add(&counts->escapes[why]);
}

void CountText(char* field, const char* text) {
  snprintf(field, SGPRS_CALLS_TEXT_BYTES, "%s", text);
}

}  // namespace sgprs::shim
