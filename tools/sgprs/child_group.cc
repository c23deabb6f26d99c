// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/child_group.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/clock.h"

namespace sgprs::cli {
namespace {

// For poll(): rounded up, so that it does not spin on the last fraction.
int MsUntil(uint64_t until_ns) {
  const uint64_t now_ns = NowNs();
  if (until_ns <= now_ns) return 0;
  return static_cast<int>(
      std::min<uint64_t>((until_ns - now_ns + kNsPerMs - 1) / kNsPerMs, 60'000));
}

}  // namespace

Result<std::unique_ptr<ChildGroup>> ChildGroup::Make(uint64_t grace_ns) {
  sigset_t ending;
  sigset_t old_mask;
  sigemptyset(&ending);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  sigprocmask(SIG_BLOCK, &ending, &old_mask);
  UniqueFd signals(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) {
    const int error = errno;
    sigprocmask(SIG_SETMASK, &old_mask, nullptr);
    return Status(ErrorCode::kInternal, std::string("signalfd: ") + std::strerror(error));
  }
  return std::unique_ptr<ChildGroup>(new ChildGroup(old_mask, std::move(signals), grace_ns));
}

ChildGroup::~ChildGroup() {
  for (auto& child : children_) child->Signal(SIGTERM);
  const uint64_t limit_ns = NowNs() + grace_ns_;
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    pollfd entry = {(*child)->pidfd(), POLLIN, 0};
    if (!(*child)->Poll()) poll(&entry, 1, MsUntil(limit_ns));
    (*child)->Stop(0);
  }
  signalfd_siginfo drained;  // what came meanwhile has been obeyed
  while (read(signals_.get(), &drained, sizeof(drained)) > 0) {
  }
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

Result<ChildProcess*> ChildGroup::Start(const ChildSpec& spec) {
  Result<ChildProcess> child = ChildProcess::Start(spec);
  if (!child.ok()) return child.status();
  children_.push_back(std::make_unique<ChildProcess>(std::move(child).value()));
  return children_.back().get();
}

Status ChildGroup::CheckChildren(const ChildProcess* expected) {
  for (auto& child : children_) {
    if (child.get() == expected || child->Poll().value_or(0) == 0) continue;
    return Status(ErrorCode::kUnavailable, child->Epitaph());
  }
  return Status::Ok();
}

Status ChildGroup::WaitOnce(uint64_t until_ns, const ChildProcess* expected) {
  std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0}};
  for (auto& child : children_) {
    // Not Poll(): one that ended just now must wake poll(), not be left out of it.
    if (!child->reaped()) entries.push_back({child->pidfd(), POLLIN, 0});
  }
  poll(entries.data(), entries.size(), MsUntil(until_ns));
  signalfd_siginfo signal;
  if (read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
    interrupted_ = static_cast<int>(signal.ssi_signo);
    return Status(ErrorCode::kRefused, fmt::format("ended by {}", strsignal(interrupted_)));
  }
  return CheckChildren(expected);
}

Status ChildGroup::WaitUntil(uint64_t until_ns) {
  Status status = CheckChildren(nullptr);
  while (status.ok() && NowNs() < until_ns) status = WaitOnce(until_ns, nullptr);
  return status;
}

Status ChildGroup::WaitForEnd(ChildProcess* child, uint64_t until_ns) {
  while (!child->Poll()) {
    if (NowNs() >= until_ns) {
      return Status(ErrorCode::kUnavailable, child->spec().name + " does not end");
    }
    Status status = WaitOnce(until_ns, child);
    if (!status.ok()) return status;
  }
  if (*child->Poll() == 0) return Status::Ok();
  return Status(ErrorCode::kUnavailable, child->Epitaph());
}

}  // namespace sgprs::cli
