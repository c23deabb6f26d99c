// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/command_check.h"

#include <cmath>
#include <string>

#include "runtime/model/sm_set.h"

namespace sgprs::simgpu {
namespace {

constexpr uint32_t kMaxThreads = 1024;  // per block, every device so far
constexpr uint64_t kMaxBlocks = 0x7fffffffull * 65535 * 65535 / 2;  // fits a double well enough
constexpr uint32_t kMaxRegisters = 255;

Status Bad(const std::string& what, const std::string& value) {
  return Status(ErrorCode::kInvalid, "impossible " + what + " " + value);
}

Status CheckPriority(const model::DeviceDescription& device, int32_t priority) {
  if (priority < device.priority_greatest || priority > device.priority_least) {
    return Bad("priority", std::to_string(priority));
  }
  return Status::Ok();
}

Status CheckKernel(const model::DeviceDescription& device, const Command& command) {
  if (command.blocks == 0 || command.blocks > kMaxBlocks) {
    return Bad("number of blocks", std::to_string(command.blocks));
  }
  if (command.threads == 0 || command.threads > kMaxThreads) {
    return Bad("threads per block", std::to_string(command.threads));
  }
  if (command.shared_bytes > device.shared_bytes_per_block_optin) {
    return Bad("shared memory", std::to_string(command.shared_bytes));
  }
  if (command.registers > kMaxRegisters) {
    return Bad("registers", std::to_string(command.registers));
  }
  if (command.has_priority != 0) {
    if (Status bad = CheckPriority(device, command.priority); !bad.ok()) return bad;
  }
  if (command.cooperative > 1) return Bad("cooperative", std::to_string(command.cooperative));
  if (!std::isfinite(command.flops) || command.flops < 0) {
    return Bad("flops", std::to_string(command.flops));
  }
  if (!std::isfinite(command.dram_bytes) || command.dram_bytes < 0) {
    return Bad("dram_bytes", std::to_string(command.dram_bytes));
  }
  return Status::Ok();
}

Status CheckStreamCreate(const model::DeviceDescription& device, const Command& command) {
  if (Status bad = CheckPriority(device, command.priority); !bad.ok()) return bad;
  if (command.sm_limit > device.sm_count) return Bad("sm_limit", std::to_string(command.sm_limit));
  if (!model::SmSet(command.sm_set).Within(device.sm_count)) {
    return Bad("sm_set", "with SMs that the device has not");
  }
  return Status::Ok();
}

}  // namespace

Status CheckCommand(const model::DeviceDescription& device, const Command& command) {
  switch (static_cast<CommandKind>(command.kind)) {
    case CommandKind::kKernel:
      return CheckKernel(device, command);
    case CommandKind::kStreamCreate:
      return CheckStreamCreate(device, command);
    case CommandKind::kCopy:
      if (command.direction > static_cast<uint32_t>(CopyDirection::kPeer)) {
        return Bad("direction", std::to_string(command.direction));
      }
      return Status::Ok();
    case CommandKind::kContextCreate:
      if (command.sm_limit > device.sm_count) {
        return Bad("sm_limit", std::to_string(command.sm_limit));
      }
      return Status::Ok();
    case CommandKind::kWait:
    case CommandKind::kHostDone:
      // A command can only wait for an older one.
      if (command.wait_seq == 0 || command.wait_seq >= command.seq) {
        return Bad("wait_seq", std::to_string(command.wait_seq));
      }
      return Status::Ok();
    case CommandKind::kStreamPriority:
      return CheckPriority(device, command.priority);
    case CommandKind::kFill:
    case CommandKind::kEventRecord:
    case CommandKind::kHostFunction:
    case CommandKind::kWaitValue:
    case CommandKind::kStreamDestroy:
    case CommandKind::kContextDestroy:
      return Status::Ok();
    case CommandKind::kNone:
      break;
  }
  return Bad("kind", std::to_string(command.kind));
}

}  // namespace sgprs::simgpu
