// SPDX-License-Identifier: Apache-2.0
// Text that came from outside, made fit for a log line or a JSON file.
#ifndef SGPRS_RUNTIME_OBSERVE_TEXT_H_
#define SGPRS_RUNTIME_OBSERVE_TEXT_H_

#include <string>
#include <string_view>

namespace sgprs::observe {

// `text` with every control character and every byte that is not part of valid UTF-8 as '?'.
std::string OneLine(std::string_view text);

// `text` as a JSON string, quotes included. Expects valid UTF-8: call OneLine() first.
std::string JsonString(std::string_view text);

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_TEXT_H_
