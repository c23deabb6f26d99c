// SPDX-License-Identifier: Apache-2.0
// Which system calls are waits, and of which kind: the table that the probes sort sleeps by.
// Pure. Numbers are those of the machine that this is compiled for.
#ifndef SGPRS_RUNTIME_KERNEL_WAIT_CALLS_H_
#define SGPRS_RUNTIME_KERNEL_WAIT_CALLS_H_

#include <cstdint>
#include <span>

#include "sgprs/abi/wake_record.h"

namespace sgprs::kernel {

// Sets table[number] = SgprsWait of each wait whose number fits; leaves the rest.
void FillWaitTable(std::span<uint8_t> table);

// "timer", "futex", ...; "none" for what is not a SgprsWait.
const char* NameOfWait(uint32_t wait);

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_WAIT_CALLS_H_
