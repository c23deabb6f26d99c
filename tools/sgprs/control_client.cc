// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/control_client.h"

#include <fmt/format.h>
#include <poll.h>

#include <cstring>
#include <vector>

#include "sgprs/abi/control.h"
#include "tools/sgprs/unix_socket.h"

namespace sgprs::cli {
namespace {

SgprsMessageHeader MakeHeader(SgprsMessageType type, size_t bytes) {
  SgprsMessageHeader header = {};
  header.magic = SGPRS_CONTROL_MAGIC;
  header.major = SGPRS_ABI_MAJOR;
  header.minor = SGPRS_ABI_MINOR;
  header.type = static_cast<uint16_t>(type);
  header.bytes = static_cast<uint32_t>(bytes);
  return header;
}

// One packet from the daemon: at least a header of our version, and not a refusal.
Result<std::vector<char>> ReceiveAnswer(int socket, SgprsMessageType wanted, UniqueFd* fd) {
  std::vector<char> packet(SGPRS_CONTROL_MAX_BYTES);
  Result<size_t> got = ReceivePacket(socket, packet.data(), packet.size(), fd);
  if (!got.ok()) return got.status().WithContext("sgprsd");
  packet.resize(*got);
  SgprsMessageHeader header;
  if (packet.size() < sizeof(header)) {
    return Status(ErrorCode::kInternal, "sgprsd: an answer of " + std::to_string(*got) + " bytes");
  }
  std::memcpy(&header, packet.data(), sizeof(header));
  if (header.magic != SGPRS_CONTROL_MAGIC || header.bytes != packet.size()) {
    return Status(ErrorCode::kInternal, "the control socket does not speak sgprsd's protocol");
  }
  if (header.type == SGPRS_MESSAGE_REFUSE && packet.size() == sizeof(SgprsRefuse)) {
    SgprsRefuse refuse;
    std::memcpy(&refuse, packet.data(), sizeof(refuse));
    const size_t length = strnlen(refuse.text, sizeof(refuse.text));
    return Status(ErrorCode::kRefused, "sgprsd refuses: " + std::string(refuse.text, length));
  }
  if (header.major != SGPRS_ABI_MAJOR) {
    return Status(
        ErrorCode::kRefused,
        fmt::format("sgprsd speaks version {} of the protocol, this sgprs version {}: use "
                    "programs of one build",
                    header.major, SGPRS_ABI_MAJOR));
  }
  if (header.type != wanted) {
    return Status(ErrorCode::kInternal, fmt::format("sgprsd answers with message type {}, not {}",
                                                    header.type, static_cast<int>(wanted)));
  }
  return packet;
}

}  // namespace

Result<ControlClient> ControlClient::Connect(const std::string& socket_path) {
  Result<UniqueFd> socket = ConnectSeqpacket(socket_path, kTimeoutMs);
  if (socket.ok()) return ControlClient(std::move(socket).value());
  if (socket.status().code() == ErrorCode::kUnavailable) {
    return Status(ErrorCode::kUnavailable,
                  fmt::format("no daemon at {} ({}): start `sgprsd`, or `sgprsd --simulate` where "
                              "there is no GPU",
                              socket_path, socket.status().text()));
  }
  return socket.status().WithContext(socket_path);
}

Result<UniqueFd> ControlClient::RequestState() {
  const SgprsMessageHeader request = MakeHeader(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader));
  Status sent = SendPacket(socket_.get(), &request, sizeof(request));
  if (!sent.ok()) return sent.WithContext("sgprsd");
  UniqueFd fd;
  Result<std::vector<char>> answer = ReceiveAnswer(socket_.get(), SGPRS_MESSAGE_STATE, &fd);
  if (!answer.ok()) return answer.status();
  if (!fd.valid()) return Status(ErrorCode::kInternal, "sgprsd sent no state segment");
  return fd;
}

Status ControlClient::CheckAlive() const {
  pollfd entry = {socket_.get(), POLLIN | POLLRDHUP, 0};
  const bool gone =
      poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  return gone ? Status(ErrorCode::kUnavailable, "sgprsd is gone") : Status::Ok();
}

Result<ControlClient::Reply> ControlClient::Command(const std::string& line) {
  SgprsCommand command = {};
  if (line.size() >= sizeof(command.text)) {
    return Status(ErrorCode::kInvalid, "the command is too long");
  }
  command.header = MakeHeader(SGPRS_MESSAGE_COMMAND, sizeof(command));
  command.text_bytes = static_cast<uint32_t>(line.size());
  std::memcpy(command.text, line.data(), line.size());
  Status sent = SendPacket(socket_.get(), &command, sizeof(command));
  if (!sent.ok()) return sent.WithContext("sgprsd");
  Result<std::vector<char>> answer = ReceiveAnswer(socket_.get(), SGPRS_MESSAGE_REPLY, nullptr);
  if (!answer.ok()) return answer.status();
  if (answer->size() != sizeof(SgprsCommand)) {
    return Status(ErrorCode::kInternal, "sgprsd: a reply of the wrong size");
  }
  SgprsCommand reply;
  std::memcpy(&reply, answer->data(), sizeof(reply));
  Reply out;
  out.status = static_cast<int>(reply.status);
  out.text.assign(reply.text, strnlen(reply.text, sizeof(reply.text)));
  return out;
}

}  // namespace sgprs::cli
