// SPDX-License-Identifier: Apache-2.0
// The probes against a periodic process that keeps its own stamps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "runtime/kernel/probes.h"
#include "runtime/kernel/wake_order.h"
#include "tests/bpf/sleeper.h"

namespace sgprs {
namespace {

using kernel::CheckWake;
using kernel::ProbeCounts;
using kernel::Probes;
using kernel::WakeCheck;
using testing::Child;
using testing::Period;
using testing::RunPeriodic;
using testing::Shared;

uint64_t Median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

class ProbesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    probes_ = Probes::Load({});
    if (!HasStamps(probes_->level())) GTEST_SKIP() << probes_->why();
  }
  void Drain() {
    probes_->Drain([this](const SgprsWakeRecord& record) { records_.push_back(record); });
  }

  std::unique_ptr<Probes> probes_;
  std::vector<SgprsWakeRecord> records_;
};

TEST_F(ProbesTest, StampsOfAPeriodicProcessAgreeWithItsOwn) {
  constexpr size_t kPeriods = 300;
  Shared<Period> own(kPeriods);
  Child child([&own] { RunPeriodic(own.data(), kPeriods, 10 * kNsPerMs); });
  ASSERT_TRUE(probes_->Register(child.pidfd(), 77).ok());
  child.Go();
  child.Wait();
  Drain();
  probes_->Unregister(child.pidfd());

  std::map<uint64_t, const SgprsWakeRecord*> by_due;
  for (const SgprsWakeRecord& record : records_) {
    EXPECT_EQ(record.client_id, 77u);
    if ((record.flags & SGPRS_WAKE_TIMER) == 0) continue;
    EXPECT_EQ(record.wait, SGPRS_WAIT_TIMER);
    if (CheckWake(record) == WakeCheck::kComplete) by_due[record.due_ns] = &record;
  }
  size_t complete = 0;
  std::vector<uint64_t> difference;
  std::vector<uint64_t> expire, wakeup, on_cpu, exit;
  for (size_t i = 0; i < kPeriods; ++i) {
    const auto found = by_due.find(own[i].due_ns);
    if (found == by_due.end()) {
      std::printf("  missing %zu of %zu: due %lu back %lu\n", i, kPeriods, own[i].due_ns, own[i].back_ns);
      continue;
    }
    ++complete;
    const SgprsWakeRecord& r = *found->second;
    EXPECT_LE(r.exit_ns, own[i].back_ns);  // the kernel saw the return before the process did
    difference.push_back(own[i].back_ns - r.exit_ns);
    expire.push_back(r.expire_ns - r.due_ns);
    wakeup.push_back(r.wakeup_ns - r.expire_ns);
    on_cpu.push_back(r.on_cpu_ns - r.wakeup_ns);
    exit.push_back(r.exit_ns - r.on_cpu_ns);
  }
  const ProbeCounts counts = probes_->Counts();
  std::printf(
      "%zu of %zu complete; medians in us: due-expire %.1f expire-wakeup %.1f wakeup-on_cpu %.1f "
      "on_cpu-exit %.1f exit-process %.1f; sent %lu lost %lu misses %lu mismatched %lu\n",
      complete, kPeriods, Median(expire) / 1e3, Median(wakeup) / 1e3, Median(on_cpu) / 1e3,
      Median(exit) / 1e3, Median(difference) / 1e3, counts.sent, counts.lost, counts.misses,
      counts.mismatched);
  for (const SgprsWakeRecord& r : records_) {
    if (CheckWake(r) != WakeCheck::kComplete) {
      std::printf(
          "  check %u wait %u flags %u sys %u sleep %lu due %lu exp %lu wake %lu on %lu exit %lu "
          "sw %u/%u\n",
          static_cast<unsigned>(CheckWake(r)), r.wait, r.flags, r.syscall, r.sleep_ns, r.due_ns,
          r.expire_ns, r.wakeup_ns, r.on_cpu_ns, r.exit_ns, r.switches_seen, r.switches_counted);
    }
  }
  EXPECT_GE(complete * 100, kPeriods * 98);
}

}  // namespace
}  // namespace sgprs
