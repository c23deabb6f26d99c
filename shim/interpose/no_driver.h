// SPDX-License-Identifier: Apache-2.0
// What a program gets where there is no driver, or an old one.
#ifndef SGPRS_SHIM_INTERPOSE_NO_DRIVER_H_
#define SGPRS_SHIM_INTERPOSE_NO_DRIVER_H_

#include <cstdint>

namespace sgprs::shim {

// A function that may stand for any call while there is no driver: cuInit says NO_DEVICE, the error
// texts work, the rest says NOT_INITIALIZED.
void* NoDriverAnswer(uint32_t index);

// A function that may stand for any call, and says NOT_SUPPORTED. Always the same pointer.
void* NotSupportedAnswer();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_NO_DRIVER_H_
