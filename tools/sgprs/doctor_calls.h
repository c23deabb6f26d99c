// SPDX-License-Identifier: Apache-2.0
// `sgprs doctor -- CMD`: what the shim counted (include/sgprs/abi/call_counts.h), read when the
// program has ended, and how it is told.
#ifndef SGPRS_TOOLS_SGPRS_DOCTOR_CALLS_H_
#define SGPRS_TOOLS_SGPRS_DOCTOR_CALLS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "sgprs/abi/call_counts.h"

namespace sgprs::cli {

// One process that called the driver.
struct ProcessCalls {
  SgprsCallCounts head = {};
  std::vector<SgprsCallRow> rows;  // of symbols that were called, by name

  uint64_t Escaped() const;   // launches that went to the driver unrecorded
  uint64_t Recorded() const;  // calls that were recorded
};

// Every *.calls file of `directory`, by process id. A file that makes no sense is an error
// (kInvalid).
Result<std::vector<ProcessCalls>> ReadCalls(const std::string& directory);

// Word of a treatment, sentence of a reason.
const char* TreatmentWord(uint32_t treatment);
const char* EscapeText(uint32_t reason);

std::string FormatCalls(const std::vector<ProcessCalls>& processes);
nlohmann::ordered_json CallsJson(const std::vector<ProcessCalls>& processes);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DOCTOR_CALLS_H_
