// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/wait_calls.h"

#include <sys/syscall.h>

namespace sgprs::kernel {
namespace {

struct Row {
  long number;
  SgprsWait wait;
};

// Calls that only some architectures or kernel headers have are asked for by name.
constexpr Row kRows[] = {
    {__NR_nanosleep, SGPRS_WAIT_TIMER},
    {__NR_clock_nanosleep, SGPRS_WAIT_TIMER},
    {__NR_restart_syscall, SGPRS_WAIT_TIMER},  // a sleep that a signal had cut in two
    {__NR_futex, SGPRS_WAIT_FUTEX},
#ifdef __NR_futex_waitv
    {__NR_futex_waitv, SGPRS_WAIT_FUTEX},
#endif
#ifdef __NR_futex_wait
    {__NR_futex_wait, SGPRS_WAIT_FUTEX},
#endif
#ifdef __NR_poll
    {__NR_poll, SGPRS_WAIT_POLL},
    {__NR_select, SGPRS_WAIT_POLL},
    {__NR_epoll_wait, SGPRS_WAIT_POLL},
#endif
    {__NR_ppoll, SGPRS_WAIT_POLL},
    {__NR_pselect6, SGPRS_WAIT_POLL},
    {__NR_epoll_pwait, SGPRS_WAIT_POLL},
#ifdef __NR_epoll_pwait2
    {__NR_epoll_pwait2, SGPRS_WAIT_POLL},
#endif
    {__NR_read, SGPRS_WAIT_READ},
    {__NR_readv, SGPRS_WAIT_READ},
    {__NR_pread64, SGPRS_WAIT_READ},
    {__NR_preadv, SGPRS_WAIT_READ},
    {__NR_preadv2, SGPRS_WAIT_READ},
    {__NR_io_getevents, SGPRS_WAIT_READ},
    {__NR_recvfrom, SGPRS_WAIT_SOCKET},
    {__NR_recvmsg, SGPRS_WAIT_SOCKET},
    {__NR_recvmmsg, SGPRS_WAIT_SOCKET},
    {__NR_accept, SGPRS_WAIT_SOCKET},
    {__NR_accept4, SGPRS_WAIT_SOCKET},
    {__NR_io_uring_enter, SGPRS_WAIT_IO_URING},
#ifdef __NR_pause
    {__NR_pause, SGPRS_WAIT_SIGNAL},
#endif
    {__NR_rt_sigtimedwait, SGPRS_WAIT_SIGNAL},
    {__NR_rt_sigsuspend, SGPRS_WAIT_SIGNAL},
};

}  // namespace

void FillWaitTable(std::span<uint8_t> table) {
  for (const Row& row : kRows) {
    if (static_cast<size_t>(row.number) < table.size()) table[row.number] = row.wait;
  }
}

const char* NameOfWait(uint32_t wait) {
  constexpr const char* kNames[] = {"none", "timer",  "futex",    "poll",
                                    "read", "socket", "io_uring", "signal"};
  static_assert(std::size(kNames) == SGPRS_WAIT_COUNT);
  return wait < SGPRS_WAIT_COUNT ? kNames[wait] : "none";
}

}  // namespace sgprs::kernel
