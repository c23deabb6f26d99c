// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/state_reader.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace sgprs::cli {
namespace {

constexpr int kTries = 1000;  // of a row that is being written; the writer needs well under 1 us

// The writer stores words with relaxed atomics; so does this load them.
void CopyWords(void* to, const char* from, size_t bytes) {
  auto* out = static_cast<char*>(to);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    // const_cast: atomic_ref has no const form in C++20; a 64-bit load writes nothing.
    auto* word = reinterpret_cast<uint64_t*>(const_cast<char*>(from + at));
    // relaxed: the seqcount around the copy tells whether the words belong together.
    const uint64_t value = std::atomic_ref<uint64_t>(*word).load(std::memory_order_relaxed);
    std::memcpy(out + at, &value, sizeof(value));
  }
}

// Copies a record guarded by the seqcount at `seqcount_offset` in it. False: torn.
bool CopyGuarded(void* to, const char* from, size_t bytes, size_t seqcount_offset) {
  auto* word = reinterpret_cast<uint32_t*>(const_cast<char*>(from + seqcount_offset));
  std::atomic_ref<uint32_t> seqcount(*word);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (attempt > 10) sched_yield();
    // acquire: pairs with the writer's release store of the even count; the copy comes after it.
    const uint32_t before = seqcount.load(std::memory_order_acquire);
    if ((before & 1) != 0) continue;
    CopyWords(to, from, bytes);
    // acquire fence: the copy comes before the second look; pairs with the writer's release fence
    // after its store of the odd count.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (seqcount.load(std::memory_order_relaxed) == before) return true;
  }
  return false;
}

Status CheckArray(const SgprsStateHeader& header, uint64_t offset, uint64_t rows,
                  uint64_t row_bytes, uint64_t least_bytes, const char* what) {
  const bool fits = row_bytes >= least_bytes && row_bytes % 8 == 0 && offset % 8 == 0 &&
                    offset >= sizeof(SgprsStateHeader) && offset <= header.total_bytes &&
                    rows * row_bytes <= header.total_bytes - offset;
  if (fits) return Status::Ok();
  return Status(ErrorCode::kInternal,
                fmt::format("the state segment's {} do not fit: {} rows of {} bytes at {} of {}",
                            what, rows, row_bytes, offset, header.total_bytes));
}

Status CheckLayout(const SgprsStateHeader& header, uint64_t file_bytes) {
  if (header.magic != SGPRS_STATE_MAGIC) {
    return Status(ErrorCode::kInternal, "not a state segment of sgprsd");
  }
  if (header.major != SGPRS_ABI_MAJOR) {
    return Status(ErrorCode::kRefused,
                  fmt::format("sgprsd's state has version {}, this sgprs reads version {}: use "
                              "programs of one build",
                              header.major, SGPRS_ABI_MAJOR));
  }
  if (header.total_bytes > file_bytes || header.header_bytes < sizeof(SgprsStateHeader)) {
    return Status(ErrorCode::kInternal, "the state segment is cut short");
  }
  Status tasks = CheckArray(header, header.tasks_offset, header.task_rows, header.task_row_bytes,
                            sizeof(SgprsTaskRow), "tasks");
  if (!tasks.ok()) return tasks;
  return CheckArray(header, header.partitions_offset, header.partition_rows,
                    header.partition_row_bytes, sizeof(SgprsPartitionRow), "partitions");
}

}  // namespace

Result<std::unique_ptr<StateReader>> StateReader::Open(UniqueFd fd) {
  struct stat file = {};
  if (fstat(fd.get(), &file) != 0) {
    return Status(ErrorCode::kInternal, std::string("state segment: ") + std::strerror(errno));
  }
  const auto bytes = static_cast<size_t>(file.st_size);
  if (bytes < sizeof(SgprsStateHeader)) {
    return Status(ErrorCode::kInternal, "the state segment is cut short");
  }
  void* address = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) {
    return Status(ErrorCode::kInternal, std::string("state segment: ") + std::strerror(errno));
  }
  SgprsStateHeader layout;
  CopyWords(&layout, static_cast<const char*>(address), sizeof(layout));
  std::unique_ptr<StateReader> reader(new StateReader(std::move(fd), address, bytes, layout));
  Status fits = CheckLayout(layout, bytes);
  if (!fits.ok()) return fits;
  return reader;
}

StateReader::~StateReader() { munmap(address_, bytes_); }

Result<StateSnapshot> StateReader::Read(uint64_t now_ns) const {
  StateSnapshot snapshot;
  snapshot.read_ns = now_ns;
  if (!CopyGuarded(&snapshot.header, At(0), sizeof(SgprsStateHeader),
                   offsetof(SgprsStateHeader, seqcount))) {
    return Status(ErrorCode::kUnavailable, "sgprsd's state can not be read: did it die?");
  }
  snapshot.header.policy[SGPRS_NAME_BYTES - 1] = '\0';
  snapshot.header.device_name[SGPRS_NAME_BYTES - 1] = '\0';
  snapshot.header.overload[sizeof(snapshot.header.overload) - 1] = '\0';
  snapshot.header.admission[sizeof(snapshot.header.admission) - 1] = '\0';
  for (uint32_t i = 0; i < layout_.task_rows; ++i) {
    SgprsTaskRow row;
    const char* from = At(layout_.tasks_offset + uint64_t{i} * layout_.task_row_bytes);
    if (!CopyGuarded(&row, from, sizeof(row), offsetof(SgprsTaskRow, seqcount))) {
      ++snapshot.torn_rows;
    } else if (row.state != SGPRS_TASK_NONE) {
      row.name[SGPRS_NAME_BYTES - 1] = '\0';
      row.program[SGPRS_NAME_BYTES - 1] = '\0';
      snapshot.tasks.push_back(row);
    }
  }
  const uint32_t partitions = std::min(snapshot.header.partition_count, layout_.partition_rows);
  for (uint32_t i = 0; i < partitions; ++i) {
    SgprsPartitionRow row;
    const char* from = At(layout_.partitions_offset + uint64_t{i} * layout_.partition_row_bytes);
    if (!CopyGuarded(&row, from, sizeof(row), offsetof(SgprsPartitionRow, seqcount))) {
      ++snapshot.torn_rows;
    } else {
      snapshot.partitions.push_back(row);
    }
  }
  return snapshot;
}

}  // namespace sgprs::cli
