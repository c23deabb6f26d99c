// SPDX-License-Identifier: Apache-2.0
// The state segment (include/sgprs/abi/state.h): a memfd that only this process can write and that
// tools map read-only. Sealed against shrinking, growing and new writable mappings.
//
// Thread: the loop's. Nothing blocks or allocates after Create(). Readers retry by seqcount and are
// never waited for.
#ifndef SGPRS_RUNTIME_OBSERVE_STATE_SEGMENT_H_
#define SGPRS_RUNTIME_OBSERVE_STATE_SEGMENT_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "sgprs/abi/state.h"

namespace boost::interprocess {
class mapped_region;
}

namespace sgprs::observe {

class StateSegment {
 public:
  // Errors: kExhausted, kInternal.
  static Result<std::unique_ptr<StateSegment>> Create();
  ~StateSegment();

  // Read-only descriptor to pass to tools. Owned by this object.
  int reader_fd() const { return reader_fd_.get(); }
  uint64_t bytes() const;

  // A row for a new task: a fresh one, else the one that has been GONE longest. nullopt: all are
  // alive.
  std::optional<uint32_t> TakeRow();
  // The row's task is gone; its last contents stay readable until the row is taken again.
  void RetireRow(uint32_t row) { gone_.push_back(row); }

  // Each writes a whole row; `seqcount` of the argument is ignored.
  void WriteTask(uint32_t row, const SgprsTaskRow& task);
  void WritePartition(uint32_t index, const SgprsPartitionRow& partition);
  // Writes what the header's seqcount guards (`pid` and all that follows).
  void WriteHeader(const SgprsStateHeader& header);
  // The heartbeat alone.
  void SetAliveNs(uint64_t now_ns);

 private:
  StateSegment();
  SgprsStateHeader* header();

  UniqueFd fd_;
  UniqueFd reader_fd_;
  std::unique_ptr<boost::interprocess::mapped_region> region_;
  uint32_t fresh_rows_used_ = 0;
  std::deque<uint32_t> gone_;
};

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_STATE_SEGMENT_H_
