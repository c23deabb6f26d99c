// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/wait_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <array>
#include <string>

#include "bpf/probe_shared.h"

namespace sgprs::kernel {
namespace {

TEST(WaitCalls, WaitsAreWaitsAndTheRestIsNot) {
  std::array<uint8_t, SGPRS_PROBE_SYSCALLS> table = {};
  FillWaitTable(table);
  EXPECT_EQ(table[__NR_clock_nanosleep], SGPRS_WAIT_TIMER);
  EXPECT_EQ(table[__NR_restart_syscall], SGPRS_WAIT_TIMER);
  EXPECT_EQ(table[__NR_futex], SGPRS_WAIT_FUTEX);
  EXPECT_EQ(table[__NR_ppoll], SGPRS_WAIT_POLL);
  EXPECT_EQ(table[__NR_read], SGPRS_WAIT_READ);
  EXPECT_EQ(table[__NR_recvmsg], SGPRS_WAIT_SOCKET);
  EXPECT_EQ(table[__NR_io_uring_enter], SGPRS_WAIT_IO_URING);
  EXPECT_EQ(table[__NR_rt_sigtimedwait], SGPRS_WAIT_SIGNAL);
  // A wait for the GPU is not one that releases a job.
  EXPECT_EQ(table[__NR_ioctl], SGPRS_WAIT_NONE);
  EXPECT_EQ(table[__NR_write], SGPRS_WAIT_NONE);
  EXPECT_EQ(table[__NR_mmap], SGPRS_WAIT_NONE);
}

TEST(WaitCalls, ATableTooShortIsNotOverrun) {
  std::array<uint8_t, 3> table = {};
  FillWaitTable(std::span(table).first(2));
  EXPECT_EQ(table[2], 0);
}

TEST(WaitCalls, EveryKindHasAName) {
  for (uint32_t wait = 1; wait < SGPRS_WAIT_COUNT; ++wait) {
    EXPECT_STRNE(NameOfWait(wait), "none") << wait;
  }
  EXPECT_STREQ(NameOfWait(SGPRS_WAIT_COUNT), "none");
  EXPECT_STREQ(NameOfWait(255), "none");
}

}  // namespace
}  // namespace sgprs::kernel
