// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/wake_order.h"

#include <gtest/gtest.h>

namespace sgprs::kernel {
namespace {

SgprsWakeRecord Timer() {
  SgprsWakeRecord r = {};
  r.wait = SGPRS_WAIT_TIMER;
  r.flags = SGPRS_WAKE_TIMER;
  r.sleep_ns = 100;
  r.due_ns = 200;
  r.expire_ns = 210;
  r.wakeup_ns = 215;
  r.on_cpu_ns = 230;
  r.exit_ns = 235;
  r.switches_seen = r.switches_counted = 1;
  return r;
}

TEST(WakeOrder, AWholeRecordIsComplete) {
  EXPECT_EQ(CheckWake(Timer()), WakeCheck::kComplete);
  SgprsWakeRecord input = Timer();
  input.flags = 0;
  input.wait = SGPRS_WAIT_SOCKET;
  input.due_ns = input.expire_ns = 0;
  EXPECT_EQ(CheckWake(input), WakeCheck::kComplete);
}

TEST(WakeOrder, EveryStampOfATimerMustBeThere) {
  for (uint64_t SgprsWakeRecord::*stamp :
       {&SgprsWakeRecord::sleep_ns, &SgprsWakeRecord::due_ns, &SgprsWakeRecord::expire_ns,
        &SgprsWakeRecord::wakeup_ns, &SgprsWakeRecord::on_cpu_ns, &SgprsWakeRecord::exit_ns}) {
    SgprsWakeRecord r = Timer();
    r.*stamp = 0;
    EXPECT_EQ(CheckWake(r), WakeCheck::kMissing);
  }
}

// What facts/linux.md saw: all stamps of the kernel left over from the period before.
TEST(WakeOrder, StampsOfAnotherPeriodAreFound) {
  SgprsWakeRecord r = Timer();
  r.sleep_ns = 1100;
  r.exit_ns = 1235;
  EXPECT_EQ(CheckWake(r), WakeCheck::kOrder);
  for (uint64_t SgprsWakeRecord::*stamp :
       {&SgprsWakeRecord::sleep_ns, &SgprsWakeRecord::due_ns, &SgprsWakeRecord::expire_ns,
        &SgprsWakeRecord::wakeup_ns, &SgprsWakeRecord::on_cpu_ns}) {
    r = Timer();
    r.*stamp = 1000;
    EXPECT_EQ(CheckWake(r), WakeCheck::kOrder);
  }
}

TEST(WakeOrder, SwitchesThatTheProbeDidNotSeeAreFound) {
  SgprsWakeRecord r = Timer();
  r.switches_counted = 2;
  EXPECT_EQ(CheckWake(r), WakeCheck::kSwitches);
}

TEST(WakeOrder, AnOverdueSleepNeedsOnlyItsDueTime) {
  SgprsWakeRecord r = {};
  r.flags = SGPRS_WAKE_NO_SLEEP;
  r.due_ns = 100;
  r.exit_ns = 150;
  EXPECT_EQ(CheckWake(r), WakeCheck::kComplete);
  r.due_ns = 151;
  EXPECT_EQ(CheckWake(r), WakeCheck::kOrder);
  r.due_ns = 0;
  EXPECT_EQ(CheckWake(r), WakeCheck::kMissing);
}

TEST(WakeOrder, GapsInSequences) {
  EXPECT_EQ(MissingBefore(0, 1), 0u);
  EXPECT_EQ(MissingBefore(5, 6), 0u);
  EXPECT_EQ(MissingBefore(5, 9), 3u);
  EXPECT_EQ(MissingBefore(UINT32_MAX, 1), 1u);  // wraps
  EXPECT_EQ(MissingBefore(9, 9), 0u);           // a thread id used again
  EXPECT_EQ(MissingBefore(9, 1), 0u);
}

}  // namespace
}  // namespace sgprs::kernel
