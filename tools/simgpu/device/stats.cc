// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace sgprs::simgpu {
namespace {

using Json = nlohmann::ordered_json;

Json ClientJson(const ClientState& client) {
  const ClientCounters& counters = client.counters;
  Json partitions = Json::array();
  for (const auto& [sms, kernels] : counters.kernels_by_sms) {
    partitions.push_back({{"sms", sms}, {"kernels", kernels}});
  }
  return {{"pid", client.pid},
          {"client_id", client.id},
          {"commands", counters.commands},
          {"commands_open", client.open_commands()},
          {"kernels_started", counters.kernels_started},
          {"kernels", counters.kernels},
          {"copies", counters.copies},
          {"fills", counters.fills},
          {"events", counters.events},
          {"host_functions", counters.host_functions},
          {"contexts", client.contexts.size()},
          {"streams", client.stream_uids.size()},
          {"partitions", std::move(partitions)}};
}

}  // namespace

std::string StatsJson(const Engine& engine, const model::DeviceDescription& device, bool mps,
                      uint64_t uptime_ns, size_t max_clients) {
  std::vector<const ClientState*> clients;
  for (const auto& [id, client] : engine.clients()) clients.push_back(&client);
  std::sort(clients.begin(), clients.end(),
            [](const ClientState* a, const ClientState* b) { return a->id < b->id; });
  Json list = Json::array();
  for (size_t i = 0; i < std::min(max_clients, clients.size()); ++i) {
    list.push_back(ClientJson(*clients[i]));
  }
  const Json stats = {{"version", 1},
                      {"device", device.name},
                      {"devices", engine.device_count()},
                      {"sms", device.sm_count},
                      {"mps", mps},
                      {"uptime_ns", uptime_ns},
                      {"simulated_ns", engine.now_ns()},
                      {"kernels_total", engine.kernels_total()},
                      {"kernels_running", engine.running_kernels()},
                      {"clients_total", engine.clients_total()},
                      {"clients_alive", clients.size()},
                      {"clients", std::move(list)}};
  return stats.dump();
}

std::string DevicesJson() {
  Json list = Json::array();
  for (const model::DeviceDescription& device : model::AllDevices()) {
    list.push_back({{"name", device.name},
                    {"display_name", device.display_name},
                    {"sms", device.sm_count},
                    {"sm_minimum", device.sm_minimum},
                    {"sm_alignment", device.sm_alignment},
                    {"compute", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
                    {"memory_bytes", device.memory_bytes},
                    {"dram_bytes_per_ns", device.dram_bytes_per_ns},
                    {"clock_khz", device.clock_khz},
                    {"copy_engines", device.copy_engines},
                    {"default", device.name == model::kDefaultDevice}});
  }
  return Json{{"version", 1}, {"devices", std::move(list)}}.dump();
}

std::string DevicesText() {
  std::string text = fmt::format("{:<10} {:>4} {:>8} {:>12}  {}\n", "name", "SMs", "compute",
                                 "memory/GiB", "what");
  for (const model::DeviceDescription& device : model::AllDevices()) {
    text += fmt::format("{:<10} {:>4} {:>8} {:>12.0f}  {}{}\n", device.name, device.sm_count,
                        fmt::format("{}.{}", device.compute_major, device.compute_minor),
                        static_cast<double>(device.memory_bytes) / (1 << 30), device.display_name,
                        device.name == model::kDefaultDevice ? " (default)" : "");
  }
  return text;
}

}  // namespace sgprs::simgpu
