// SPDX-License-Identifier: Apache-2.0
// A bare client of the device's protocol, for tests: well-behaved or not, as the test likes.
#ifndef SGPRS_TESTS_UNIT_SIMGPU_DEVICE_RAW_CLIENT_H_
#define SGPRS_TESTS_UNIT_SIMGPU_DEVICE_RAW_CLIENT_H_

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"
#include "tools/simgpu/device/bell.h"
#include "tools/simgpu/device/socket.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

class RawClient {
 public:
  // nullptr: refused or no answer; then refused() of the last Welcome is lost, see Greet.
  static std::unique_ptr<RawClient> Connect(const std::string& path) {
    std::unique_ptr<RawClient> client(new RawClient);
    Result<UniqueFd> socket = ConnectTo(path);
    if (!socket.ok()) return nullptr;
    client->socket_ = std::move(socket).value();
    const Hello hello{kMagic, kVersion, static_cast<uint32_t>(HelloKind::kClient), 1};
    if (!SendPacket(client->socket_.get(), &hello, sizeof(hello)).ok()) return nullptr;
    return client->ReceiveWelcome() ? std::move(client) : nullptr;
  }
  ~RawClient() {
    if (header_ != nullptr) munmap(header_, header_->total_bytes);
    if (bell_ != nullptr) munmap(bell_, 4096);
  }

  ChannelHeader* header() { return header_; }
  const Welcome& welcome() const { return welcome_; }
  int socket() const { return socket_.get(); }

  // Next command, numbered, stamped with now, not yet published.
  Command& Next(CommandKind kind, uint32_t stream) {
    const uint64_t seq = ++last_seq_;
    Command& command = commands()[seq & (kCommandCount - 1)];
    std::memset(&command, 0, sizeof(command));
    command.seq = seq;
    command.submit_ns = NowNs();
    command.kind = static_cast<uint32_t>(kind);
    command.stream = stream;
    command.context = 1;
    return command;
  }
  Command& NextKernel(uint32_t stream, double flops) {
    Command& command = Next(CommandKind::kKernel, stream);
    command.blocks = 680;
    command.threads = 256;
    command.flops = flops;
    command.dram_bytes = 1;
    return command;
  }
  void Publish() { PublishTail(last_seq_); }
  void PublishTail(uint64_t tail) {
    std::atomic_ref<uint64_t>(header_->command_tail).store(tail, std::memory_order_release);
    RingBell(bell_);
  }
  uint64_t last_seq() const { return last_seq_; }

  // The next log entry; false: none within `limit_ms`, or the device has hung up.
  bool ReadLog(LogEntry* entry, int limit_ms = 10'000) {
    const uint64_t end_ns = NowNs() + static_cast<uint64_t>(limit_ms) * kNsPerMs;
    while (NowNs() < end_ns) {
      const uint32_t sequence = BellSequence(&header_->client_doorbell);
      AnnounceSleep(&header_->client_doorbell);
      if (std::atomic_ref<uint64_t>(header_->log_tail).load(std::memory_order_acquire) !=
          log_head_) {
        CancelSleep(&header_->client_doorbell);
        *entry = log()[log_head_++ & (kLogCount - 1)];
        std::atomic_ref<uint64_t>(header_->log_head).store(log_head_, std::memory_order_release);
        return true;
      }
      SleepUntil(&header_->client_doorbell, sequence, std::min(end_ns, NowNs() + 20 * kNsPerMs));
      if (HungUp()) return false;
    }
    return false;
  }
  // Reads up to the entry of `seq`.
  bool WaitFor(uint64_t seq, LogEntry* entry) {
    while (ReadLog(entry)) {
      if (entry->seq == seq) return true;
    }
    return false;
  }
  bool HungUp(int limit_ms = 0) {
    pollfd item{socket_.get(), POLLRDHUP, 0};
    return poll(&item, 1, limit_ms) > 0;
  }

 private:
  Command* commands() {
    return reinterpret_cast<Command*>(reinterpret_cast<char*>(header_) + header_->commands_offset);
  }
  LogEntry* log() {
    return reinterpret_cast<LogEntry*>(reinterpret_cast<char*>(header_) + header_->log_offset);
  }
  bool ReceiveWelcome() {
    iovec part{&welcome_, sizeof(welcome_)};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC) != sizeof(welcome_)) return false;
    const cmsghdr* first = CMSG_FIRSTHDR(&message);
    if (welcome_.refused != 0 || first == nullptr) return false;
    int fds[2];
    std::memcpy(fds, CMSG_DATA(first), sizeof(fds));
    const UniqueFd channel(fds[0]);
    const UniqueFd bell(fds[1]);
    const off_t size = lseek(channel.get(), 0, SEEK_END);
    void* memory = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED,
                        channel.get(), 0);
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, bell.get(), 0);
    if (memory == MAP_FAILED || page == MAP_FAILED) return false;
    header_ = static_cast<ChannelHeader*>(memory);
    bell_ = static_cast<Doorbell*>(page);
    return header_->total_bytes == static_cast<uint64_t>(size);
  }

  UniqueFd socket_;
  Welcome welcome_{};
  ChannelHeader* header_ = nullptr;
  Doorbell* bell_ = nullptr;
  uint64_t last_seq_ = 0;
  uint64_t log_head_ = 0;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TESTS_UNIT_SIMGPU_DEVICE_RAW_CLIENT_H_
