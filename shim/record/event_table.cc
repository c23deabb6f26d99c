// SPDX-License-Identifier: Apache-2.0
#include "shim/record/event_table.h"

namespace sgprs::shim {

namespace {
// Of a cell whose event is gone. Never a handle of the driver's.
CUevent Free() { return reinterpret_cast<CUevent>(1); }
uint32_t FirstCell(CUevent event) {
  return static_cast<uint32_t>((reinterpret_cast<uint64_t>(event) * 0x9e3779b97f4a7c15ull) >> 40);
}
constexpr uint32_t kProbes = 64;
}  // namespace

EventTable::Cell* EventTable::CellOf(CUevent event) {
  if (event == nullptr || event == Free()) return nullptr;
  for (uint32_t probe = 0, at = FirstCell(event); probe < kProbes; ++probe, ++at) {
    Cell* cell = &cells_[at & (kCells - 1)];
    // Acquire pairs with Made().
    const CUevent handle = cell->handle.load(std::memory_order_acquire);
    if (handle == event) return cell;
    if (handle == nullptr) return nullptr;
  }
  return nullptr;
}

void EventTable::Made(CUevent event, CUcontext context) {
  Cell* cell = CellOf(event);  // a handle that was given out again without our seeing its end
  for (uint32_t probe = 0, at = FirstCell(event); cell == nullptr && probe < kProbes;
       ++probe, ++at) {
    Cell* free = &cells_[at & (kCells - 1)];
    CUevent handle = free->handle.load(std::memory_order_relaxed);
    if (handle != nullptr && handle != Free()) continue;
    // Reserved by a null context first: nobody asks for the event before its maker knows it.
    if (free->handle.compare_exchange_strong(handle, event, std::memory_order_acq_rel)) cell = free;
  }
  if (cell == nullptr) return;  // a full neighbourhood: the driver's, then
  cell->upto.store(0, std::memory_order_relaxed);
  cell->capture.store(0, std::memory_order_relaxed);
  cell->never_defer.store(false, std::memory_order_relaxed);
  cell->context.store(context, std::memory_order_release);
}

void EventTable::Gone(CUevent event) {
  Cell* cell = CellOf(event);
  if (cell == nullptr) return;
  cell->context.store(nullptr, std::memory_order_relaxed);
  cell->handle.store(Free(), std::memory_order_release);
}

CUcontext EventTable::ContextOf(CUevent event) {
  const Cell* cell = CellOf(event);
  return cell != nullptr ? cell->context.load(std::memory_order_acquire) : nullptr;
}

void EventTable::NeverDefer(CUevent event) {
  if (Cell* cell = CellOf(event)) cell->never_defer.store(true, std::memory_order_relaxed);
}

bool EventTable::Deferrable(CUevent event) {
  const Cell* cell = CellOf(event);
  return cell != nullptr && cell->context.load(std::memory_order_acquire) != nullptr &&
         !cell->never_defer.load(std::memory_order_relaxed);
}

void EventTable::ResetAfterFork() {
  for (Cell& cell : cells_) cell.handle.store(nullptr, std::memory_order_relaxed);
}

uint64_t EventTable::Upto(CUevent event) {
  const Cell* cell = CellOf(event);
  // Acquire pairs with Note().
  return cell != nullptr ? cell->upto.load(std::memory_order_acquire) : 0;
}

void EventTable::Note(CUevent event, uint64_t upto) {
  Cell* cell = CellOf(event);
  if (cell == nullptr) return;
  cell->upto.store(upto, std::memory_order_release);
  // Relaxed here and below: one event is recorded by one thread at a time.
  if (cell->capture.load(std::memory_order_relaxed) != 0) {
    cell->capture.store(0, std::memory_order_relaxed);
  }
}

void EventTable::NoteCaptured(CUevent event, uint64_t id) {
  if (Cell* cell = CellOf(event)) cell->capture.store(id, std::memory_order_relaxed);
}

uint64_t EventTable::CaptureOf(CUevent event) {
  const Cell* cell = CellOf(event);
  return cell != nullptr ? cell->capture.load(std::memory_order_relaxed) : 0;
}

EventTable* TheEventTable() {
  static constinit EventTable table;
  return &table;
}

}  // namespace sgprs::shim
