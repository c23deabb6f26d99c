// SPDX-License-Identifier: Apache-2.0
// The JSON that the CLI prints.
#ifndef SGPRS_TOOLS_SGPRS_JSON_H_
#define SGPRS_TOOLS_SGPRS_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace sgprs::cli {

inline constexpr int kJsonVersion = 1;

// Key order is kept as written, so that people can read JSON too.
using Json = nlohmann::ordered_json;

// Text of `json` for stdout: indented, bytes that are no UTF-8 replaced, ends in '\n'.
std::string JsonText(const Json& json);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JSON_H_
