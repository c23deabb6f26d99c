// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/channel.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tools/simgpu/device/bell.h"

namespace sgprs::simgpu {
namespace {

constexpr uint64_t kCommandsOffset = 4096;
constexpr uint64_t kLogOffset = kCommandsOffset + kCommandCount * sizeof(Command);
constexpr uint64_t kChannelBytes = kLogOffset + kLogCount * sizeof(LogEntry);
static_assert(kLogOffset % 64 == 0);

}  // namespace

Result<UniqueFd> MakeSealedMemory(const char* name, uint64_t bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Status(ErrorCode::kExhausted, std::string("memfd: ") + strerror(errno));
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Status(ErrorCode::kExhausted, std::string("size of memfd: ") + strerror(errno));
  }
  return fd;
}

Result<std::unique_ptr<Channel>> Channel::Make(uint64_t client_id) {
  Result<UniqueFd> fd = MakeSealedMemory("simgpu-channel", kChannelBytes);
  if (!fd.ok()) return fd.status();
  void* base = mmap(nullptr, kChannelBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
  if (base == MAP_FAILED) {
    return Status(ErrorCode::kExhausted, std::string("map of a channel: ") + strerror(errno));
  }
  std::unique_ptr<Channel> channel(new Channel(std::move(fd).value(), static_cast<uint8_t*>(base)));
  ChannelHeader* header = channel->header_;
  header->magic = kMagic;
  header->version = kVersion;
  header->total_bytes = kChannelBytes;
  header->commands_offset = kCommandsOffset;
  header->log_offset = kLogOffset;
  header->command_count = kCommandCount;
  header->log_count = kLogCount;
  header->client_id = client_id;
  return channel;
}

Channel::Channel(UniqueFd fd, uint8_t* base)
    : fd_(std::move(fd)),
      header_(reinterpret_cast<ChannelHeader*>(base)),
      commands_(reinterpret_cast<Command*>(base + kCommandsOffset)),
      log_(reinterpret_cast<LogEntry*>(base + kLogOffset)) {}

Channel::~Channel() {
  RingBell(&header_->client_doorbell);  // whoever sleeps there finds the socket closed
  munmap(header_, kChannelBytes);
}

Result<uint64_t> Channel::Pending() const {
  // acquire: pairs with the client's release store of command_tail after it wrote the commands.
  const uint64_t tail =
      std::atomic_ref<uint64_t>(header_->command_tail).load(std::memory_order_acquire);
  if (tail - taken_ > kCommandCount) {
    return Status(ErrorCode::kInvalid, "command_tail " + std::to_string(tail) +
                                           " is impossible after " + std::to_string(taken_));
  }
  return tail - taken_;
}

Status Channel::Take(Command* command) {
  // Command `seq` lies in slot seq & mask; the ring's n-th command (from 0) has seq n + 1.
  const uint64_t seq = taken_ + 1;
  std::memcpy(command, &commands_[seq & (kCommandCount - 1)], sizeof(Command));
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the copy is made here, once
  if (command->seq != seq) {
    return Status(ErrorCode::kInvalid,
                  "command " + std::to_string(command->seq) + " instead of " + std::to_string(seq));
  }
  ++taken_;
  return Status::Ok();
}

uint64_t Channel::Asks() const {
  // seq_cst: after the device's store of `asleep`; pairs with the client's count before its look.
  return std::atomic_ref<uint64_t>(header_->asks).load(std::memory_order_seq_cst);
}

Channel::Asked Channel::ReadAsked() const {
  Asked result;
  // relaxed, all: hints; a change comes with a change of `asks`.
  result.all = std::atomic_ref<uint64_t>(header_->ask_all).load(std::memory_order_relaxed) != 0;
  const auto take = [&result](uint64_t& word) {
    const uint64_t seq = std::atomic_ref<uint64_t>(word).load(std::memory_order_relaxed);
    if (seq != 0) result.seqs.push_back(seq);
  };
  for (uint64_t& word : header_->asked) take(word);
  for (uint64_t& word : header_->queried) take(word);
  std::sort(result.seqs.begin(), result.seqs.end());
  return result;
}

void Channel::PublishTaken() {
  const uint64_t head = header_->command_head;
  // release: pairs with the client's acquire load before it writes a slot again.
  std::atomic_ref<uint64_t>(header_->command_head).store(taken_, std::memory_order_release);
  if (taken_ - head > kCommandCount / 2) RingBell(&header_->client_doorbell);  // it may want room
}

Status Channel::FlushLog(uint64_t simulated_ns, uint64_t kernels) {
  // relaxed: numbers to look at, nothing hangs on their order.
  std::atomic_ref<uint64_t>(header_->simulated_ns).store(simulated_ns, std::memory_order_relaxed);
  std::atomic_ref<uint64_t>(header_->kernels).store(kernels, std::memory_order_relaxed);
  if (unsent_.empty()) return Status::Ok();
  // acquire: pairs with the client's release store after it has read the entries.
  const uint64_t head =
      std::atomic_ref<uint64_t>(header_->log_head).load(std::memory_order_acquire);
  if (logged_ - head > kLogCount) {
    return Status(ErrorCode::kInvalid, "log_head " + std::to_string(head) +
                                           " is impossible before " + std::to_string(logged_));
  }
  const size_t room = static_cast<size_t>(kLogCount - (logged_ - head));
  const size_t count = std::min(room, unsent_.size());
  if (count == 0) return Status::Ok();
  for (size_t i = 0; i < count; ++i) log_[(logged_ + i) & (kLogCount - 1)] = unsent_[i];
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(count));
  logged_ += count;
  // release: pairs with the client's acquire load of log_tail.
  std::atomic_ref<uint64_t>(header_->log_tail).store(logged_, std::memory_order_release);
  RingBell(&header_->client_doorbell);
  return Status::Ok();
}

}  // namespace sgprs::simgpu
