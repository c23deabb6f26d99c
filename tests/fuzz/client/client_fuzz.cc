// SPDX-License-Identifier: Apache-2.0
// A hostile client beside an honest one: whatever it writes into its lane, sgprsd's part of it
// neither falls over nor lets the other one feel it. The input mixes what an honest shim does with
// stores anywhere, so that the hostile client gets far enough to be believed.
//
// Input: {u8 flags: bit 0 periodic, bits 1-2 policy}, then operations of 10 bytes
// {u8 what, u8 a, u64 value}, little endian; see HostileClient::Apply.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/policy/policy.h"
#include "tests/fuzz/client/small_daemon.h"
#include "tests/support/fake_shim.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using namespace sgprs;
using fuzz::SmallDaemon;

constexpr size_t kOperationBytes = 10;
constexpr uint64_t kMostLaunches = 600;  // of one operation; several rings fit into an input

void Require(bool promise) {
  if (!promise) std::abort();
}

// The lane as the hostile process maps it.
class HostileClient {
 public:
  HostileClient(SmallDaemon* daemon, const SgprsHello& hello)
      : daemon_(daemon), id_(daemon->Join(hello)) {
    // A lane dies with its client; the pointers are used while the daemon still has it.
    h_ = daemon_->client(id_)->lane()->header();
    layout_ = *h_;  // as handed over: it overwrites its own copy, too
  }

  uint64_t id() const { return id_; }
  bool there() const { return daemon_->client(id_) != nullptr; }

  void Apply(uint8_t what, uint8_t a, uint64_t value) {
    switch (what % 12) {
      case 0:
        return Cursor(a, value);
      case 1:
        return Cursor(a, CursorAt(a) + value % 10000);
      case 2:
        return Launches(1 + value % kMostLaunches, a, true);
      case 3:
        return Launches(1 + value % kMostLaunches, a, false);
      case 4:
        return Complete(a, value, true);
      case 5:
        return Complete(a, value, false);
      case 6:
        return Garbage(layout_.completions_offset,
                       layout_.completion_count * sizeof(SgprsCompletion), a, value);
      case 7:
        return Garbage(
            layout_.slots_offset + (h_->recorded % layout_.slot_count) * sizeof(SgprsSlot),
            sizeof(SgprsSlot), a, value);
      case 8:
        return Garbage(0, sizeof(*h_), a, value);
      case 9:
        return daemon_->Pass(value % 2'000'000'000);
      case 10:
        return daemon_->SetPolicy(policy::PolicyTable()[value % policy::PolicyTable().size()].name);
      default:
        return daemon_->Bell(id_);
    }
  }

 private:
  uint64_t* CursorWord(uint8_t a) {
    const std::array<uint64_t*, 8> words = {&h_->recorded,
                                            &h_->issued,
                                            &h_->completed,
                                            &h_->jobs,
                                            &h_->kernels_interned,
                                            &h_->grants_consumed,
                                            &h_->completions_published,
                                            &h_->counters.bypassed};
    return words[a % words.size()];
  }
  uint64_t CursorAt(uint8_t a) { return *CursorWord(a); }
  void Cursor(uint8_t a, uint64_t value) { *CursorWord(a) = value; }

  void Garbage(uint64_t offset, uint64_t bytes, uint8_t a, uint64_t value) {
    const uint64_t at = offset + (a * sizeof(value)) % bytes;
    std::memcpy(reinterpret_cast<char*>(h_) + at, &value, sizeof(value));
  }

  // `count` launches; bits of `a`: 0-2 what is odd about them.
  void Launches(uint64_t count, uint8_t a, bool first) {
    auto* slots = reinterpret_cast<SgprsSlot*>(reinterpret_cast<char*>(h_) + layout_.slots_offset);
    if (first) ++job_;
    for (uint64_t i = 0; i < count; ++i) {
      SgprsSlot slot = {};
      slot.index = h_->recorded;
      slot.time_ns = (a & 1) != 0 ? UINT64_MAX - i : daemon_->now_ns();
      if ((a & 2) != 0) ++job_;  // each a job
      slot.job = job_;
      slot.kind = SGPRS_SLOT_KERNEL;
      slot.stream = (a & 4) != 0 ? static_cast<uint32_t>(i) : 0;
      slot.flags = (first && i == 0) || (a & 2) != 0 ? SGPRS_SLOT_JOB_FIRST : 0;
      slots[h_->recorded % layout_.slot_count] = slot;
      ++h_->recorded;
    }
  }

  // Part of what was recorded is issued and complete; with an entry that names a grant.
  void Complete(uint8_t a, uint64_t value, bool entry) {
    const uint64_t open = h_->recorded - h_->completed;
    const uint64_t upto = h_->completed + (a == 0 ? open : open * a / 255);
    h_->issued = h_->completed = upto;
    h_->grants_consumed = h_->grants_published;
    if (!entry) return;
    SgprsCompletion completion = {};
    completion.grant = h_->grants_published - value % 3;
    completion.upto = upto;
    completion.complete_ns = daemon_->now_ns();
    completion.gpu_ns = value;
    completion.job = job_;
    completion.flags = static_cast<uint16_t>(value >> 60);
    auto* ring = reinterpret_cast<SgprsCompletion*>(reinterpret_cast<char*>(h_) +
                                                    layout_.completions_offset);
    ring[h_->completions_published++ % layout_.completion_count] = completion;
  }

  SmallDaemon* const daemon_;
  const uint64_t id_;
  SgprsLaneHeader* h_;
  SgprsLaneHeader layout_;
  uint32_t job_ = 0;
};

// Runs one job of 60 launches to its end; it must come to its end in good time, whatever the other
// one holds or wants.
class HonestClient {
 public:
  explicit HonestClient(SmallDaemon* daemon)
      : daemon_(daemon),
        id_(daemon->Join(testing::MakeHello("honest", 50'000'000))),
        lane_(daemon->client(id_)->lane()->header()) {}

  void RunJob() {
    for (int i = 0; i < 60; ++i) {
      lane_.Record({.job_first = i == 0, .time_ns = daemon_->now_ns()});
    }
    first_of_job_ = lane_.recorded() - 60;
    daemon_->Bell(id_);
    // 100 ms a step, and one step a stage: a queued stage may wait limits.max_wait (1 s).
    for (int step = 0; step < 1000 && completed_ < lane_.recorded(); ++step) {
      while (const auto grant = lane_.TakeGrant()) {
        if (lane_.grants_taken() > 1 && grant->upto < completed_) continue;
        const uint64_t upto = std::min(grant->upto, lane_.recorded());
        if (upto <= completed_) continue;
        lane_.Complete(*grant, completed_ = upto);
        daemon_->Bell(id_);
      }
      // An open grant taken before goes on.
      if (completed_ < lane_.recorded()) daemon_->Pass(100'000'000);
    }
    Require(completed_ == lane_.recorded());
    Require(daemon_->client(id_) != nullptr);
  }

 private:
  SmallDaemon* const daemon_;
  const uint64_t id_;
  testing::FakeLane lane_;
  uint64_t completed_ = 0;
  uint64_t first_of_job_ = 0;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  SmallDaemon daemon;
  const auto policies = policy::PolicyTable();
  daemon.SetPolicy(policies[(data[0] >> 1) % policies.size()].name);
  HonestClient honest(&daemon);
  HostileClient hostile(&daemon, testing::MakeHello("hostile", (data[0] & 1) != 0 ? 1000 : 0));
  honest.RunJob();
  for (size_t at = 1; at + kOperationBytes <= size && hostile.there(); at += kOperationBytes) {
    uint64_t value;
    std::memcpy(&value, data + at + 2, sizeof(value));
    hostile.Apply(data[at], data[at + 1], value);
  }
  honest.RunJob();
  daemon.Leave(hostile.id());
  honest.RunJob();
  return 0;
}
