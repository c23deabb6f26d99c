// SPDX-License-Identifier: Apache-2.0
// What the hooks of all families share.
#ifndef SGPRS_SHIM_HOOKS_H_
#define SGPRS_SHIM_HOOKS_H_

#include <cuda.h>

#include <cstdint>

#include "shim/issue/virtual_stream.h"
#include "shim/session.h"

namespace sgprs::shim {

// Row of the stream that a recordable call goes to, or nullptr: then the call is the driver's.
// Registers the process at its first such call.
VirtualStream* RecordableStream(CUstream stream, bool per_thread_api);

// Before a call that goes to the driver on the application's own stream: drains, and opens the
// call. It counts as under way until the thread's next entry into the shim, or CloseDirect().
// `leaves_work` false: the call puts nothing on any stream.
void BeforeDirect(bool leaves_work = true);
// The thread's direct call, if one is open, is over.
void CloseDirect();
// The same for a kernel launch, which is counted as bypassed. Not CUDA_SUCCESS: it may not run.
CUresult BeforeDirectLaunch();

// Result of a synchronising call, or the first error of an item that was issued late.
CUresult WithDeferredError(CUresult result);

// Latest recorded use of an application's event.
class EventTable {
 public:
  // Process index after the latest recorded item that uses `event`; 0 = none.
  uint64_t Upto(CUevent event);
  void Note(CUevent event, uint64_t upto);
  // The event is shared with other processes: its records must be the driver's at once.
  void NeverDefer(CUevent event);
  bool Deferrable(CUevent event);
  // Only for a forked child.
  void ResetAfterFork();

 private:
  struct Cell {
    std::atomic<CUevent> handle;
    std::atomic<uint64_t> upto;
    std::atomic<bool> never_defer;
  };
  static constexpr uint32_t kCells = 16384;
  Cell* CellOf(CUevent event, bool make);
  Cell cells_[kCells];
  std::atomic<uint64_t> overflow_;  // of events that found no cell
};
EventTable* TheEventTable();

// True if the item before process index `upto` was handed to the driver.
inline bool IsIssued(uint64_t upto) {
  return TheSession()->issued.load(std::memory_order_acquire) >= upto;
}

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_HOOKS_H_
