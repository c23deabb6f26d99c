// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/messages.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/duration.h"
#include "sgprs/abi/job_log.h"

namespace sgprs::ingress {
namespace {

constexpr uint64_t kMostJobLaunches = 1'000'000'000;
constexpr uint32_t kMostSms = 65536;

Status Bad(const char* message, const std::string& what) {
  return Status(ErrorCode::kInvalid, std::string(message) + ": " + what);
}

template <typename Message>
bool CopyWhole(const Packet& packet, Message* message) {
  if (packet.whole_bytes != sizeof(Message) || packet.bytes.size() != sizeof(Message)) return false;
  std::memcpy(message, packet.bytes.data(), sizeof(Message));
  return true;
}

std::string WrongSize(const Packet& packet, size_t wanted) {
  return std::to_string(packet.whole_bytes) + " bytes instead of " + std::to_string(wanted);
}

template <size_t kBytes>
bool Terminated(const char (&text)[kBytes]) {
  return std::memchr(text, 0, kBytes) != nullptr;
}

// "period_ns is 7, must be ..." for the first number out of its range; empty = all fine.
struct RangeCheck {
  const char* field;
  uint64_t value;
  uint64_t least;
  uint64_t most;
};
std::string FirstOutOfRange(std::span<const RangeCheck> checks) {
  for (const RangeCheck& check : checks) {
    if (check.value >= check.least && check.value <= check.most) continue;
    return std::string(check.field) + " is " + std::to_string(check.value) + ", must be " +
           std::to_string(check.least) + " to " + std::to_string(check.most);
  }
  return "";
}

}  // namespace

bool ParseHeader(const Packet& packet, SgprsMessageHeader* header, Refusal* refusal) {
  refusal->code = SGPRS_REFUSE_BAD_MESSAGE;
  if (packet.bytes.size() < sizeof(*header)) {
    refusal->text = "a message of " + std::to_string(packet.whole_bytes) + " bytes";
    return false;
  }
  std::memcpy(header, packet.bytes.data(), sizeof(*header));
  if (header->magic != SGPRS_CONTROL_MAGIC) {
    refusal->text = "not a message of sgprs's control protocol";
    return false;
  }
  if (header->major != SGPRS_ABI_MAJOR) {
    refusal->code = SGPRS_REFUSE_VERSION;
    refusal->text = "protocol version " + std::to_string(header->major) + ", this sgprsd speaks " +
                    std::to_string(SGPRS_ABI_MAJOR) + ": use programs of one build";
    return false;
  }
  if (header->bytes != packet.whole_bytes || packet.whole_bytes > SGPRS_CONTROL_MAX_BYTES) {
    refusal->text = "a message of " + std::to_string(packet.whole_bytes) + " bytes that says " +
                    std::to_string(header->bytes);
    return false;
  }
  if (header->flags != 0) {
    refusal->text = "unknown flags " + std::to_string(header->flags);
    return false;
  }
  return true;
}

Status ParseHello(const Packet& packet, SgprsHello* hello) {
  if (!CopyWhole(packet, hello)) return Bad("HELLO", WrongSize(packet, sizeof(*hello)));
  if (!Terminated(hello->name) || !Terminated(hello->program) || !Terminated(hello->device_name)) {
    return Bad("HELLO", "a name does not end");
  }
  const bool by_launches = hello->job_rule == SGPRS_JOB_LAUNCHES;
  const RangeCheck checks[] = {
      {"period_ns", hello->period_ns, 0, kLongestPeriodNs},
      {"deadline_ns", hello->deadline_ns, 0, kLongestPeriodNs},
      {"task_class", hello->task_class, SGPRS_CLASS_HIGH, SGPRS_CLASS_BEST_EFFORT},
      {"job_rule", hello->job_rule, SGPRS_JOB_AUTO, SGPRS_JOB_MARKED},
      {"release", hello->release, 0, SGPRS_RELEASE_RULES},
      {"job_launches", hello->job_launches, by_launches ? 1u : 0u, kMostJobLaunches},
      {"sm_count", hello->sm_count, 1, kMostSms},
      {"sm_minimum", hello->sm_minimum, 1, hello->sm_count},
      {"sm_alignment", hello->sm_alignment, 1, hello->sm_count},
      {"backends", hello->backends, 1, (1u << SGPRS_BACKEND_COUNT) - 1},
  };
  const std::string wrong = FirstOutOfRange(checks);
  return wrong.empty() ? Status::Ok() : Bad("HELLO", wrong);
}

Status ParseReady(const Packet& packet, SgprsReady* ready) {
  if (!CopyWhole(packet, ready)) return Bad("READY", WrongSize(packet, sizeof(*ready)));
  const RangeCheck checks[] = {
      {"backend", ready->backend, 0, SGPRS_BACKEND_COUNT - 1},
      {"partition_count", ready->partition_count, 1, SGPRS_MAX_PARTITIONS},
  };
  std::string wrong = FirstOutOfRange(checks);
  for (uint32_t i = 0; wrong.empty() && i < ready->partition_count; ++i) {
    const RangeCheck sms[] = {{"a partition's SM count", ready->sm_counts[i], 1, kMostSms}};
    wrong = FirstOutOfRange(sms);
  }
  return wrong.empty() ? Status::Ok() : Bad("READY", wrong);
}

Status ParseBare(const Packet& packet) {
  if (packet.whole_bytes == sizeof(SgprsMessageHeader)) return Status::Ok();
  return Bad("message", WrongSize(packet, sizeof(SgprsMessageHeader)));
}

Result<std::string> ParseCommand(const Packet& packet) {
  SgprsCommand command;
  if (!CopyWhole(packet, &command)) return Bad("COMMAND", WrongSize(packet, sizeof(command)));
  if (command.text_bytes >= SGPRS_CONTROL_TEXT_BYTES || command.text[command.text_bytes] != '\0') {
    return Bad("COMMAND", "its text does not end");
  }
  std::string text(command.text, command.text_bytes);
  if (text.find('\0') != std::string::npos) return Bad("COMMAND", "a zero byte in its text");
  return text;
}

SgprsMessageHeader MakeHeader(SgprsMessageType type, size_t bytes) {
  SgprsMessageHeader header = {};
  header.magic = SGPRS_CONTROL_MAGIC;
  header.major = SGPRS_ABI_MAJOR;
  header.minor = SGPRS_ABI_MINOR;
  header.type = static_cast<uint16_t>(type);
  header.bytes = static_cast<uint32_t>(bytes);
  return header;
}

SgprsRefuse MakeRefuse(const Refusal& refusal) {
  SgprsRefuse refuse = {};
  refuse.header = MakeHeader(SGPRS_MESSAGE_REFUSE, sizeof(refuse));
  refuse.code = refusal.code;
  std::memcpy(refuse.text, refusal.text.data(),
              std::min(refusal.text.size(), sizeof(refuse.text) - 1));
  return refuse;
}

SgprsCommand MakeReply(uint32_t status, std::string_view text) {
  SgprsCommand reply = {};
  reply.header = MakeHeader(SGPRS_MESSAGE_REPLY, sizeof(reply));
  reply.status = status;
  const size_t bytes = std::min(text.size(), sizeof(reply.text) - 1);
  reply.text_bytes = static_cast<uint32_t>(bytes);
  std::memcpy(reply.text, text.data(), bytes);
  return reply;
}

}  // namespace sgprs::ingress
