// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop/ring.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/clock.h"

namespace sgprs::loop {
namespace {

constexpr unsigned kEntries = 1024;
// liburing 2.3 and the headers of Debian 12 do not know these (kernel 6.7).
constexpr uint8_t kOpFutexWait = 51;
constexpr uint32_t kFutexSizeU32 = 2;  // FUTEX2_SIZE_U32, without FUTEX2_PRIVATE: shared
constexpr uint64_t kFutexAnyBit = 0xffffffff;
// Requests of the ring itself; the loop's ids are never 0.
constexpr uint64_t kIgnored = 0;

Status SetUp(io_uring* ring) {
  for (unsigned flags : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0u}) {
    io_uring_params params = {};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = 4 * kEntries;
    const int error = io_uring_queue_init_params(kEntries, ring, &params);
    if (error == 0) return Status::Ok();
    if (error == -EINVAL && flags != 0) continue;  // before 6.1
    const ErrorCode code =
        error == -ENOMEM || error == -EMFILE ? ErrorCode::kExhausted : ErrorCode::kUnavailable;
    return Status(code, std::string("io_uring is not available (") + std::strerror(-error) +
                            "): it needs kernel 5.19 or newer and a sandbox that allows it");
  }
  return Status(ErrorCode::kUnavailable, "io_uring is not available");
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::Make() {
  std::unique_ptr<Ring> made(new Ring);
  if (Status status = SetUp(&made->ring_); !status.ok()) {
    made->ring_.ring_fd = -1;
    return status;
  }
  made->has_futex_wait_ = made->ProbeFutexWait();
  return made;
}

Ring::~Ring() {
  if (ring_.ring_fd >= 0) io_uring_queue_exit(&ring_);
}

// Asked for real: a wait on a word that already differs completes at once with -EAGAIN.
bool Ring::ProbeFutexWait() {
  uint32_t word = 1;
  PrepareFutexWait(&word, 0, 1);
  for (const Event& event : Wait(UINT64_MAX)) {
    if (event.user_data == 1) return event.result == -EAGAIN;
  }
  return false;
}

io_uring_sqe* Ring::Entry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    io_uring_submit(&ring_);
    entry = io_uring_get_sqe(&ring_);
  }
  // Submission empties the queue, unless the kernel is out of memory for good.
  if (entry == nullptr) std::abort();
  return entry;
}

void Ring::PreparePoll(int fd, uint32_t events, uint64_t user_data) {
  io_uring_sqe* entry = Entry();
  io_uring_prep_poll_add(entry, fd, events);
  io_uring_sqe_set_data64(entry, user_data);
}

void Ring::PrepareAccept(int fd, uint64_t user_data) {
  io_uring_sqe* entry = Entry();
  io_uring_prep_multishot_accept(entry, fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  io_uring_sqe_set_data64(entry, user_data);
}

void Ring::PrepareFutexWait(uint32_t* word, uint32_t expected, uint64_t user_data) {
  io_uring_sqe* entry = Entry();
  io_uring_prep_rw(kOpFutexWait, entry, static_cast<int>(kFutexSizeU32), word, 0, expected);
  entry->addr3 = kFutexAnyBit;
  io_uring_sqe_set_data64(entry, user_data);
}

void Ring::PrepareCancel(uint64_t user_data) {
  io_uring_sqe* entry = Entry();
  io_uring_prep_cancel64(entry, user_data, 0);
  io_uring_sqe_set_flags(entry, IOSQE_CQE_SKIP_SUCCESS);
  io_uring_sqe_set_data64(entry, kIgnored);
}

std::span<const Ring::Event> Ring::Wait(uint64_t timeout_ns) {
  io_uring_cqe* first = nullptr;
  if (timeout_ns == 0) {
    io_uring_submit_and_get_events(&ring_);
  } else if (timeout_ns == UINT64_MAX) {
    io_uring_submit_and_wait(&ring_, 1);
  } else {
    __kernel_timespec ts = {.tv_sec = static_cast<int64_t>(timeout_ns / kNsPerSecond),
                            .tv_nsec = static_cast<int64_t>(timeout_ns % kNsPerSecond)};
    io_uring_submit_and_wait_timeout(&ring_, &first, 1, &ts, nullptr);
  }
  unsigned count = 0;
  unsigned head = 0;
  io_uring_cqe* cqe = nullptr;
  unsigned seen = 0;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    if (seen == kBatch) break;
    ++seen;
    if (cqe->user_data == kIgnored) continue;
    events_[count++] = {cqe->user_data, cqe->res, (cqe->flags & IORING_CQE_F_MORE) != 0};
  }
  io_uring_cq_advance(&ring_, seen);
  return {events_.data(), count};
}

}  // namespace sgprs::loop
