// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/visible_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

// Written once, before the process is ready.
std::vector<uint32_t>& Visible() {
  static auto* visible = new std::vector<uint32_t>();
  return *visible;
}

// The devices of one process differ in the last byte.
void UuidOf(const Welcome& welcome, uint32_t index, uint8_t uuid[16]) {
  memcpy(uuid, welcome.uuid, sizeof(welcome.uuid));
  uuid[15] = static_cast<uint8_t>(uuid[15] + index);
}

std::string UuidText(const Welcome& welcome, uint32_t index) {
  uint8_t uuid[16];
  UuidOf(welcome, index, uuid);
  std::string text = "GPU-";
  char byte[3];
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    snprintf(byte, sizeof(byte), "%02x", uuid[i]);
    text += byte;
  }
  return text;
}

// The device that an entry names, or -1: an ordinal, or the unique beginning of a UUID.
int Named(const std::string& entry, const Welcome& welcome, uint32_t count) {
  if (!entry.empty() && entry.find_first_not_of("0123456789") == std::string::npos) {
    const unsigned long index = strtoul(entry.c_str(), nullptr, 10);
    return index < count ? static_cast<int>(index) : -1;
  }
  if (entry.size() <= 4 || entry.compare(0, 4, "GPU-") != 0) return -1;
  int found = -1;
  for (uint32_t i = 0; i < count; ++i) {
    if (UuidText(welcome, i).compare(0, entry.size(), entry) != 0) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

bool ChooseVisibleDevices(const Welcome& welcome) {
  const uint32_t count = std::clamp(welcome.device_count, 1u, kMaxDevices);
  std::vector<uint32_t>& visible = Visible();
  visible.clear();
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (uint32_t i = 0; i < count; ++i) visible.push_back(i);
    return true;
  }
  std::istringstream entries(list);
  std::string entry;
  while (std::getline(entries, entry, ',')) {  // ends at the first bad entry
    const int index = Named(entry, welcome, count);
    if (index < 0) break;
    const auto device = static_cast<uint32_t>(index);
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) {
      visible.clear();  // named twice: none is visible
      break;
    }
    visible.push_back(device);
  }
  return !visible.empty();
}

int DeviceCount() { return static_cast<int>(Visible().size()); }

CUresult EnterWithDevice(CUdevice device) {
  if (CUresult status = Enter()) return status;
  return DeviceExists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

uint32_t PhysicalIndex(CUdevice device) { return Visible()[static_cast<size_t>(device)]; }

void DeviceUuid(CUdevice device, uint8_t uuid[16]) {
  UuidOf(TheProcess().channel.welcome(), PhysicalIndex(device), uuid);
}

std::string PciBusId(CUdevice device) {
  char text[16];
  snprintf(text, sizeof(text), "0000:%02x:00.0", PhysicalIndex(device) + 1);
  return text;
}

}  // namespace sgprs::simgpu::driver
