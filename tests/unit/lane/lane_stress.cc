// SPDX-License-Identifier: Apache-2.0
// A recorder, an issuer-completer and the runtime's loop at full speed on one lane.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/lane/lane_owner.h"
#include "tests/unit/lane/fake_shim.h"

namespace sgprs::lane {
namespace {

// ThreadSanitizer has no notion of a copy that is checked afterwards; it gets a recorder that waits
// until the runtime has read a slot. The plain build laps the reader on purpose.
#if defined(__SANITIZE_THREAD__)
constexpr bool kLapReader = false;
constexpr uint64_t kSlots = 40'000;
#else
constexpr bool kLapReader = true;
constexpr uint64_t kSlots = 2'000'000;
#endif

struct Peer {
  explicit Peer(LaneOwner* lane) : shim(lane->fd(), lane->bytes()) {}

  void RecordAll() {
    SgprsLaneHeader* h = shim.header();
    for (uint64_t i = 0; i < kSlots; ++i) {
      while (
          i - FakeShim::Load(h->issued) >= SGPRS_LANE_SLOTS ||
          (!kLapReader && i - read_upto.load(std::memory_order_acquire) >= SGPRS_LANE_SLOTS - 1)) {
        std::this_thread::yield();
      }
      shim.Record();
    }
  }
  void IssueAndCompleteAll() {
    SgprsLaneHeader* h = shim.header();
    uint64_t done = 0;
    while (done < kSlots) {
      const uint64_t recorded = FakeShim::Load(h->recorded);
      if (recorded == done) std::this_thread::yield();
      done = recorded;
      FakeShim::Publish(h->issued, done);
      FakeShim::Publish(h->completed, done);
      if (FakeShim::Load(h->completions_published) - FakeShim::Load(h->completions_consumed) <
          SGPRS_LANE_COMPLETIONS) {
        shim.Complete(done);
      }
    }
  }

  FakeShim shim;
  std::atomic<uint64_t> read_upto{0};  // release by the reader, acquire by RecordAll
};

TEST(LaneStress, AnHonestPeerIsNeverCutAndSlotsAreWhole) {
  const uint8_t uuid[SGPRS_UUID_BYTES] = {};
  auto lane = LaneOwner::Create(1, uuid);
  ASSERT_TRUE(lane.ok()) << lane.status().text();
  Peer peer(lane->get());
  std::thread recorder([&] { peer.RecordAll(); });
  std::thread issuer([&] { peer.IssueAndCompleteAll(); });

  uint64_t next = 0;
  uint64_t torn = 0;
  uint64_t copied = 0;
  uint64_t last_upto = 0;
  Status failure;
  while (next < kSlots && failure.ok()) {
    auto seen = (*lane)->Observe();
    if (!seen.ok()) {
      failure = seen.status();
      break;
    }
    for (; next < seen->recorded; ++next) {
      SgprsSlot slot;
      if (!(*lane)->CopySlotUntrusted(next, &slot)) continue;
      ++copied;
      if (!FakeShim::SlotIsWhole(slot, next)) ++torn;
    }
    peer.read_upto.store(next, std::memory_order_release);
    SgprsCompletion completion;
    for (int i = 0; i < 8 && (*lane)->TakeCompletionUntrusted(&completion); ++i) {
      if (completion.upto < last_upto) failure = Status(ErrorCode::kInternal, "completion order");
      last_upto = completion.upto;
    }
  }
  peer.read_upto.store(kSlots, std::memory_order_release);
  recorder.join();
  issuer.join();
  EXPECT_TRUE(failure.ok()) << failure.text();
  EXPECT_EQ(torn, 0U);
  EXPECT_GT(copied, 0U);
  if (!kLapReader) {
    EXPECT_EQ(copied, kSlots);
  }
}

}  // namespace
}  // namespace sgprs::lane
