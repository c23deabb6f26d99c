// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "runtime/base/unique_fd.h"
#include "tools/simgpu/driver/futex.h"

namespace sgprs::simgpu::driver {
namespace {

// Words of the shared memory, as atomics.
std::atomic_ref<uint64_t> Atomic(uint64_t& word) { return std::atomic_ref<uint64_t>(word); }
std::atomic_ref<uint32_t> Atomic(uint32_t& word) { return std::atomic_ref<uint32_t>(word); }

UniqueFd ConnectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return UniqueFd();
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  const timeval limit{5, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  int rc;
  do {
    rc = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  } while (rc != 0 && errno == EINTR);
  return rc == 0 ? std::move(fd) : UniqueFd();
}

}  // namespace

CUresult Channel::Connect(const std::string& path) {
  UniqueFd fd = ConnectTo(path);
  if (!fd.valid()) return CUDA_ERROR_NO_DEVICE;
  int fds[2] = {-1, -1};
  CUresult result = Handshake(fd.get(), fds);
  UniqueFd channel_fd(fds[0]);
  UniqueFd doorbell_fd(fds[1]);
  if (result == CUDA_SUCCESS) result = Map(channel_fd.get(), doorbell_fd.get());
  if (result == CUDA_SUCCESS) socket_ = fd.release();
  return result;
}

CUresult Channel::Handshake(int fd, int fds[2]) {
  const Hello hello{kMagic, kVersion, static_cast<uint32_t>(HelloKind::kClient),
                    static_cast<uint32_t>(getpid())};
  if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) return CUDA_ERROR_NO_DEVICE;
  iovec part{&welcome_, sizeof(welcome_)};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size;
  do {
    size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return CUDA_ERROR_NO_DEVICE;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    if (c->cmsg_len == CMSG_LEN(2 * sizeof(int))) memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
  }
  if (size != sizeof(welcome_) || welcome_.magic != kMagic || welcome_.version != kVersion) {
    return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  }
  if (welcome_.refused != 0) return static_cast<CUresult>(welcome_.refused);
  const bool usable = fds[0] >= 0 && fds[1] >= 0 && welcome_.sm_count > 0 &&
                      welcome_.sm_count <= static_cast<uint32_t>(kMaxSms);
  return usable ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
}

CUresult Channel::Map(int channel_fd, int doorbell_fd) {
  struct stat status;
  if (fstat(channel_fd, &status) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < sizeof(ChannelHeader)) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, channel_fd, 0);
  void* bell = mmap(nullptr, sizeof(Doorbell), PROT_READ | PROT_WRITE, MAP_SHARED, doorbell_fd, 0);
  if (memory == MAP_FAILED || bell == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  // A forked child has no business in here.
  madvise(memory, size, MADV_DONTFORK);
  header_ = static_cast<ChannelHeader*>(memory);
  const ChannelHeader& h = *header_;
  const bool good = h.magic == kMagic && h.version == kVersion &&
                    h.command_count == kCommandCount && h.log_count == kLogCount &&
                    h.commands_offset <= size && h.log_offset <= size &&
                    h.commands_offset % 64 == 0 && h.log_offset % 8 == 0 &&
                    size - h.commands_offset >= uint64_t{kCommandCount} * sizeof(Command) &&
                    size - h.log_offset >= uint64_t{kLogCount} * sizeof(LogEntry);
  if (!good) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  char* base = static_cast<char*>(memory);
  commands_ = reinterpret_cast<Command*>(base + h.commands_offset);
  log_ = reinterpret_cast<LogEntry*>(base + h.log_offset);
  log_mask_ = kLogCount - 1;
  device_doorbell_ = static_cast<Doorbell*>(bell);
  return CUDA_SUCCESS;
}

void Channel::Publish(uint64_t tail) {
  // seq_cst: a release for the device's acquire of command_tail (the commands are whole), and
  // ordered before the loads of Ring and LogTail; pairs with the device's seq_cst store of
  // `asleep`, which lies between its log entries and its last look at command_tail.
  Atomic(header_->command_tail).store(tail, std::memory_order_seq_cst);
}

void Channel::Ring() {
  if (Atomic(device_doorbell_->asleep).load(std::memory_order_seq_cst) == 0) return;
  // relaxed: the futex call itself orders; the value only has to differ. `asleep` 0 spares the next
  // ringer a call.
  Atomic(device_doorbell_->asleep).store(0, std::memory_order_relaxed);
  Atomic(device_doorbell_->sequence).fetch_add(1, std::memory_order_relaxed);
  FutexWakeAll(&device_doorbell_->sequence, true);
}

uint64_t Channel::LogTail() const {
  return Atomic(header_->log_tail).load(std::memory_order_seq_cst);  // pairs as said in Publish
}

int Channel::Ask(uint64_t seq) {
  int slot = static_cast<int>(seq % kAskSlots);
  for (int i = 0; i < kAskSlots; ++i, slot = (slot + 1) % kAskSlots) {
    uint64_t free = 0;
    // relaxed: the device reads it after `asks`, or again when it has announced its sleep.
    if (Atomic(header_->asked[slot])
            .compare_exchange_strong(free, seq, std::memory_order_relaxed)) {
      break;
    }
    if (i + 1 == kAskSlots) slot = -1;
    if (slot < 0) break;
  }
  if (slot < 0) Atomic(header_->ask_all).fetch_add(1, std::memory_order_relaxed);
  // seq_cst: before the load of `asleep` in Ring; pairs with the device's last look at `asks`.
  Atomic(header_->asks).fetch_add(1, std::memory_order_seq_cst);
  Ring();
  return slot;
}

void Channel::TakeBack(int slot) {
  // relaxed: an ask too many only wakes the device too early.
  if (slot < 0) {
    Atomic(header_->ask_all).fetch_sub(1, std::memory_order_relaxed);
  } else {
    Atomic(header_->asked[slot]).store(0, std::memory_order_relaxed);
  }
}

void Channel::AskPolling(uint64_t seq) {
  std::atomic_ref<uint64_t> slot = Atomic(header_->queried[seq % kQuerySlots]);
  if (slot.load(std::memory_order_relaxed) == seq) return;  // relaxed, both: as in Ask
  slot.store(seq, std::memory_order_relaxed);
  Atomic(header_->asks).fetch_add(1, std::memory_order_seq_cst);  // as in Ask
  Ring();
}

bool Channel::LoggedEnd(uint64_t seq, uint64_t from, uint64_t to) const {
  for (uint64_t i = from; i < to; ++i) {
    const LogEntry& entry = log_[i & log_mask_];
    if (entry.seq == seq && entry.kind != static_cast<uint32_t>(LogKind::kRunHost)) return true;
  }
  return false;
}

uint64_t Channel::CommandHead() const {
  // acquire: pairs with the device's release; the slot has been read before we write it again.
  return Atomic(header_->command_head).load(std::memory_order_acquire);
}

bool Channel::TakeLog(LogEntry* entry) {
  // acquire: pairs with the device's release of log_tail; the entry is whole.
  const uint64_t tail = Atomic(header_->log_tail).load(std::memory_order_acquire);
  if (tail == log_head_) return false;
  *entry = log_[log_head_ & log_mask_];
  ++log_head_;
  // release: pairs with the device's acquire; the entry has been read before the slot is reused.
  Atomic(header_->log_head).store(log_head_, std::memory_order_release);
  return true;
}

void Channel::SleepForLog(uint32_t timeout_ms) {
  Doorbell& bell = header_->client_doorbell;
  const uint32_t sequence = Atomic(bell.sequence).load(std::memory_order_relaxed);
  // seq_cst: the store of `asleep` before the last look at the log; pairs with the device's store
  // of log_tail before its load of `asleep`.
  Atomic(bell.asleep).store(1, std::memory_order_seq_cst);
  if (Atomic(header_->log_tail).load(std::memory_order_seq_cst) == log_head_) {
    FutexWait(&bell.sequence, sequence, timeout_ms, true);
  }
  Atomic(bell.asleep).store(0, std::memory_order_relaxed);  // relaxed: a wake too many is harmless
}

bool Channel::Alive() const {
  pollfd item{socket_, POLLIN | POLLRDHUP, 0};
  if (poll(&item, 1, 0) <= 0) return true;
  if ((item.revents & (POLLHUP | POLLERR | POLLRDHUP | POLLNVAL)) != 0) return false;
  char byte;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

void Channel::CloseInChild() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

}  // namespace sgprs::simgpu::driver
