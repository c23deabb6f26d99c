// SPDX-License-Identifier: Apache-2.0
#include "shim/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/job_rule.h"
#include "runtime/base/release_rule.h"

namespace sgprs::shim {
namespace {

uint64_t EnvNumber(const char* name) {
  const char* text = env::Get(name);
  return text != nullptr ? strtoull(text, nullptr, 10) : 0;
}

void CopyName(char* to, size_t room, const char* from) {
  const size_t bytes = strnlen(from, room - 1);
  memcpy(to, from, bytes);
  to[bytes] = '\0';
}

void FillHeader(SgprsMessageHeader* header, uint16_t type, uint32_t bytes) {
  header->magic = SGPRS_CONTROL_MAGIC;
  header->major = SGPRS_ABI_MAJOR;
  header->minor = SGPRS_ABI_MINOR;
  header->type = type;
  header->bytes = bytes;
}

void FillJobRule(SgprsHello* hello) {
  const char* text = env::Get(env::kJob);
  hello->job_rule = SGPRS_JOB_AUTO;
  if (text == nullptr) return;
  if (strcmp(text, "marked") == 0 || NvtxJobName(text) != nullptr) {
    hello->job_rule = SGPRS_JOB_MARKED;
  }
  if (strncmp(text, "launches:", 9) == 0) {
    hello->job_launches = strtoull(text + 9, nullptr, 10);
    if (hello->job_launches != 0) hello->job_rule = SGPRS_JOB_LAUNCHES;
  }
}

void FillHello(const DeviceFacts& facts, uint32_t backends, SgprsHello* hello) {
  memset(hello, 0, sizeof(*hello));
  FillHeader(&hello->header, SGPRS_MESSAGE_HELLO, sizeof(*hello));
  CopyName(hello->program, sizeof(hello->program), program_invocation_short_name);
  const char* name = env::Get(env::kName);
  CopyName(hello->name, sizeof(hello->name), name != nullptr ? name : hello->program);
  hello->period_ns = EnvNumber(env::kPeriodNs);
  hello->deadline_ns = EnvNumber(env::kDeadlineNs);
  hello->task_class = ClassFromEnv();
  FillJobRule(hello);
  if (const char* release = env::Get(env::kRelease); release != nullptr) {
    const std::optional<SgprsReleaseRule> rule = FindReleaseRule(release);
    if (rule) hello->release = *rule + 1;
  }
  memcpy(hello->device_uuid, facts.uuid, sizeof(hello->device_uuid));
  CopyName(hello->device_name, sizeof(hello->device_name), facts.name);
  hello->sm_count = facts.sm_count;
  hello->sm_minimum = facts.sm_minimum;
  hello->sm_alignment = facts.sm_alignment;
  hello->backends = backends;
}

int ConnectSocket(char* reason, uint32_t reason_bytes) {
  const std::string path = env::ControlSocketPath();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    snprintf(reason, reason_bytes, "socket path is too long: %s", path.c_str());
    return -1;
  }
  memcpy(address.sun_path, path.c_str(), path.size());
  int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (low < 0) {
    snprintf(reason, reason_bytes, "no socket: %s", strerror(errno));
    return -1;
  }
  // Out of the way of programs that count on low numbers.
  int fd = fcntl(low, F_DUPFD_CLOEXEC, 200);
  if (fd >= 0) {
    close(low);
  } else {
    fd = low;
  }
  const timeval limit = {2, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    snprintf(reason, reason_bytes, "no sgprsd answers on %s (%s)", path.c_str(), strerror(errno));
    close(fd);
    return -1;
  }
  return fd;
}

// Receives WELCOME and the lane's fd, or a refusal.
int ReceiveWelcome(int socket_fd, SgprsWelcome* welcome, char* reason, uint32_t reason_bytes) {
  alignas(8) unsigned char packet[SGPRS_CONTROL_MAX_BYTES];
  iovec part = {packet, sizeof(packet)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  const uint64_t end_ns = NowNs() + 2 * kNsPerSecond;  // also if signals keep coming
  do {
    got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR && NowNs() < end_ns);
  int lane_fd = -1;
  for (cmsghdr* c = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; c != nullptr;
       c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    if (lane_fd < 0) memcpy(&lane_fd, CMSG_DATA(c), sizeof(int));
  }
  SgprsMessageHeader header = {};
  if (got >= static_cast<ssize_t>(sizeof(header))) memcpy(&header, packet, sizeof(header));
  if (header.magic == SGPRS_CONTROL_MAGIC && header.type == SGPRS_MESSAGE_REFUSE &&
      got == sizeof(SgprsRefuse)) {
    SgprsRefuse refuse;
    memcpy(&refuse, packet, sizeof(refuse));
    refuse.text[sizeof(refuse.text) - 1] = '\0';
    snprintf(reason, reason_bytes, "sgprsd refused: %s", refuse.text);
  } else if (header.magic != SGPRS_CONTROL_MAGIC || header.major != SGPRS_ABI_MAJOR ||
             header.type != SGPRS_MESSAGE_WELCOME || got != sizeof(*welcome) || lane_fd < 0) {
    snprintf(reason, reason_bytes,
             got < 0 ? "sgprsd does not answer" : "sgprsd speaks another version than this shim");
  } else {
    memcpy(welcome, packet, sizeof(*welcome));
    return lane_fd;
  }
  if (lane_fd >= 0) close(lane_fd);
  return -1;
}

bool LaneFits(const SgprsLaneHeader& h, uint64_t bytes) {
  const auto inside = [bytes](uint64_t offset, uint64_t count, uint64_t each) {
    return offset % 64 == 0 && offset <= bytes && count * each <= bytes - offset;
  };
  return h.magic == SGPRS_LANE_MAGIC && h.major == SGPRS_ABI_MAJOR && h.total_bytes == bytes &&
         h.header_bytes == sizeof(SgprsLaneHeader) && h.slot_count == SGPRS_LANE_SLOTS &&
         h.grant_count == SGPRS_LANE_GRANTS && h.completion_count == SGPRS_LANE_COMPLETIONS &&
         h.kernel_count == SGPRS_LANE_KERNELS &&
         inside(h.slots_offset, h.slot_count, sizeof(SgprsSlot)) &&
         inside(h.grants_offset, h.grant_count, sizeof(SgprsGrant)) &&
         inside(h.completions_offset, h.completion_count, sizeof(SgprsCompletion)) &&
         inside(h.kernels_offset, h.kernel_count, sizeof(SgprsKernelName));
}

bool MapLane(int lane_fd, uint64_t bytes, Registration* registration) {
  struct stat info;
  if (fstat(lane_fd, &info) != 0 || static_cast<uint64_t>(info.st_size) < bytes ||
      bytes < sizeof(SgprsLaneHeader)) {
    return false;
  }
  // A file that could shrink under us would kill the host with SIGBUS.
  const int seals = fcntl(lane_fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return false;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lane_fd, 0);
  if (at == MAP_FAILED) return false;
  auto* lane = static_cast<SgprsLaneHeader*>(at);
  if (!LaneFits(*lane, bytes)) {
    munmap(at, bytes);
    return false;
  }
  registration->lane = lane;
  registration->lane_bytes = bytes;
  return true;
}

}  // namespace

SgprsTaskClass ClassFromEnv() {
  const char* text = env::Get(env::kClass);
  if (text == nullptr) {
    return EnvNumber(env::kPeriodNs) != 0 ? SGPRS_CLASS_LOW : SGPRS_CLASS_BEST_EFFORT;
  }
  if (strcmp(text, "high") == 0) return SGPRS_CLASS_HIGH;
  if (strcmp(text, "low") == 0) return SGPRS_CLASS_LOW;
  return SGPRS_CLASS_BEST_EFFORT;
}

bool Register(const DeviceFacts& facts, uint32_t backends, Registration* registration, char* reason,
              uint32_t reason_bytes) {
  const int fd = ConnectSocket(reason, reason_bytes);
  if (fd < 0) return false;
  SgprsHello hello;
  FillHello(facts, backends, &hello);
  if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
    snprintf(reason, reason_bytes, "sgprsd does not listen: %s", strerror(errno));
    close(fd);
    return false;
  }
  const int lane_fd = ReceiveWelcome(fd, &registration->welcome, reason, reason_bytes);
  if (lane_fd < 0) {
    close(fd);
    return false;
  }
  const SgprsWelcome& welcome = registration->welcome;
  const bool good = welcome.partition_count >= 1 &&
                    welcome.partition_count <= SGPRS_MAX_PARTITIONS &&
                    MapLane(lane_fd, welcome.lane_bytes, registration);
  close(lane_fd);
  if (!good) {
    snprintf(reason, reason_bytes, "sgprsd handed over a lane that this shim can not use");
    close(fd);
    return false;
  }
  registration->control_fd = fd;
  return true;
}

bool SendReady(int control_fd, SgprsBackend backend, const uint32_t* sm_counts, uint32_t count) {
  SgprsReady ready;
  memset(&ready, 0, sizeof(ready));
  FillHeader(&ready.header, SGPRS_MESSAGE_READY, sizeof(ready));
  ready.backend = backend;
  ready.partition_count = count;
  for (uint32_t i = 0; i < count; ++i) ready.sm_counts[i] = sm_counts[i];
  return send(control_fd, &ready, sizeof(ready), MSG_NOSIGNAL) == sizeof(ready);
}

void UnmapLane(SgprsLaneHeader* lane, uint64_t bytes, int control_fd) {
  if (lane != nullptr) munmap(lane, bytes);
  if (control_fd >= 0) close(control_fd);
}

bool HungUp(int control_fd) {
  if (control_fd < 0) return true;
  char byte;
  const ssize_t got = recv(control_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace sgprs::shim
