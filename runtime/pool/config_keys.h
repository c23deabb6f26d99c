// SPDX-License-Identifier: Apache-2.0
// One row a configuration key. Only config.cc and config_keys.cc include it.
#ifndef SGPRS_RUNTIME_POOL_CONFIG_KEYS_H_
#define SGPRS_RUNTIME_POOL_CONFIG_KEYS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/pool/config.h"

// Part of the table's contract: setters see one TOML value.
#include "runtime/pool/toml.h"

namespace sgprs::pool {

struct ConfigKey {
  std::string_view section;  // "" = top level
  std::string_view name;
  std::string_view help;  // one line
  // Takes the value; an error's text says what it should have been.
  std::function<Status(const toml::node& value, Config* config)> set;
  // The value as TOML.
  std::function<std::string(const Config& config)> show;
};

// THE list of keys, sections in order; [policy_options] comes from policy::PolicyOptionTable().
std::span<const ConfigKey> ConfigKeys();

}  // namespace sgprs::pool

#endif  // SGPRS_RUNTIME_POOL_CONFIG_KEYS_H_
