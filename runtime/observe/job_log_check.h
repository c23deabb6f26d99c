// SPDX-License-Identifier: Apache-2.0
// The check word of the job log (include/sgprs/abi/job_log.h): tells a whole record from one that
// was cut short or overwritten. Not against forgery. Pure.
#ifndef SGPRS_RUNTIME_OBSERVE_JOB_LOG_CHECK_H_
#define SGPRS_RUNTIME_OBSERVE_JOB_LOG_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sgprs/abi/job_log.h"

namespace sgprs::observe {

// Multiply and rotate over the words of `bytes` (a multiple of 8), the word at `check_offset` as 0.
inline uint64_t LogCheck(const void* data, size_t bytes, size_t check_offset) {
  const auto* from = static_cast<const unsigned char*>(data);
  uint64_t check = 0x9e3779b97f4a7c15 + bytes;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    if (i != check_offset) std::memcpy(&word, from + i, 8);
    check = (check ^ word) * 0xff51afd7ed558ccd;
    check ^= check >> 29;
  }
  return check;
}

inline uint64_t CheckOfRecord(const void* record) {
  return LogCheck(record, SGPRS_LOG_RECORD_BYTES, offsetof(SgprsLogRecord, check));
}

inline uint64_t CheckOfHeader(const SgprsLogHeader& header) {
  return LogCheck(&header, sizeof(header), offsetof(SgprsLogHeader, check));
}

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_JOB_LOG_CHECK_H_
