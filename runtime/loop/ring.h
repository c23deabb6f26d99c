// SPDX-License-Identifier: Apache-2.0
// A thin owner of one io_uring: set-up with the best flags that the kernel takes, a probe of
// IORING_OP_FUTEX_WAIT, and submission entries that never come back null.
//
// Thread: the one that runs the loop. Kernel: 5.19 or newer.
#ifndef SGPRS_RUNTIME_LOOP_RING_H_
#define SGPRS_RUNTIME_LOOP_RING_H_

#include <liburing.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/result.h"

namespace sgprs::loop {

class Ring {
 public:
  // Errors: kUnavailable (no io_uring here: old kernel, or forbidden by a sandbox), kExhausted.
  static Result<std::unique_ptr<Ring>> Make();
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  bool has_futex_wait() const { return has_futex_wait_; }

  // Each prepares one request; it goes to the kernel at the next Wait().
  void PreparePoll(int fd, uint32_t events, uint64_t user_data);
  void PrepareAccept(int fd, uint64_t user_data);  // multishot, SOCK_CLOEXEC | SOCK_NONBLOCK
  // Completes with 0 when woken, with -EAGAIN when `word` differs from `expected` at submission.
  void PrepareFutexWait(uint32_t* word, uint32_t expected, uint64_t user_data);
  void PrepareCancel(uint64_t user_data);

  struct Event {
    uint64_t user_data = 0;
    int32_t result = 0;
    bool more = false;  // a multishot request goes on
  };
  // Submits, blocks until there is an event or `timeout_ns` passed (0 = do not block, UINT64_MAX =
  // no limit), and returns what came, at most kBatch. The span is valid until the next call.
  std::span<const Event> Wait(uint64_t timeout_ns);

  static constexpr unsigned kBatch = 256;

 private:
  Ring() = default;
  io_uring_sqe* Entry();
  bool ProbeFutexWait();

  io_uring ring_ = {};
  bool has_futex_wait_ = false;
  std::array<Event, kBatch> events_;
};

}  // namespace sgprs::loop

#endif  // SGPRS_RUNTIME_LOOP_RING_H_
