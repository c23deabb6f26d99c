// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <utility>

namespace sgprs::observe {
namespace {

constexpr std::array<std::pair<std::string_view, spdlog::level::level_enum>, 6> kLevels = {{
    {"trace", spdlog::level::trace},
    {"debug", spdlog::level::debug},
    {"info", spdlog::level::info},
    {"warn", spdlog::level::warn},
    {"error", spdlog::level::err},
    {"off", spdlog::level::off},
}};

}  // namespace

Status SetUpLog(std::string_view level) {
  for (const auto& [name, value] : kLevels) {
    if (name != level) continue;
    auto logger = std::make_shared<spdlog::logger>(
        "sgprsd", std::make_shared<spdlog::sinks::stderr_sink_st>());
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e sgprsd %l: %v");
    logger->set_level(value);
    spdlog::set_default_logger(std::move(logger));
    return Status::Ok();
  }
  return Status(ErrorCode::kInvalid, "no log level '" + std::string(level) +
                                         "': use trace, debug, info, warn, error or off");
}

}  // namespace sgprs::observe
