// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/math/arguments.h"

namespace sgprs::simgpu::math {

uint32_t ElementBytes(Element element) {
  switch (element) {
    case Element::kFloat:
      return 4;
    case Element::kDouble:
    case Element::kComplexFloat:
      return 8;
    case Element::kHalf:
    case Element::kBfloat16:
      return 2;
    case Element::kComplexDouble:
      return 16;
  }
  return 0;
}

}  // namespace sgprs::simgpu::math
