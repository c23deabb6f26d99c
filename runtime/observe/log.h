// SPDX-License-Identifier: Apache-2.0
// sgprsd's log: spdlog to stderr, one line a record. Use spdlog::info() and friends after
// SetUpLog(); text that came from a client goes through OneLine() (text.h) first.
#ifndef SGPRS_RUNTIME_OBSERVE_LOG_H_
#define SGPRS_RUNTIME_OBSERVE_LOG_H_

#include <string_view>

#include "runtime/base/result.h"

namespace sgprs::observe {

// Level: trace, debug, info, warn, error, off. Error kInvalid names what is allowed. Call once,
// before anything is logged.
Status SetUpLog(std::string_view level);

}  // namespace sgprs::observe

#endif  // SGPRS_RUNTIME_OBSERVE_LOG_H_
