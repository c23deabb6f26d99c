// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/kernel/probes.h"

namespace sgprs::kernel {
namespace {

TEST(NoProbes, SwitchedOffProbesSaySoAndRefuseQuietly) {
  const std::unique_ptr<Probes> probes = Probes::Load({.enabled = false});
  EXPECT_EQ(probes->level(), ProbeLevel::kNone);
  EXPECT_FALSE(HasStamps(probes->level()));
  EXPECT_FALSE(probes->why().empty());
  EXPECT_EQ(probes->ring_fd(), -1);
  const Status registered = probes->Register(0, 1);
  EXPECT_EQ(registered.code(), ErrorCode::kUnavailable);
  EXPECT_NE(registered.text().find(probes->why()), std::string::npos);
  probes->Unregister(0);
  EXPECT_EQ(probes->Drain([](const SgprsWakeRecord&) { FAIL(); }), 0u);
  EXPECT_EQ(probes->Counts().sent, 0u);
}

TEST(NoProbes, LoadingAlwaysComesBackWithALevelAndAReason) {
  const std::unique_ptr<Probes> probes = Probes::Load({});
  EXPECT_EQ(probes->why().empty(), probes->level() == ProbeLevel::kRoot);
  EXPECT_STRNE(NameOf(probes->level()), "unknown");
  EXPECT_EQ(probes->ring_fd() >= 0, HasStamps(probes->level()));
}

}  // namespace
}  // namespace sgprs::kernel
