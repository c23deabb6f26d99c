// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"
#include "tests/bench/runtime/probes.h"
#include "tests/support/fake_shim.h"

namespace sgprs::bench {
namespace {

constexpr uint64_t kLimitNs = 5 * kNsPerSecond;
constexpr uint64_t kWarmUp = 100;

void StayOn(uint64_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= CPU_SETSIZE) Fail("no CPU " + std::to_string(cpu));
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) Fail("no CPU " + std::to_string(cpu));
}

void Pause(uint64_t ns) {
  if (ns == 0) return;
  const timespec time = ToTimespec(ns);
  nanosleep(&time, nullptr);
}

// Sleeps on the bell until `ready`; as the shim's issuer does it, without its spin.
template <typename Ready>
void Await(SgprsDoorbell* bell, const Ready& ready) {
  const uint64_t limit_ns = NowNs() + kLimitNs;
  while (!ready()) {
    const uint32_t sequence = lane::Sequence(bell);
    lane::AnnounceSleep(bell);
    if (ready()) return lane::CancelSleep(bell);
    lane::Sleep(bell, sequence, kLimitNs);
    if (NowNs() > limit_ns) Fail("no answer in 5 s");
  }
}

struct Pair {
  SgprsDoorbell there;
  SgprsDoorbell back;
  uint64_t asked;
  uint64_t answered;
};

void Answer(Pair* pair) {
  for (uint64_t number = 1;; ++number) {
    std::atomic_ref<uint64_t> asked(pair->asked);
    // Acquire and release pair with the asker's.
    Await(&pair->there, [&] { return asked.load(std::memory_order_acquire) >= number; });
    std::atomic_ref<uint64_t>(pair->answered).store(number, std::memory_order_release);
    lane::Ring(&pair->back);
  }
}

}  // namespace

std::vector<uint64_t> GrantRoundTrips(const std::string& socket, uint64_t count, uint64_t pause_ns,
                                      uint64_t here) {
  StayOn(here);
  testing::FakeShim shim;
  SgprsHello hello = testing::MakeHello("probe");
  hello.task_class = SGPRS_CLASS_HIGH;
  if (Status status = shim.Register(socket, hello); !status.ok()) Fail(status.text());
  testing::FakeLane& lane = *shim.lane();
  std::vector<uint64_t> trips;
  for (uint64_t job = 1; job <= kWarmUp + count; ++job) {
    Pause(pause_ns);
    const uint64_t start_ns = NowNs();
    lane.RecordJob(1);
    std::optional<SgprsGrant> grant;
    Await(&lane.header()->issuer_doorbell, [&] {
      while (auto next = lane.TakeGrant()) {
        if (next->job == job) grant = next;
      }
      return grant.has_value();
    });
    if (job > kWarmUp) trips.push_back(NowNs() - start_ns);
    lane.Complete(*grant, lane.recorded());
  }
  return trips;
}

std::vector<uint64_t> FutexRoundTrips(uint64_t count, uint64_t pause_ns, uint64_t here,
                                      uint64_t there) {
  void* shared =
      mmap(nullptr, sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) Fail("no shared memory");
  auto* pair = static_cast<Pair*>(shared);
  const pid_t child = fork();
  if (child < 0) Fail("no process");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    StayOn(there);
    Answer(pair);
  }
  StayOn(here);
  std::vector<uint64_t> trips;
  for (uint64_t number = 1; number <= kWarmUp + count; ++number) {
    Pause(pause_ns);
    const uint64_t start_ns = NowNs();
    std::atomic_ref<uint64_t>(pair->asked).store(number, std::memory_order_release);
    lane::Ring(&pair->there);
    std::atomic_ref<uint64_t> answered(pair->answered);
    // Acquire and release pair with the answerer's.
    Await(&pair->back, [&] { return answered.load(std::memory_order_acquire) >= number; });
    if (number > kWarmUp) trips.push_back(NowNs() - start_ns);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(shared, sizeof(Pair));
  return trips;
}

}  // namespace sgprs::bench
