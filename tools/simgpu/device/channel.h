// SPDX-License-Identifier: Apache-2.0
// The device's end of one client's shared memory (protocol.h): makes the sealed memfd, takes
// commands out, puts log entries in. The client is not trusted: cursors that it writes are checked,
// commands are copied once and only the copy is used.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_CHANNEL_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

// A memfd of `bytes`, sealed against any change of size. Error: the system has no memory or fds.
Result<UniqueFd> MakeSealedMemory(const char* name, uint64_t bytes);

class Channel {
 public:
  // Error: no memory, no fd.
  static Result<std::unique_ptr<Channel>> Make(uint64_t client_id);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // To be sent to the client, then closed: the mapping is enough for us.
  int fd() const { return fd_.get(); }
  void CloseFd() { fd_.reset(); }

  // Commands published and not yet taken. Error: the client's cursor is impossible.
  Result<uint64_t> Pending() const;
  // Copies the next one; Pending() must have been > 0. Error: its number is not the next one.
  Status Take(Command* command);
  // What the client asks to be told at once (protocol.h): read when Asks() has changed.
  uint64_t Asks() const;
  struct Asked {
    bool all = false;
    std::vector<uint64_t> seqs;  // ascending
  };
  Asked ReadAsked() const;
  // Tells the client what was taken.
  void PublishTaken();

  // Keeps the entry until FlushLog().
  void Append(const LogEntry& entry) { unsent_.push_back(entry); }
  // Publishes what the ring has room for, once, and the counters; rings the client if it published
  // anything. Error: the client's cursor is impossible.
  Status FlushLog(uint64_t simulated_ns, uint64_t kernels);
  // Entries that did not fit: the client is slow to read its log.
  size_t unsent() const { return unsent_.size(); }

 private:
  Channel(UniqueFd fd, uint8_t* base);

  UniqueFd fd_;
  ChannelHeader* header_;
  Command* commands_;
  LogEntry* log_;
  uint64_t taken_ = 0;   // = command_head; ours is the true one
  uint64_t logged_ = 0;  // = log_tail
  std::deque<LogEntry> unsent_;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_CHANNEL_H_
