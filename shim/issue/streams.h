// SPDX-License-Identifier: Apache-2.0
// Virtual streams: finding them, where their next item goes, what must be waited for, and joining
// everything back into the application's own streams.
#ifndef SGPRS_SHIM_ISSUE_STREAMS_H_
#define SGPRS_SHIM_ISSUE_STREAMS_H_

#include <cuda.h>

#include <cstdint>

#include "sgprs/abi/abi.h"
#include "shim/issue/virtual_stream.h"
#include "shim/session.h"

namespace sgprs::shim {

// The row of the application's stream `stream` (0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a
// handle); `per_thread_api`: 0 means the per-thread stream. Makes it on first sight. nullptr: no
// stream of the context that this process is scheduled in, so the call is the driver's to judge.
// Application threads. No lock to be held.
VirtualStream* FindStream(Session* session, CUstream stream, bool per_thread_api);

// --- under issue_lock ---

// The stand-in for `stream` in `partition` at `level`, already made to follow everything that its
// next item must follow. nullptr: no stand-in could be made (go by the anchor).
// `switched`: set if the item before ran elsewhere.
CUstream PrepareTarget(Session* session, VirtualStream* stream, uint32_t partition,
                       SgprsLevel level, bool wait_anchor, bool* switched);
// The item went to `target`.
void NoteIssued(VirtualStream* stream, CUstream target, uint32_t partition);
// Makes `stream`'s anchor follow its stand-ins (issuer: for items that must run on the anchor).
// False for another thread's per-thread stream.
bool JoinAnchor(Session* session, VirtualStream* stream);

// --- record_lock and issue_lock taken inside ---

// Everything recorded is issued, and every anchor that this thread can name follows it. Afterwards
// the application's streams are as the application believes them to be.
void DrainAll(Session* session);

// The stream at whose end all of `stream`'s issued work is done: to be waited for or asked.
CUstream TailOf(Session* session, VirtualStream* stream);

// The application destroys `stream`. Call after DrainAll().
void ForgetStream(Session* session, CUstream stream);
// All rows of a context that is going away; after DrainAll(). nullptr = of every context.
void ForgetContext(Session* session, CUcontext context);
// The pool is rebuilt: all stand-ins join their anchors and are destroyed. Both locks held.
void DropStandIns(Session* session);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_STREAMS_H_
