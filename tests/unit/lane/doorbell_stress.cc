// SPDX-License-Identifier: Apache-2.0
// No ring is lost: a sleeper that is rung while it goes to sleep wakes. A lost one shows as a sleep
// that ran into its time limit with work waiting; nothing else here depends on time.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"

namespace sgprs::lane {
namespace {

constexpr uint64_t kLimitNs = 10 * kNsPerSecond;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kRounds = 20'000;
#else
constexpr uint64_t kRounds = 60'000;
#endif

// One direction: ringers add to `work`, the sleeper takes it.
struct Channel {
  SgprsDoorbell bell;
  alignas(64) std::atomic<uint64_t> work;
};

// In memory that a forked child shares.
class SharedChannels {
 public:
  SharedChannels()
      : channels_(static_cast<Channel*>(mmap(nullptr, sizeof(Channel) * 2, PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedChannels() { munmap(channels_, sizeof(Channel) * 2); }
  SharedChannels(const SharedChannels&) = delete;
  SharedChannels& operator=(const SharedChannels&) = delete;
  Channel* operator[](int i) { return &channels_[i]; }

 private:
  Channel* channels_;  // zeroed by mmap, which is what both members start from
};

void Send(Channel* channel) {
  channel->work.fetch_add(1, std::memory_order_release);  // pairs with the acquire of AwaitAbove
  Ring(&channel->bell);
}

// Returns the work counter once it exceeds `seen`; 0 if a ring was lost.
uint64_t AwaitAbove(Channel* channel, uint64_t seen) {
  while (true) {
    const uint32_t sequence = Sequence(&channel->bell);
    AnnounceSleep(&channel->bell);
    const uint64_t work = channel->work.load(std::memory_order_acquire);
    if (work > seen) {
      CancelSleep(&channel->bell);
      return work;
    }
    const uint64_t before_ns = NowNs();
    Sleep(&channel->bell, sequence, kLimitNs);
    if (NowNs() - before_ns >= kLimitNs) return 0;
  }
}

TEST(DoorbellStress, PingPongAcrossProcesses) {
  SharedChannels channels;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (uint64_t i = 0; i < kRounds; ++i) {
      if (AwaitAbove(channels[0], i) == 0) _exit(1);
      Send(channels[1]);
    }
    _exit(0);
  }
  bool lost = false;
  for (uint64_t i = 0; i < kRounds && !lost; ++i) {
    Send(channels[0]);
    lost = AwaitAbove(channels[1], i) == 0;
  }
  EXPECT_FALSE(lost);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Several ringers, as the runtime and the recording threads ring one issuer. The ringers pause now
// and then, so that the sleeper is caught in every step of going to sleep.
TEST(DoorbellStress, ManyRingersOneSleeper) {
  constexpr uint64_t kRingers = 3;
  SharedChannels channels;
  Channel* forth = channels[0];
  Channel* back = channels[1];
  std::vector<std::thread> ringers;
  for (uint64_t r = 0; r < kRingers; ++r) {
    ringers.emplace_back([=] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        Send(forth);
        // Flow control, so that the sleeper really runs dry: wait until it took about all.
        for (int spin = 0; spin < 1000; ++spin) {
          if (back->work.load(std::memory_order_acquire) + kRingers >=
              forth->work.load(std::memory_order_acquire)) {
            break;
          }
          if (spin % 50 == 49) std::this_thread::yield();
        }
      }
    });
  }
  uint64_t seen = 0;
  bool lost = false;
  while (seen < kRounds * kRingers && !lost) {
    const uint64_t now = AwaitAbove(forth, seen);
    lost = now == 0;
    if (!lost) seen = now;
    back->work.store(seen, std::memory_order_release);
  }
  for (std::thread& ringer : ringers) ringer.join();
  EXPECT_FALSE(lost) << "after " << seen << " rings";
}

}  // namespace
}  // namespace sgprs::lane
