// SPDX-License-Identifier: Apache-2.0
// Each level, driven in a child that gives up what the level lacks, then really loads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>

#include <cstring>
#include <string>

#include "runtime/kernel/probes.h"
#include "runtime/kernel/wake_order.h"
#include "tests/bpf/sleeper.h"

namespace sgprs::testing {
namespace {

using kernel::ProbeLevel;
using kernel::Probes;

struct Outcome {
  uint32_t level;
  uint32_t complete;  // records, and due exactly when the child asked
  uint32_t registered;
  uint32_t prepared;
  char why[256];
};

// Becomes a user without any privilege but `capabilities`.
bool Drop(uint64_t capabilities) {
  prctl(PR_SET_KEEPCAPS, 1);
  if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) return false;
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i].effective = data[i].permitted = static_cast<uint32_t>(capabilities >> (32 * i));
  }
  return syscall(SYS_capset, &header, data) == 0;
}

// An empty file over the kernel's types, in a mount namespace of its own.
bool HideBtf() {
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const int empty = memfd_create("empty", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(empty);
  return mount(path.c_str(), "/sys/kernel/btf/vmlinux", nullptr, MS_BIND, nullptr) == 0 ||
         mount("/dev/null", "/sys/kernel/btf/vmlinux", nullptr, MS_BIND, nullptr) == 0;
}

// In the mount namespace that HideBtf() made.
bool MountTracefs() {
  return mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, nullptr) == 0 || errno == EBUSY;
}

// What a process gets that did `prepare`: its level, and how many waits of a child of its own it
// sees complete.
Outcome Try(bool (*prepare)()) {
  Shared<Outcome> out(1);
  Child child([&out, prepare] {
    out[0].prepared = prepare() ? 1 : 0;
    const std::unique_ptr<Probes> probes = Probes::Load({});
    out[0].level = static_cast<uint32_t>(probes->level());
    std::strncpy(out[0].why, probes->why().c_str(), sizeof(out[0].why) - 1);
    Shared<Period> own(50);
    Child periodic([&own] { RunPeriodic(own.data(), 50, 2 * kNsPerMs); });
    out[0].registered = probes->Register(periodic.pidfd(), 1).ok() ? 1 : 0;
    periodic.Go();
    periodic.Wait();
    probes->Drain([&out, &own](const SgprsWakeRecord& r) {
      if (kernel::CheckWake(r) != kernel::WakeCheck::kComplete) return;
      for (size_t i = 0; i < 50; ++i) out[0].complete += own[i].due_ns == r.due_ns ? 1 : 0;
    });
  });
  child.Go();
  child.Wait();
  return out[0];
}

class LevelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "giving up root needs root";
    const std::unique_ptr<Probes> probes = Probes::Load({});
    if (!HasStamps(probes->level())) GTEST_SKIP() << probes->why();
  }
};

TEST_F(LevelsTest, Root) {
  const Outcome out = Try([] { return true; });
  EXPECT_EQ(ProbeLevel{out.level}, ProbeLevel::kRoot);
  EXPECT_STREQ(out.why, "");
  EXPECT_GE(out.complete, 40u);
}

TEST_F(LevelsTest, TwoCapabilitiesAreEnough) {
  const Outcome out = Try([] { return Drop(1ull << CAP_BPF | 1ull << CAP_PERFMON); });
  ASSERT_TRUE(out.prepared);
  EXPECT_EQ(ProbeLevel{out.level}, ProbeLevel::kCapabilities) << out.why;
  EXPECT_STRNE(out.why, "");
  EXPECT_TRUE(out.registered);
  EXPECT_GE(out.complete, 40u);
}

TEST_F(LevelsTest, OneOfTheTwoIsNotEnough) {
  for (bool (*prepare)() :
       {+[] { return Drop(1ull << CAP_BPF); }, +[] { return Drop(1ull << CAP_PERFMON); }}) {
    const Outcome out = Try(prepare);
    ASSERT_TRUE(out.prepared);
    EXPECT_EQ(ProbeLevel{out.level}, ProbeLevel::kNone);
    EXPECT_NE(std::strstr(out.why, "CAP_PERFMON"), nullptr) << out.why;
    EXPECT_FALSE(out.registered);
  }
}

TEST_F(LevelsTest, NoPrivilege) {
  const Outcome out = Try([] { return Drop(0); });
  ASSERT_TRUE(out.prepared);
  EXPECT_EQ(ProbeLevel{out.level}, ProbeLevel::kNone);
  EXPECT_NE(std::strstr(out.why, "CAP_BPF"), nullptr) << out.why;
  EXPECT_FALSE(out.registered);
  EXPECT_EQ(out.complete, 0u);
}

TEST_F(LevelsTest, WithoutBtfRootHasClassicTracepoints) {
  const Outcome out = Try([] { return HideBtf() && MountTracefs(); });
  if (!out.prepared) GTEST_SKIP() << "no mount namespace or no tracefs here";
  EXPECT_EQ(ProbeLevel{out.level}, ProbeLevel::kPlain) << out.why;
  EXPECT_NE(std::strstr(out.why, "BTF"), nullptr) << out.why;
  EXPECT_TRUE(out.registered);
  EXPECT_GE(out.complete, 40u);
}

TEST_F(LevelsTest, WithoutBtfCapabilitiesAreNotEnough) {
  const Outcome out = Try([] { return HideBtf() && Drop(1ull << CAP_BPF | 1ull << CAP_PERFMON); });
  if (!out.prepared) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(ProbeLevel{out.level}, ProbeLevel::kNoBtf) << out.why;
  EXPECT_NE(std::strstr(out.why, "BTF"), nullptr) << out.why;
  EXPECT_FALSE(out.registered);
  EXPECT_EQ(out.complete, 0u);
}

}  // namespace
}  // namespace sgprs::testing
