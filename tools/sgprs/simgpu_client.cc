// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/simgpu_client.h"

#include <unistd.h>

#include <vector>

#include "tools/sgprs/unix_socket.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::cli {

Result<nlohmann::ordered_json> ReadSimgpuStats(const std::string& socket_path) {
  constexpr int kTimeoutMs = 3000;
  constexpr size_t kMostBytes = 256 * 1024;
  Result<UniqueFd> socket = ConnectSeqpacket(socket_path, kTimeoutMs);
  if (!socket.ok()) return socket.status().WithContext("simulated device at " + socket_path);
  const simgpu::Hello hello = {simgpu::kMagic, simgpu::kVersion,
                               static_cast<uint32_t>(simgpu::HelloKind::kStats),
                               static_cast<uint32_t>(getpid())};
  Status sent = SendPacket(socket->get(), &hello, sizeof(hello));
  if (!sent.ok()) return sent.WithContext("simulated device at " + socket_path);
  std::vector<char> packet(kMostBytes);
  Result<size_t> got = ReceivePacket(socket->get(), packet.data(), packet.size(), nullptr);
  if (!got.ok()) return got.status().WithContext("simulated device at " + socket_path);
  auto json = nlohmann::ordered_json::parse(
      packet.begin(), packet.begin() + static_cast<long>(*got), nullptr, false);
  if (!json.is_object()) {
    return Status(ErrorCode::kInternal, "the simulated device's counters are no JSON");
  }
  return json;
}

}  // namespace sgprs::cli
