// SPDX-License-Identifier: Apache-2.0
// Any bytes as a code image. Its length chooses the device that asks.
#include <cstddef>
#include <cstdint>

#include "tools/simgpu/image/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kDevices[] = {0, 70, 75, 90, 100};
  if (size == 0) return 0;
  // Size 0 would mean "unknown", which trusts the image; here every byte is hostile.
  (void)sgprs::simgpu::ReadImage(data, size, kDevices[size % 5]).ok();
  return 0;
}
