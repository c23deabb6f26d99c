// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"

namespace sgprs::loop {
namespace {

constexpr uint64_t kGiveUpNs = 20 * kNsPerSecond;

std::unique_ptr<Loop> MakeLoop(LoopOptions::Bells bells = LoopOptions::Bells::kAuto) {
  Result<std::unique_ptr<Loop>> loop = Loop::Make({.bells = bells});
  if (!loop.ok()) return nullptr;
  return std::move(*loop);
}

// Turns until `done` or a bound that only a hang reaches.
template <typename Done>
bool TurnUntil(Loop* loop, Done done) {
  const uint64_t end_ns = NowNs() + kGiveUpNs;
  while (!done()) {
    if (NowNs() > end_ns) return false;
    loop->Turn(100 * kNsPerMs);
  }
  return true;
}

// Words that a forked child shares.
class SharedBells {
 public:
  SharedBells()
      : bells_(static_cast<SgprsDoorbell*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedBells() { munmap(bells_, kBytes); }
  SgprsDoorbell* at(size_t i) { return bells_ + i; }

 private:
  static constexpr size_t kBytes = 64 * 1024;
  SgprsDoorbell* bells_;
};

TEST(Loop, ReadableIsLevelTriggeredAndRemovable) {
  auto loop = MakeLoop();
  ASSERT_NE(loop, nullptr);
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  int calls = 0;
  char byte = 0;
  const WatchId id = loop->WatchReadable(pipe_fds[0], [&] {
    ++calls;
    ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1);
  });
  ASSERT_EQ(write(pipe_fds[1], "abc", 3), 3);
  ASSERT_TRUE(TurnUntil(loop.get(), [&] { return calls == 3; }));
  EXPECT_EQ(byte, 'c');
  loop->Remove(id);
  ASSERT_EQ(write(pipe_fds[1], "d", 1), 1);
  loop->Turn(0);
  loop->Turn(0);
  EXPECT_EQ(calls, 3);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(Loop, HandlerMayRemoveItself) {
  auto loop = MakeLoop();
  ASSERT_NE(loop, nullptr);
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  int calls = 0;
  WatchId id = 0;
  id = loop->WatchReadable(pipe_fds[0], [&, marker = std::make_shared<int>(7)] {
    loop->Remove(id);
    calls += *marker == 7 ? 1 : 100;  // the captures still live
  });
  ASSERT_EQ(write(pipe_fds[1], "a", 1), 1);
  ASSERT_TRUE(TurnUntil(loop.get(), [&] { return calls != 0; }));
  loop->Turn(0);
  EXPECT_EQ(calls, 1);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(Loop, AcceptsConnections) {
  auto loop = MakeLoop();
  ASSERT_NE(loop, nullptr);
  UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX};
  const std::string name = "sgprs-loop-test-" + std::to_string(getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 64), 0);
  std::vector<UniqueFd> accepted;
  loop->WatchConnections(listener.get(), [&](UniqueFd fd) { accepted.push_back(std::move(fd)); });
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(clients.back().get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  ASSERT_TRUE(TurnUntil(loop.get(), [&] { return accepted.size() == clients.size(); }));
  for (const UniqueFd& fd : accepted) EXPECT_NE(fcntl(fd.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(Loop, StopEndsRunFromATimer) {
  auto loop = MakeLoop();
  ASSERT_NE(loop, nullptr);
  int ticks = 0;
  loop->Every(kNsPerMs, [&] {
    if (++ticks == 3) loop->Stop();
  });
  loop->Run();
  EXPECT_EQ(ticks, 3);
}

TEST(Loop, SleepsWhenIdle) {
  auto loop = MakeLoop();
  ASSERT_NE(loop, nullptr);
  SharedBells bells;
  loop->WatchBell(bells.at(0), [] {});
  loop->At(NowNs() + 200 * kNsPerMs, [&] { loop->Stop(); });
  loop->Run();
  EXPECT_LE(loop->turns(), 10u);
}

class LoopBells : public ::testing::TestWithParam<LoopOptions::Bells> {
 protected:
  void SetUp() override {
    loop_ = MakeLoop(GetParam());
    if (loop_ == nullptr) GTEST_SKIP() << "this kernel has no futex operations in io_uring";
  }
  SharedBells bells_;  // outlives the loop that watches it
  std::unique_ptr<Loop> loop_;
};

// Another process publishes counts and rings; every one must be seen although the loop sleeps
// between.
TEST_P(LoopBells, NoWakeUpIsLostAcrossProcesses) {
  constexpr uint32_t kRings = 20'000;
  auto* work = reinterpret_cast<uint32_t*>(bells_.at(1));
  const pid_t child = fork();
  if (child == 0) {
    for (uint32_t i = 1; i <= kRings; ++i) {
      std::atomic_ref<uint32_t>(*work).store(i, std::memory_order_release);
      lane::Ring(bells_.at(0));
      if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    _exit(0);
  }
  uint32_t seen = 0;
  loop_->WatchBell(bells_.at(0), [&] {
    seen = std::atomic_ref<uint32_t>(*work).load(std::memory_order_acquire);
  });
  // No time limit on a turn: a lost wake-up hangs here.
  while (seen != kRings) loop_->Turn(UINT64_MAX);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_P(LoopBells, ManyBellsEachReachTheirHandler) {
  constexpr size_t kBells = 300;  // three groups of the helper
  std::vector<int> calls(kBells, 0);
  for (size_t i = 0; i < kBells; ++i) {
    loop_->WatchBell(bells_.at(i), [&calls, i] { ++calls[i]; });
  }
  loop_->Turn(0);
  loop_->Turn(0);
  for (int round = 0; round < 3; ++round) {
    const std::vector<int> before = calls;
    for (size_t i = 0; i < kBells; ++i) lane::Ring(bells_.at(i));
    ASSERT_TRUE(TurnUntil(loop_.get(), [&] {
      for (size_t i = 0; i < kBells; ++i) {
        if (calls[i] == before[i]) return false;
      }
      return true;
    }));
  }
}

TEST_P(LoopBells, RemovedBellMayBeUnmapped) {
  auto* page = static_cast<SgprsDoorbell*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int calls = 0;
  const WatchId id = loop_->WatchBell(page, [&] { ++calls; });
  int others = 0;
  loop_->WatchBell(bells_.at(0), [&] { ++others; });
  loop_->Turn(0);
  loop_->Remove(id);
  munmap(page, 4096);
  const int before = calls;
  const int others_before = others;
  lane::Ring(bells_.at(0));
  ASSERT_TRUE(TurnUntil(loop_.get(), [&] { return others > others_before; }));
  EXPECT_EQ(calls, before);
}

TEST_P(LoopBells, HandlerMayRemoveOtherBells) {
  int second = 0;
  WatchId second_id = 0;
  int third = 0;
  loop_->WatchBell(bells_.at(0), [&] { loop_->Remove(second_id); });
  second_id = loop_->WatchBell(bells_.at(1), [&] { ++second; });
  loop_->WatchBell(bells_.at(2), [&] { ++third; });
  loop_->Turn(0);
  EXPECT_EQ(second, 0);
  EXPECT_GT(third, 0);
  const int before = third;
  lane::Ring(bells_.at(2));
  ASSERT_TRUE(TurnUntil(loop_.get(), [&] { return third > before; }));
}

INSTANTIATE_TEST_SUITE_P(All, LoopBells,
                         ::testing::Values(LoopOptions::Bells::kRing, LoopOptions::Bells::kHelper),
                         [](const auto& info) {
                           return info.param == LoopOptions::Bells::kRing ? "Ring" : "Helper";
                         });

}  // namespace
}  // namespace sgprs::loop
