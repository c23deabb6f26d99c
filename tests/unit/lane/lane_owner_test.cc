// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_owner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "tests/unit/lane/fake_shim.h"

namespace sgprs::lane {
namespace {

constexpr uint64_t kClient = 77;
constexpr uint8_t kUuid[SGPRS_UUID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

class LaneOwnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto lane = LaneOwner::Create(kClient, kUuid);
    ASSERT_TRUE(lane.ok()) << lane.status().text();
    lane_ = std::move(*lane);
    shim_ = std::make_unique<FakeShim>(lane_->fd(), lane_->bytes());
    ASSERT_TRUE(shim_->mapped());
  }

  void SetCursors(uint64_t recorded, uint64_t issued, uint64_t completed) {
    FakeShim::Publish(shim_->header()->recorded, recorded);
    FakeShim::Publish(shim_->header()->issued, issued);
    FakeShim::Publish(shim_->header()->completed, completed);
  }
  void ExpectHostile(const char* part_of_text) {
    auto seen = lane_->Observe();
    ASSERT_FALSE(seen.ok());
    EXPECT_EQ(seen.status().code(), ErrorCode::kInvalid);
    EXPECT_NE(seen.status().text().find(part_of_text), std::string::npos) << seen.status().text();
  }

  std::unique_ptr<LaneOwner> lane_;
  std::unique_ptr<FakeShim> shim_;
};

TEST_F(LaneOwnerTest, HeaderTellsAPeerAllItNeeds) {
  const SgprsLaneHeader& h = *shim_->header();
  EXPECT_EQ(h.magic, SGPRS_LANE_MAGIC);
  EXPECT_EQ(h.major, SGPRS_ABI_MAJOR);
  EXPECT_EQ(h.minor, SGPRS_ABI_MINOR);
  EXPECT_EQ(h.total_bytes, lane_->bytes());
  EXPECT_EQ(h.header_bytes, sizeof(SgprsLaneHeader));
  EXPECT_EQ(h.client_id, kClient);
  EXPECT_TRUE(std::equal(std::begin(kUuid), std::end(kUuid), h.device_uuid));
  // The parts lie one after another, inside the file.
  EXPECT_GE(h.slots_offset, sizeof(SgprsLaneHeader));
  EXPECT_GE(h.grants_offset, h.slots_offset + h.slot_count * sizeof(SgprsSlot));
  EXPECT_GE(h.completions_offset, h.grants_offset + h.grant_count * sizeof(SgprsGrant));
  EXPECT_GE(h.kernels_offset, h.completions_offset + h.completion_count * sizeof(SgprsCompletion));
  EXPECT_GE(h.total_bytes, h.kernels_offset + h.kernel_count * sizeof(SgprsKernelName));
}

TEST_F(LaneOwnerTest, FileCanNotChangeItsSize) {
  EXPECT_EQ(fcntl(lane_->fd(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_NE(ftruncate(lane_->fd(), 4096), 0);  // a peer that shrinks it would kill the runtime
  EXPECT_NE(ftruncate(lane_->fd(), static_cast<off_t>(lane_->bytes() * 2)), 0);
  EXPECT_EQ(fcntl(lane_->fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(LaneOwnerTest, ObservesWhatIsRecorded) {
  for (int i = 0; i < 5; ++i) shim_->Record();
  SetCursors(5, 3, 2);
  FakeShim::Publish(shim_->header()->jobs, 1);
  FakeShim::Publish(shim_->header()->kernels_interned, 4);
  auto seen = lane_->Observe();
  ASSERT_TRUE(seen.ok()) << seen.status().text();
  EXPECT_EQ(seen->recorded, 5U);
  EXPECT_EQ(seen->issued, 3U);
  EXPECT_EQ(seen->completed, 2U);
  EXPECT_EQ(seen->jobs, 1U);
  EXPECT_EQ(lane_->cursors().kernels_interned, 4U);
}

TEST_F(LaneOwnerTest, HostileCursorsAreNamedAndNotTaken) {
  SetCursors(100, 60, 50);
  ASSERT_TRUE(lane_->Observe().ok());
  const struct {
    uint64_t recorded, issued, completed;
    const char* text;
  } cases[] = {
      {99, 60, 50, "backwards"},
      {100, 59, 50, "backwards"},
      {100, 60, 49, "backwards"},
      {100, 101, 50, "out of order"},
      {100, 60, 61, "out of order"},
      {60 + SGPRS_LANE_SLOTS + 1, 60, 50, "more than its ring"},
      {UINT64_MAX, 60, 50, "more than its ring"},
  };
  for (const auto& c : cases) {
    SetCursors(c.recorded, c.issued, c.completed);
    SCOPED_TRACE(c.text);
    ExpectHostile(c.text);
    EXPECT_EQ(lane_->cursors().recorded, 100U);
  }
  SetCursors(60 + SGPRS_LANE_SLOTS, 60, 50);  // a full ring is fine
  EXPECT_TRUE(lane_->Observe().ok());
}

TEST_F(LaneOwnerTest, HostileJobAndKernelCounts) {
  FakeShim::Publish(shim_->header()->jobs, 3);
  ASSERT_TRUE(lane_->Observe().ok());
  FakeShim::Publish(shim_->header()->jobs, 2);
  ExpectHostile("backwards");
  FakeShim::Publish(shim_->header()->jobs, 3);
  FakeShim::Publish(shim_->header()->kernels_interned, SGPRS_LANE_KERNELS + 1);
  ExpectHostile("kernel table");
}

TEST_F(LaneOwnerTest, CopiesOnlyRecordedSlots) {
  SgprsSlot slot;
  EXPECT_FALSE(lane_->CopySlotUntrusted(0, &slot));
  shim_->Record();
  EXPECT_FALSE(lane_->CopySlotUntrusted(0, &slot));  // not observed yet
  ASSERT_TRUE(lane_->Observe().ok());
  ASSERT_TRUE(lane_->CopySlotUntrusted(0, &slot));
  EXPECT_TRUE(FakeShim::SlotIsWhole(slot, 0));
  EXPECT_FALSE(lane_->CopySlotUntrusted(1, &slot));
  EXPECT_FALSE(lane_->CopySlotUntrusted(UINT64_MAX, &slot));
}

TEST_F(LaneOwnerTest, CopiesEverySlotOfAFullRing) {
  for (uint32_t i = 0; i < SGPRS_LANE_SLOTS; ++i) shim_->Record();
  ASSERT_TRUE(lane_->Observe().ok());
  SgprsSlot slot;
  for (uint32_t i = 0; i < SGPRS_LANE_SLOTS; ++i) {
    ASSERT_TRUE(lane_->CopySlotUntrusted(i, &slot)) << i;
    ASSERT_TRUE(FakeShim::SlotIsWhole(slot, i));
  }
}

TEST_F(LaneOwnerTest, RefusesRewrittenAndNonsenseSlots) {
  for (int i = 0; i < 4; ++i) shim_->Record();
  ASSERT_TRUE(lane_->Observe().ok());
  SgprsSlot slot;
  shim_->slot(0)->kind = SGPRS_SLOT_KIND_COUNT;
  EXPECT_FALSE(lane_->CopySlotUntrusted(0, &slot));
  FakeShim::Publish(shim_->slot(1)->index, 1 + SGPRS_LANE_SLOTS);
  EXPECT_FALSE(lane_->CopySlotUntrusted(1, &slot));
  // A slot that the recorder is just rewriting: its fields are new, its index is still the old one.
  SetCursors(2 + SGPRS_LANE_SLOTS, 3, 0);
  shim_->slot(2)->time_ns = 1;
  EXPECT_FALSE(lane_->CopySlotUntrusted(2, &slot));
  EXPECT_TRUE(lane_->CopySlotUntrusted(3, &slot));  // not issued: nobody may rewrite it
}

TEST_F(LaneOwnerTest, OffsetsInTheHeaderAreNotTrusted) {
  shim_->Record();
  ASSERT_TRUE(lane_->Observe().ok());
  SgprsLaneHeader* h = shim_->header();
  h->slots_offset = h->grants_offset = h->completions_offset = h->kernels_offset = UINT64_MAX / 2;
  h->slot_count = h->grant_count = h->completion_count = h->kernel_count = UINT32_MAX;
  SgprsSlot slot;
  EXPECT_TRUE(lane_->CopySlotUntrusted(0, &slot));
  EXPECT_TRUE(lane_->PublishGrant({}, nullptr));
  FakeShim::Publish(h->completions_published, 1);
  SgprsCompletion completion;
  EXPECT_TRUE(lane_->TakeCompletionUntrusted(&completion));
}

TEST_F(LaneOwnerTest, KernelNamesEndInsideTheCopy) {
  SgprsKernelName name;
  EXPECT_FALSE(lane_->CopyKernelNameUntrusted(1, &name));
  std::fill(std::begin(shim_->kernel(1)->name), std::end(shim_->kernel(1)->name), 'x');
  FakeShim::Publish(shim_->header()->kernels_interned, 1);
  ASSERT_TRUE(lane_->Observe().ok());
  ASSERT_TRUE(lane_->CopyKernelNameUntrusted(1, &name));
  EXPECT_EQ(std::string(name.name), std::string(SGPRS_KERNEL_NAME_BYTES - 1, 'x'));
  EXPECT_FALSE(lane_->CopyKernelNameUntrusted(0, &name));
  EXPECT_FALSE(lane_->CopyKernelNameUntrusted(2, &name));
  EXPECT_FALSE(lane_->CopyKernelNameUntrusted(UINT32_MAX, &name));
}

TEST_F(LaneOwnerTest, CompletionsComeInOrderOnce) {
  SgprsCompletion completion;
  EXPECT_FALSE(lane_->TakeCompletionUntrusted(&completion));
  for (uint64_t i = 1; i <= SGPRS_LANE_COMPLETIONS * 2; ++i) {  // over the ring's end
    shim_->Complete(i);
    ASSERT_TRUE(lane_->TakeCompletionUntrusted(&completion));
    ASSERT_EQ(completion.upto, i);
    ASSERT_EQ(FakeShim::Load(shim_->header()->completions_consumed), i);
  }
  EXPECT_FALSE(lane_->TakeCompletionUntrusted(&completion));
}

TEST_F(LaneOwnerTest, HostileCompletionCountsCostOneRingAtMost) {
  SgprsCompletion completion;
  for (const uint64_t published : {uint64_t{10'000}, uint64_t{3}, UINT64_MAX}) {
    FakeShim::Publish(shim_->header()->completions_published, published);
    uint32_t taken = 0;
    while (taken <= SGPRS_LANE_COMPLETIONS && lane_->TakeCompletionUntrusted(&completion)) ++taken;
    EXPECT_EQ(taken, SGPRS_LANE_COMPLETIONS) << published;
  }
}

TEST_F(LaneOwnerTest, GrantsAreNumberedAndBounded) {
  uint64_t sequence = 0;
  for (uint64_t i = 1; i <= SGPRS_LANE_GRANTS; ++i) {
    SgprsGrant grant = {};
    grant.upto = i * 10;
    ASSERT_TRUE(lane_->PublishGrant(grant, &sequence));
    ASSERT_EQ(sequence, i);
    ASSERT_EQ(FakeShim::Load(shim_->header()->grants_published), i);
    ASSERT_EQ(shim_->grant(i)->sequence, i);
    ASSERT_EQ(shim_->grant(i)->upto, i * 10);
  }
  EXPECT_FALSE(lane_->PublishGrant({}, &sequence));
  EXPECT_EQ(FakeShim::Load(shim_->header()->grants_published), SGPRS_LANE_GRANTS);
  FakeShim::Publish(shim_->header()->grants_consumed, 1);
  EXPECT_TRUE(lane_->PublishGrant({}, &sequence));
  EXPECT_EQ(sequence, SGPRS_LANE_GRANTS + 1U);
  // An issuer that claims to have consumed what was never published gets nothing more.
  FakeShim::Publish(shim_->header()->grants_consumed, sequence + 1);
  EXPECT_FALSE(lane_->PublishGrant({}, nullptr));
}

TEST_F(LaneOwnerTest, AGrantRingsTheIssuer) {
  SgprsDoorbell* bell = &shim_->header()->issuer_doorbell;
  const uint32_t before = Sequence(bell);
  AnnounceSleep(bell);
  ASSERT_TRUE(lane_->PublishGrant({}, nullptr));
  EXPECT_NE(Sequence(bell), before);
  Sleep(bell, before, 0);  // without a limit: returns only because the sequence moved
}

TEST_F(LaneOwnerTest, SettingsAndCountersCross) {
  lane_->SetPeriodNs(1);
  lane_->SetPauseNs(2);
  lane_->SetJobLaunches(3);
  lane_->SetAliveNs(4);
  lane_->SetJobRule(SGPRS_JOB_LAUNCHES);
  lane_->SetGranted(5);
  const SgprsLaneHeader& h = *shim_->header();
  EXPECT_EQ(h.settings.period_ns, 1U);
  EXPECT_EQ(h.settings.pause_ns, 2U);
  EXPECT_EQ(h.settings.job_launches, 3U);
  EXPECT_EQ(h.settings.alive_ns, 4U);
  EXPECT_EQ(h.settings.job_rule, static_cast<uint32_t>(SGPRS_JOB_LAUNCHES));
  EXPECT_EQ(h.granted, 5U);
  shim_->header()->counters.bypassed = 6;
  EXPECT_EQ(lane_->CopyCountersUntrusted().bypassed, 6U);
}

}  // namespace
}  // namespace sgprs::lane
