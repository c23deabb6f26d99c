// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/command_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>

namespace sgprs::simgpu {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

const char* NameOf(const QueuedCommand& command) {
  switch (command.kind) {
    case CommandKind::kStreamCreate:
      return "stream_create";
    case CommandKind::kStreamDestroy:
      return "stream_destroy";
    case CommandKind::kKernel:
      return "kernel";
    case CommandKind::kCopy:
      return command.direction == CopyDirection::kHostToDevice   ? "copy_h2d"
             : command.direction == CopyDirection::kDeviceToHost ? "copy_d2h"
             : command.direction == CopyDirection::kPeer         ? "copy_peer"
                                                                 : "copy_d2d";
    case CommandKind::kFill:
      return "fill";
    case CommandKind::kEventRecord:
      return "event_record";
    case CommandKind::kWait:
      return "wait";
    case CommandKind::kHostFunction:
      return "host_function";
    case CommandKind::kWaitValue:
      return "wait_value";
    case CommandKind::kStreamPriority:
      return "stream_priority";
    case CommandKind::kHostDone:
      return "host_done";
    case CommandKind::kContextCreate:
      return "context_create";
    case CommandKind::kContextDestroy:
      return "context_destroy";
    case CommandKind::kNone:
      break;
  }
  return "none";
}

}  // namespace

Result<CommandLog> CommandLog::Open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    return Status(ErrorCode::kInvalid, "cannot write " + path + ": " + strerror(errno));
  }
  std::setvbuf(file, nullptr, _IOFBF, kBufferBytes);
  return CommandLog(file);
}

void CommandLog::Write(const FinishedCommand& finished) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line),
                 "{{\"pid\":{},\"client\":{},\"seq\":{},\"stream\":{},\"device\":{},"
                 "\"kind\":\"{}\",\"wait_seq\":{},"
                 "\"name_hash\":\"{:016x}\",\"start_ns\":{},\"end_ns\":{},\"sms\":{:.1f},"
                 "\"error\":{}}}\n",
                 finished.client.pid, finished.client.id, finished.command.seq, finished.stream.id,
                 finished.stream.device, NameOf(finished.command), finished.command.wait_seq,
                 finished.command.name_hash, finished.start_ns, finished.end_ns, finished.mean_sms,
                 finished.error);
  std::fwrite(line.data(), 1, line.size(), file_.get());
}

}  // namespace sgprs::simgpu
