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
// Makes `target` follow everything issued on `stream` so far.
void FollowStream(Session* session, VirtualStream* stream, CUstream target);
// The item went to `target`.
void NoteIssued(VirtualStream* stream, CUstream target, uint32_t partition);
// `stream`'s anchor is about to enter capture `id`: from now on nobody touches it. Nothing of the
// stream is held.
void EnterCapture(Session* session, VirtualStream* stream, uint64_t id);
// The capture is over, and with it that of all streams that joined it.
void LeaveCapture(Session* session, uint64_t id);
// Makes `stream`'s anchor follow its stand-ins (issuer: for items that must run on the anchor).
// False for another thread's per-thread stream.
bool JoinAnchor(Session* session, VirtualStream* stream);

// --- record_lock and issue_lock taken inside ---

// Everything recorded is issued, and every anchor that this thread can name follows it. Afterwards
// the application's streams are as the application believes them to be.
void DrainAll(Session* session);

// The stand-in streams that a synchronisation with `row` has to cover besides the application's own
// stream; for the NULL stream those of all blocking streams too. Valid for ever: stand-ins are
// never destroyed. Returns their number, or room + 1 if they do not fit.
uint32_t TailsOf(Session* session, VirtualStream* row, CUstream* tails, uint32_t room);

// An attribute was set on the application's stream: stand-ins get it too.
void SetAttribute(Session* session, VirtualStream* row, CUstreamAttrID id,
                  const CUstreamAttrValue& value);
// The application is about to destroy `stream`; after DrainAll(). Its row is used again later.
void ForgetStream(Session* session, CUstream stream);
// The calling thread ends, and with it its per-thread stream. Calls no driver.
void ForgetThread(Session* session);
// The context is going away; after DrainAll().
void ForgetAllStreams(Session* session);

// --- record_lock and issue_lock held ---

// The pool is replaced: the anchors follow all stand-ins, which are left behind
// (facts/cuda.md 2.12: created once, never destroyed).
void LeavePool(Session* session);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_ISSUE_STREAMS_H_
