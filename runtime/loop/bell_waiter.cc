// SPDX-License-Identifier: Apache-2.0
#include "runtime/loop/bell_waiter.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "runtime/base/prompt_thread.h"

namespace sgprs::loop {
namespace {

constexpr size_t kWordsPerGroup = FUTEX_WAITV_MAX - 1;

long FutexWaitv(futex_waitv* words, unsigned count) {
  return syscall(SYS_futex_waitv, words, count, 0, nullptr, 0);
}

}  // namespace

// One helper thread and the words it waits on.
class BellWaiter::Group {
 public:
  explicit Group(int event_fd) : event_fd_(event_fd), thread_([this] { Run(); }) {}
  ~Group() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      Nudge();
    }
    thread_.join();
  }

  bool full() const { return members_ == kWordsPerGroup; }
  void AddMember() { ++members_; }
  void RemoveMember() { --members_; }

  void Arm(uint64_t id, uint32_t* word, uint32_t expected) {
    std::lock_guard lock(mutex_);
    armed_[id] = {word, expected};
    Nudge();
  }
  void Disarm(uint64_t id) {
    std::lock_guard lock(mutex_);
    if (armed_.erase(id) != 0) Nudge();
  }
  void TakeFired(std::vector<uint64_t>* fired) {
    std::lock_guard lock(mutex_);
    fired->insert(fired->end(), fired_.begin(), fired_.end());
    fired_.clear();
  }

 private:
  struct Word {
    uint32_t* word = nullptr;
    uint32_t expected = 0;
  };

  // Under the lock: makes the helper look at the list again.
  void Nudge() {
    // Release pairs with nothing but the lock: the kernel compares the value, the list is read
    // under the lock; the order only keeps the store before the wake.
    control_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &control_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  void Run() {
    RunPromptly();
    std::vector<futex_waitv> words;
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (stop_) return;
        CollectFired();
        List(&words);
      }
      // EAGAIN (a word differs), EFAULT (a lane was unmapped: it is off the list by then) and a
      // wake all mean: look again.
      FutexWaitv(words.data(), static_cast<unsigned>(words.size()));
    }
  }

  void CollectFired() {
    bool any = false;
    for (auto it = armed_.begin(); it != armed_.end();) {
      // Acquire pairs with the ringer's add (lane/doorbell.h).
      const uint32_t now =
          std::atomic_ref<uint32_t>(*it->second.word).load(std::memory_order_acquire);
      if (now == it->second.expected) {
        ++it;
        continue;
      }
      fired_.push_back(it->first);
      it = armed_.erase(it);
      any = true;
    }
    const uint64_t one = 1;
    if (any && write(event_fd_, &one, sizeof(one)) < 0) {
      // The counter is at its end: it is readable anyway.
    }
  }

  void List(std::vector<futex_waitv>* words) {
    words->clear();
    // Relaxed: changed only under the lock that is held here.
    words->push_back({control_.load(std::memory_order_relaxed),
                      reinterpret_cast<uintptr_t>(&control_), FUTEX_32 | FUTEX_PRIVATE_FLAG, 0});
    for (const auto& [id, word] : armed_) {
      words->push_back({word.expected, reinterpret_cast<uintptr_t>(word.word), FUTEX_32, 0});
    }
  }

  const int event_fd_;
  size_t members_ = 0;  // the loop's
  std::atomic<uint32_t> control_{0};
  std::mutex mutex_;
  bool stop_ = false;
  std::unordered_map<uint64_t, Word> armed_;
  std::vector<uint64_t> fired_;
  std::thread thread_;  // last: it uses all of the above
};

Result<std::unique_ptr<BellWaiter>> BellWaiter::Make() {
  if (FutexWaitv(nullptr, 0) != 0 && errno == ENOSYS) {
    return Status(ErrorCode::kUnavailable, "no futex_waitv: it needs kernel 5.16 or newer");
  }
  std::unique_ptr<BellWaiter> waiter(new BellWaiter);
  waiter->event_fd_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waiter->event_fd_.valid()) {
    return Status(ErrorCode::kExhausted, std::string("eventfd: ") + std::strerror(errno));
  }
  return waiter;
}

BellWaiter::~BellWaiter() = default;

void BellWaiter::Arm(uint64_t id, uint32_t* word, uint32_t expected) {
  Group*& group = group_of_[id];
  if (group == nullptr) {
    for (const auto& candidate : groups_) {
      if (!candidate->full()) group = candidate.get();
    }
    if (group == nullptr) {
      groups_.push_back(std::make_unique<Group>(event_fd_.get()));
      group = groups_.back().get();
    }
    group->AddMember();
  }
  group->Arm(id, word, expected);
}

void BellWaiter::Disarm(uint64_t id) {
  const auto found = group_of_.find(id);
  if (found == group_of_.end()) return;
  found->second->Disarm(id);
  found->second->RemoveMember();
  group_of_.erase(found);
}

std::vector<uint64_t> BellWaiter::TakeFired() {
  uint64_t count = 0;
  if (read(event_fd_.get(), &count, sizeof(count)) < 0) {
    // Nothing written: the lists below are still looked at.
  }
  std::vector<uint64_t> fired;
  for (const auto& group : groups_) group->TakeFired(&fired);
  return fired;
}

}  // namespace sgprs::loop
