// SPDX-License-Identifier: Apache-2.0
// Client end of tools/simgpu/protocol.h: socket, shared memory, doorbells.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_CHANNEL_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_CHANNEL_H_

#include <cstdint>
#include <string>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

class Channel {
 public:
  // Connects and maps. May block for a few seconds at most. CUDA_ERROR_NO_DEVICE: nobody answers.
  CUresult Connect(const std::string& path);

  const Welcome& welcome() const { return welcome_; }
  Command* commands() { return commands_; }

  // Commands up to `tail` are written: shows them to the device. Caller holds the queue's lock.
  void Publish(uint64_t tail);
  // Wakes the device if it sleeps.
  void Ring();
  // Log entries that the device has written. After Publish: what it ends and is not counted here,
  // it ends before it looks at the commands for the last time before a sleep.
  uint64_t LogTail() const;
  // Do entries [from, to) tell the end of command `seq`? None of them may be 32768 older than the
  // newest; so the caller keeps others from submitting. Thread: any.
  bool LoggedEnd(uint64_t seq, uint64_t from, uint64_t to) const;
  // Asks the device to tell the end of command `seq` at once, until TakeBack() of what is returned.
  // Thread: any.
  int Ask(uint64_t seq);
  void TakeBack(int slot);
  // The same for somebody who polls: there is nothing to take back.
  void AskPolling(uint64_t seq);
  // Commands that the device has taken. Thread: any.
  uint64_t CommandHead() const;

  // Log, executor thread only. TakeLog: copies the next entry, false if there is none.
  bool TakeLog(LogEntry* entry);
  bool HasLog() const { return LogTail() != log_head_; }
  // Sleeps until the device publishes more or the time is over.
  void SleepForLog(uint32_t timeout_ms);

  // False: the device process has closed the connection. A system call.
  bool Alive() const;
  // After fork, in the child: the parent's connection is not ours.
  void CloseInChild();

 private:
  CUresult Handshake(int fd, int fds[2]);
  CUresult Map(int channel_fd, int doorbell_fd);

  Welcome welcome_{};
  int socket_ = -1;
  ChannelHeader* header_ = nullptr;
  Command* commands_ = nullptr;
  LogEntry* log_ = nullptr;
  uint32_t log_mask_ = 0;
  uint64_t log_head_ = 0;  // executor's
  Doorbell* device_doorbell_ = nullptr;
};

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_CHANNEL_H_
