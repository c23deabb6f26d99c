// SPDX-License-Identifier: Apache-2.0
// A runtime with no sense at all: grants a few slots at a time, each time in a random partition at
// a random level, sometimes late, sometimes ahead of what is recorded. What the shim keeps in order
// under this it keeps in order under any policy.
//
//   random_granter --socket PATH [--seed N] [--most SLOTS] [--life-ms MS] [--hold-ms MS]
//
// --hold-ms: nothing is granted for so long after a process has registered.
// --life-ms: after so long all connections are dropped; after a pause new ones are taken, with
// another pool every second time.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/lane/lane_owner.h"
#include "sgprs/abi/control.h"

namespace {

using sgprs::lane::LaneOwner;

struct Options {
  std::string socket;
  uint64_t seed = 1;
  uint64_t most = 4;
  uint64_t life_ms = 0;
  uint64_t hold_ms = 0;
};

std::atomic<uint32_t> g_life{0};  // connections of an earlier life end

void SleepUs(uint64_t us) {
  const timespec moment = {0, static_cast<long>(us * 1000)};
  nanosleep(&moment, nullptr);
}

void FillPlan(SgprsWelcome* welcome, uint32_t sms, bool other) {
  const SgprsPartitionPlan plans[2][4] = {
      {{0, sms / 2}, {sms / 2, sms / 2}, {0, sms}, {sms / 4, sms / 4}},
      {{0, sms / 4}, {sms / 4, sms / 2}, {sms / 2, sms / 2}, {0, sms}}};
  welcome->partition_count = 4;
  welcome->backend_wanted = SGPRS_BACKEND_GREEN;
  for (int i = 0; i < 4; ++i) {
    welcome->partitions[i] = plans[other ? 1 : 0][i];
    welcome->partitions[i].first_sm &= ~7u;
    if (welcome->partitions[i].sm_count != sms) welcome->partitions[i].sm_count &= ~7u;
  }
}

bool SendWelcome(int fd, const SgprsHello& hello, LaneOwner* lane, bool other) {
  SgprsWelcome welcome;
  std::memset(&welcome, 0, sizeof(welcome));
  welcome.header = {SGPRS_CONTROL_MAGIC, SGPRS_ABI_MAJOR, SGPRS_ABI_MINOR, SGPRS_MESSAGE_WELCOME, 0,
                    sizeof(welcome)};
  welcome.client_id = 1;
  welcome.lane_bytes = lane->bytes();
  FillPlan(&welcome, hello.sm_count, other);
  iovec part = {&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  const int lane_fd = lane->fd();
  std::memcpy(CMSG_DATA(c), &lane_fd, sizeof(lane_fd));
  return sendmsg(fd, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(welcome));
}

class Granter {
 public:
  Granter(LaneOwner* lane, uint64_t seed, uint64_t most, uint64_t hold_ms)
      : lane_(lane),
        random_(seed),
        most_(most),
        first_grant_ns_(sgprs::NowNs() + hold_ms * sgprs::kNsPerMs) {}

  // False: the shim broke the rules of the lane.
  bool Turn() {
    lane_->SetAliveNs(sgprs::NowNs());
    const auto seen = lane_->Observe();
    if (!seen.ok()) {
      std::fprintf(stderr, "random_granter: %s\n", seen.status().text().c_str());
      return false;
    }
    SgprsCompletion completion;
    while (lane_->TakeCompletionUntrusted(&completion)) {
    }
    if (sgprs::NowNs() < first_grant_ns_) return true;
    if (wait_for_all_ && seen->completed < granted_) return true;
    wait_for_all_ = false;
    // Now and then further than what is recorded.
    while (granted_ < seen->recorded || Below(200) == 0) {
      if (!Grant()) break;
      if (Below(4) == 0) {
        wait_for_all_ = true;
        break;
      }
    }
    return true;
  }

  uint64_t Below(uint64_t n) { return random_() % n; }

 private:
  bool Grant() {
    SgprsGrant grant;
    std::memset(&grant, 0, sizeof(grant));
    grant.from = granted_;
    grant.upto = granted_ + 1 + Below(most_);
    grant.job = UINT32_MAX;
    grant.partition = static_cast<uint16_t>(Below(4));
    grant.level = Below(3) == 0 ? SGPRS_LEVEL_HIGH : SGPRS_LEVEL_LOW;
    grant.time_ns = sgprs::NowNs();
    grant.virtual_deadline_ns = UINT64_MAX;
    uint64_t sequence = 0;
    if (!lane_->PublishGrant(grant, &sequence)) return false;
    granted_ = grant.upto;
    lane_->SetGranted(granted_);
    return true;
  }

  LaneOwner* lane_;
  std::mt19937_64 random_;
  uint64_t most_;
  uint64_t first_grant_ns_;
  uint64_t granted_ = 0;
  bool wait_for_all_ = false;
};

void Serve(int fd, const Options& options, uint32_t life) {
  SgprsHello hello;
  if (recv(fd, &hello, sizeof(hello), 0) == static_cast<ssize_t>(sizeof(hello))) {
    auto lane = LaneOwner::Create(1, hello.device_uuid);
    if (lane.ok()) {
      (*lane)->SetAliveNs(sgprs::NowNs());
      (*lane)->SetPauseNs(300 * sgprs::kNsPerUs);
      Granter granter(lane->get(), options.seed + life, options.most, options.hold_ms);
      bool open = SendWelcome(fd, hello, lane->get(), life % 2 == 1);
      while (open && g_life.load(std::memory_order_relaxed) == life && granter.Turn()) {
        char packet[SGPRS_CONTROL_MAX_BYTES];
        open = recv(fd, packet, sizeof(packet), MSG_DONTWAIT) != 0;
        SleepUs(granter.Below(100) == 0 ? 2000 : 50);
      }
    }
  }
  close(fd);
}

int Listen(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
  unlink(path.c_str());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd, 64) != 0) {
    std::perror("random_granter: socket");
    std::exit(1);
  }
  return fd;
}

[[noreturn]] void Loop(const Options& options) {
  for (uint32_t life = 0;; ++life) {
    g_life.store(life, std::memory_order_relaxed);
    const int listener = Listen(options.socket);
    const uint64_t end_ns = sgprs::NowNs() + options.life_ms * sgprs::kNsPerMs;
    while (options.life_ms == 0 || sgprs::NowNs() < end_ns) {
      pollfd wait = {listener, POLLIN, 0};
      if (poll(&wait, 1, 50) <= 0) continue;
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) std::thread(Serve, fd, options, life).detach();
    }
    g_life.store(life + 1, std::memory_order_relaxed);
    close(listener);
    SleepUs(150000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--socket") options.socket = argv[i + 1];
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--most") options.most = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--hold-ms") options.hold_ms = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--life-ms") options.life_ms = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (options.socket.empty() || options.most == 0) {
    std::fprintf(stderr,
                 "usage: random_granter --socket PATH [--seed N] [--most N] [--life-ms N] "
                 "[--hold-ms N]\n");
    return 2;
  }
  Loop(options);
}
