// SPDX-License-Identifier: Apache-2.0
#ifndef SGPRS_SHIM_RECORD_EVENT_TABLE_H_
#define SGPRS_SHIM_RECORD_EVENT_TABLE_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace sgprs::shim {

// The application's events: where each was made, and its latest recorded use. Any thread, no lock.
class EventTable {
 public:
  // The driver made it, in `context`.
  void Made(CUevent event, CUcontext context);
  // It is about to be destroyed: its cell is free for another handle.
  void Gone(CUevent event);
  // nullptr: not a known event, so the driver has to judge it.
  CUcontext ContextOf(CUevent event);
  // Process index after the latest recorded item that uses `event`; 0 = none.
  uint64_t Upto(CUevent event);
  void Note(CUevent event, uint64_t upto);
  // The event is shared with other processes: its records must be the driver's at once.
  void NeverDefer(CUevent event);
  bool Deferrable(CUevent event);
  // Recorded in capture `id`, where the driver knows it and nobody else does; until Note().
  void NoteCaptured(CUevent event, uint64_t id);
  uint64_t CaptureOf(CUevent event);  // 0 = none
  // Only for a forked child.
  void ResetAfterFork();

 private:
  struct Cell {
    std::atomic<CUevent> handle;
    std::atomic<CUcontext> context;
    std::atomic<uint64_t> upto;
    std::atomic<uint64_t> capture;
    std::atomic<bool> never_defer;
  };
  static constexpr uint32_t kCells = 16384;
  Cell* CellOf(CUevent event);
  Cell cells_[kCells];
};
EventTable* TheEventTable();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_RECORD_EVENT_TABLE_H_
