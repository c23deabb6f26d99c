// SPDX-License-Identifier: Apache-2.0
// Loaded probes, or a skipped test that says why there are none.
#ifndef SGPRS_TESTS_BPF_PROBES_FIXTURE_H_
#define SGPRS_TESTS_BPF_PROBES_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/kernel/probes.h"
#include "runtime/kernel/wake_order.h"
#include "tests/bpf/sleeper.h"

namespace sgprs::testing {

class ProbesTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kId = 77;

  void SetUp() override { Load({}); }
  void Load(const kernel::ProbeOptions& options) {
    probes_ = kernel::Probes::Load(options);
    if (!HasStamps(probes_->level())) GTEST_SKIP() << probes_->why();
  }
  void Drain() {
    probes_->Drain([this](const SgprsWakeRecord& record) { records_.push_back(record); });
  }
  // Runs `body` in a child, followed from its first call on, and collects its records.
  void Follow(const std::function<void()>& body) {
    Child child(body);
    ASSERT_TRUE(probes_->Register(child.pidfd(), kId).ok());
    child.Go();
    child.Wait();
    Drain();
    probes_->Unregister(child.pidfd());
  }
  // Follow() until the records are `wanted`, five times at most: on a busy machine a thread may be
  // preempted on its way to sleep, or an event goes missing (bpf/README.md).
  bool FollowUntil(const std::function<void()>& body, const std::function<bool()>& wanted) {
    for (int i = 0; i < 5; ++i) {
      records_.clear();
      Follow(body);
      if (wanted()) return true;
    }
    return false;
  }
  // Complete records of waits in `wait`, woken by a timer or not.
  std::vector<SgprsWakeRecord> Complete(SgprsWait wait, bool timer) const {
    std::vector<SgprsWakeRecord> found;
    for (const SgprsWakeRecord& r : records_) {
      if (r.wait == wait && ((r.flags & SGPRS_WAKE_TIMER) != 0) == timer &&
          kernel::CheckWake(r) == kernel::WakeCheck::kComplete) {
        found.push_back(r);
      }
    }
    return found;
  }

  std::unique_ptr<kernel::Probes> probes_;
  std::vector<SgprsWakeRecord> records_;
};

}  // namespace sgprs::testing

#endif  // SGPRS_TESTS_BPF_PROBES_FIXTURE_H_
