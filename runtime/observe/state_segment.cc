// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/state_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstring>
#include <string>

namespace sgprs::observe {
namespace {

namespace bip = boost::interprocess;

// What mapped_region wants of a thing it maps.
class FdMapping {
 public:
  explicit FdMapping(int fd) { handle_.handle = fd, handle_.is_xsi = false; }
  bip::mapping_handle_t get_mapping_handle() const { return handle_; }

 private:
  bip::mapping_handle_t handle_;
};

constexpr uint64_t kPartitionsOffset = 4096;
constexpr uint64_t kTasksOffset = 8192;
static_assert(sizeof(SgprsStateHeader) <= kPartitionsOffset);
static_assert(kPartitionsOffset + SGPRS_MAX_PARTITIONS * sizeof(SgprsPartitionRow) <= kTasksOffset);
constexpr uint64_t kStateBytes =
    (kTasksOffset + SGPRS_MAX_TASKS * sizeof(SgprsTaskRow) + 4095) / 4096 * 4096;
constexpr size_t kGuardedOffset = offsetof(SgprsStateHeader, pid);

Status SystemError(const char* what) {
  return Status(ErrorCode::kInternal,
                std::string("state segment: ") + what + ": " + std::strerror(errno));
}

// Word by word, so that a reader in another process races with atomics only. Relaxed: the
// seqcount's fences order them.
void CopyWords(void* to, const void* from, size_t bytes) {
  auto* words = static_cast<uint32_t*>(to);
  const auto* source = static_cast<const uint32_t*>(from);
  for (size_t i = 0; i < bytes / sizeof(uint32_t); ++i) {
    std::atomic_ref<uint32_t>(words[i]).store(source[i], std::memory_order_relaxed);
  }
}

// Odd while it is written. The one writer is this thread.
void GuardedCopy(uint32_t* seqcount, void* to, const void* from, size_t bytes) {
  std::atomic_ref<uint32_t> count(*seqcount);
  const uint32_t before = count.load(std::memory_order_relaxed);  // own value
  count.store(before + 1, std::memory_order_relaxed);
  // Release fence pairs with the reader's acquire fence: who sees new words sees the odd count.
  std::atomic_thread_fence(std::memory_order_release);
  CopyWords(to, from, bytes);
  // Release pairs with the reader's first acquire load of the count.
  count.store(before + 2, std::memory_order_release);
}

void LayOut(SgprsStateHeader* header) {
  header->magic = SGPRS_STATE_MAGIC;
  header->major = SGPRS_ABI_MAJOR;
  header->minor = SGPRS_ABI_MINOR;
  header->total_bytes = kStateBytes;
  header->header_bytes = sizeof(SgprsStateHeader);
  header->task_rows = SGPRS_MAX_TASKS;
  header->task_row_bytes = sizeof(SgprsTaskRow);
  header->partition_rows = SGPRS_MAX_PARTITIONS;
  header->partition_row_bytes = sizeof(SgprsPartitionRow);
  header->tasks_offset = kTasksOffset;
  header->partitions_offset = kPartitionsOffset;
}

template <typename Row>
void WriteRow(char* row, const Row& from) {
  // `seqcount` is the first field of every row.
  GuardedCopy(reinterpret_cast<uint32_t*>(row), row + sizeof(uint32_t),
              reinterpret_cast<const char*>(&from) + sizeof(uint32_t),
              sizeof(Row) - sizeof(uint32_t));
}

}  // namespace

StateSegment::StateSegment() = default;
StateSegment::~StateSegment() = default;

Result<std::unique_ptr<StateSegment>> StateSegment::Create() {
  std::unique_ptr<StateSegment> state(new StateSegment);
  state->fd_.reset(memfd_create("sgprs-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = state->fd_.get();
  if (fd < 0) return SystemError("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(kStateBytes)) != 0) return SystemError("ftruncate");
  try {
    state->region_ =
        std::make_unique<bip::mapped_region>(FdMapping(fd), bip::read_write, 0, kStateBytes);
  } catch (const bip::interprocess_exception& error) {
    return Status(ErrorCode::kExhausted, std::string("mapping the state segment: ") + error.what());
  }
  // After the one writable mapping: nobody else gets one, whatever descriptor he opens.
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) !=
      0) {
    return SystemError("F_ADD_SEALS");
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  state->reader_fd_.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!state->reader_fd_.valid()) return SystemError(path.c_str());
  LayOut(state->header());
  return state;
}

uint64_t StateSegment::bytes() const { return kStateBytes; }

SgprsStateHeader* StateSegment::header() {
  return static_cast<SgprsStateHeader*>(region_->get_address());
}

std::optional<uint32_t> StateSegment::TakeRow() {
  if (fresh_rows_used_ < SGPRS_MAX_TASKS) return fresh_rows_used_++;
  if (gone_.empty()) return std::nullopt;
  const uint32_t row = gone_.front();
  gone_.pop_front();
  return row;
}

void StateSegment::WriteTask(uint32_t row, const SgprsTaskRow& task) {
  WriteRow(static_cast<char*>(region_->get_address()) + kTasksOffset + row * sizeof(SgprsTaskRow),
           task);
}

void StateSegment::WritePartition(uint32_t index, const SgprsPartitionRow& partition) {
  WriteRow(static_cast<char*>(region_->get_address()) + kPartitionsOffset +
               index * sizeof(SgprsPartitionRow),
           partition);
}

void StateSegment::WriteHeader(const SgprsStateHeader& from) {
  GuardedCopy(&header()->seqcount, reinterpret_cast<char*>(header()) + kGuardedOffset,
              reinterpret_cast<const char*>(&from) + kGuardedOffset,
              sizeof(SgprsStateHeader) - kGuardedOffset);
}

void StateSegment::SetAliveNs(uint64_t now_ns) {
  // Relaxed: a lone word.
  std::atomic_ref<uint64_t>(header()->alive_ns).store(now_ns, std::memory_order_relaxed);
}

}  // namespace sgprs::observe
