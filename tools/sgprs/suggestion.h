// SPDX-License-Identifier: Apache-2.0
// The nearest word to a mistyped one.
#ifndef SGPRS_TOOLS_SGPRS_SUGGESTION_H_
#define SGPRS_TOOLS_SGPRS_SUGGESTION_H_

#include <span>
#include <string>
#include <string_view>

namespace sgprs::cli {

// The candidate with the least edit distance (swapped neighbours count 1) to `word`; empty if even
// that one shares too little with it to be what was meant. Ties: the first.
std::string Nearest(std::string_view word, std::span<const std::string> candidates);

// ": did you mean X?" or nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SUGGESTION_H_
