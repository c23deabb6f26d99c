// SPDX-License-Identifier: Apache-2.0
// Reads the state segment of sgprsd (include/sgprs/abi/state.h). Watching costs the daemon nothing:
// it never learns that it is read.
#ifndef SGPRS_TOOLS_SGPRS_STATE_READER_H_
#define SGPRS_TOOLS_SGPRS_STATE_READER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "sgprs/abi/state.h"

namespace sgprs::cli {

// What was there at one moment; each row is consistent in itself.
struct StateSnapshot {
  SgprsStateHeader header = {};
  uint64_t read_ns = 0;             // when it was read
  std::vector<SgprsTaskRow> tasks;  // rows in use, in the segment's order; names NUL-terminated
  std::vector<SgprsPartitionRow> partitions;
  uint32_t torn_rows = 0;  // rows left out: the writer died, or never paused, while writing them
};

// One thread at a time. Owns the mapping. Nothing blocks.
class StateReader {
 public:
  // Maps `fd` read-only and checks the header against the file's size. Errors: kRefused (another
  // version), kInternal (not a state segment, or one that does not fit its file).
  static Result<std::unique_ptr<StateReader>> Open(UniqueFd fd);
  ~StateReader();
  StateReader(const StateReader&) = delete;
  StateReader& operator=(const StateReader&) = delete;

  // Error kUnavailable: the header itself can not be read in one piece.
  Result<StateSnapshot> Read(uint64_t now_ns) const;

 private:
  StateReader(UniqueFd fd, void* address, size_t bytes, const SgprsStateHeader& layout)
      : fd_(std::move(fd)), address_(address), bytes_(bytes), layout_(layout) {}
  const char* At(uint64_t offset) const { return static_cast<const char*>(address_) + offset; }

  UniqueFd fd_;
  void* address_;
  size_t bytes_;
  SgprsStateHeader layout_;  // as checked by Open(); offsets and counts never change
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_STATE_READER_H_
