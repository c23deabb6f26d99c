// SPDX-License-Identifier: Apache-2.0
// Records a driver call: an entry for the issuer, a slot for the runtime, the cursor, the bells.
//
//   RecordScope scope(stream, EntryKind::kFill, 0);
//   if (!scope) return Direct...;      // recording is off: the call is the driver's
//   scope.entry()->fill = {...};
//   scope.Commit();
//
// Thread: any of the application's. Begin() waits for room as on a full driver queue; everything
// else is bounded by a few memory writes. No system call while issuer and runtime are awake.
#ifndef SGPRS_SHIM_RECORD_RECORDER_H_
#define SGPRS_SHIM_RECORD_RECORDER_H_

#include <cuda.h>

#include <cstdint>

#include "shim/record/entry.h"
#include "shim/session.h"

namespace sgprs::shim {

class RecordScope {
 public:
  // Takes the record lock. `arena_bytes`: room for copied arguments, 64-byte aligned.
  RecordScope(VirtualStream* stream, EntryKind kind, uint32_t arena_bytes);
  // Gives the entry up if Commit() was not called.
  ~RecordScope();
  RecordScope(const RecordScope&) = delete;
  RecordScope& operator=(const RecordScope&) = delete;

  explicit operator bool() const { return entry_ != nullptr; }
  Entry* entry() { return entry_; }
  unsigned char* arena() { return arena_; }
  // Publishes the entry. `bytes`: size of a copy or fill, for the runtime.
  void Commit(uint64_t bytes);
  // Process index of the entry.
  uint64_t index() const { return index_; }

 private:
  bool WaitForRoom(uint32_t arena_bytes);
  void WriteSlot(uint64_t bytes, uint64_t now_ns, uint64_t gap_ns, uint8_t slot_flags);

  Session* session_;
  Entry* entry_ = nullptr;
  unsigned char* arena_ = nullptr;
  uint64_t index_ = 0;
};

// Sleeps until the issuer has handed everything before process index `upto` to the driver.
void WaitIssued(Session* session, uint64_t upto);

// The same for everything recorded, `limit_ns` at most.
void WaitIssuedAtMost(Session* session, uint64_t limit_ns);

// Waits until the completer has told of everything issued, `limit_ns` at most.
void WaitCompleted(Session* session, uint64_t limit_ns);

// A blocking call of the application begins/ends: job borders hang on it.
void NoteBlockingCall(Session* session, uint64_t upto);
void NoteBlockingCallEnd(Session* session);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_RECORD_RECORDER_H_
