// SPDX-License-Identifier: Apache-2.0
// A state segment made by hand: what a daemon of this ABI would publish.
#ifndef SGPRS_TESTS_UNIT_CLI_SEGMENT_H_
#define SGPRS_TESTS_UNIT_CLI_SEGMENT_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "runtime/base/unique_fd.h"
#include "sgprs/abi/state.h"

namespace sgprs::cli {

class Segment {
 public:
  static constexpr uint32_t kTaskRows = 4;
  static constexpr uint32_t kPartitionRows = 4;
  static constexpr uint64_t kTasksOffset = 512;
  static constexpr uint64_t kPartitionsOffset = kTasksOffset + kTaskRows * sizeof(SgprsTaskRow);
  static constexpr uint64_t kBytes = kPartitionsOffset + kPartitionRows * sizeof(SgprsPartitionRow);

  Segment() : fd_(memfd_create("segment", MFD_CLOEXEC)) {
    if (ftruncate(fd_.get(), kBytes) != 0) return;
    address_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    SgprsStateHeader* h = header();
    h->magic = SGPRS_STATE_MAGIC;
    h->major = SGPRS_ABI_MAJOR;
    h->minor = SGPRS_ABI_MINOR;
    h->total_bytes = kBytes;
    h->header_bytes = sizeof(SgprsStateHeader);
    h->task_rows = kTaskRows;
    h->task_row_bytes = sizeof(SgprsTaskRow);
    h->partition_rows = kPartitionRows;
    h->partition_row_bytes = sizeof(SgprsPartitionRow);
    h->tasks_offset = kTasksOffset;
    h->partitions_offset = kPartitionsOffset;
    std::strcpy(h->policy, "sgprs");
  }
  ~Segment() { munmap(address_, kBytes); }

  UniqueFd Fd() const { return UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3)); }
  SgprsStateHeader* header() { return static_cast<SgprsStateHeader*>(address_); }
  SgprsTaskRow* task(uint32_t i) {
    return reinterpret_cast<SgprsTaskRow*>(static_cast<char*>(address_) + kTasksOffset) + i;
  }
  SgprsPartitionRow* partition(uint32_t i) {
    return reinterpret_cast<SgprsPartitionRow*>(static_cast<char*>(address_) + kPartitionsOffset) +
           i;
  }

 private:
  UniqueFd fd_;
  void* address_ = nullptr;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TESTS_UNIT_CLI_SEGMENT_H_
