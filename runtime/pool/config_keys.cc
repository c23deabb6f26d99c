// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/config_keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "runtime/base/duration.h"
#include "runtime/base/release_rule.h"
#include "runtime/policy/policy.h"

namespace sgprs::pool {
namespace {

Status Bad(std::string text) { return Status(ErrorCode::kInvalid, std::move(text)); }

// As a TOML basic string, in one line.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      quoted += "\\u00";
      quoted += kHex[static_cast<unsigned char>(c) / 16];
      quoted += kHex[static_cast<unsigned char>(c) % 16];
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

std::string Number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "0";
}

// Setters and printers by type of the member. The limits belong to the key.
template <auto Member, int64_t kLeast, int64_t kMost>
Status SetInteger(const toml::node& value, Config* config) {
  const toml::value<int64_t>* number = value.as_integer();
  if (number == nullptr || number->get() < kLeast || number->get() > kMost) {
    return Bad("must be a whole number from " + std::to_string(kLeast) + " to " +
               std::to_string(kMost));
  }
  config->*Member = static_cast<std::remove_reference_t<decltype(config->*Member)>>(number->get());
  return Status::Ok();
}

template <auto Member>
std::string ShowInteger(const Config& config) {
  return std::to_string(config.*Member);
}

template <auto Member>
Status SetDuration(const toml::node& value, Config* config) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr) return Bad("must be a duration in quotes, like \"5ms\"");
  Result<uint64_t> ns = ParseDurationNs(text->get());
  if (!ns.ok()) return ns.status();
  config->*Member = *ns;
  return Status::Ok();
}

template <auto Member>
std::string ShowDuration(const Config& config) {
  return Quoted(FormatDurationNs(config.*Member));
}

template <auto Member>
Status SetText(const toml::node& value, Config* config) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr) return Bad("must be a text in quotes");
  config->*Member = text->get();
  return Status::Ok();
}

template <auto Member>
std::string ShowText(const Config& config) {
  return Quoted(config.*Member);
}

Result<double> ReadNumber(const toml::node& value, double least, double most) {
  const std::optional<double> number = value.value<double>();
  if (value.is_string() || value.is_boolean() || !number || !std::isfinite(*number) ||
      *number < least || *number > most) {
    return Status(ErrorCode::kInvalid,
                  "must be a number from " + Number(least) + " to " + Number(most));
  }
  return *number;
}

Status SetPolicy(const toml::node& value, Config* config) {
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr || policy::MakePolicy(text->get()) == nullptr) {
    return Bad("must be one of " + std::string(policy::PolicyNames()));
  }
  config->policy = text->get();
  return Status::Ok();
}

Status SetLogLevel(const toml::node& value, Config* config) {
  constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error", "off"};
  const toml::value<std::string>* text = value.as_string();
  if (text == nullptr ||
      std::find(std::begin(kLevels), std::end(kLevels), text->get()) == std::end(kLevels)) {
    return Bad("must be one of trace, debug, info, warn, error, off");
  }
  config->log_level = text->get();
  return Status::Ok();
}

Status SetPartitionSizes(const toml::array& sizes, Config* config) {
  config->pool.sm_counts.clear();
  for (const toml::node& size : sizes) {
    const toml::value<int64_t>* number = size.as_integer();
    if (number == nullptr || number->get() < 1 || number->get() > 65536) {
      return Bad("must list SM counts from 1 to 65536");
    }
    config->pool.sm_counts.push_back(static_cast<uint32_t>(number->get()));
  }
  if (config->pool.sm_counts.empty() || config->pool.sm_counts.size() > SGPRS_MAX_PARTITIONS) {
    return Bad("must list 1 to " + std::to_string(SGPRS_MAX_PARTITIONS) + " SM counts");
  }
  config->pool.partitions = static_cast<uint32_t>(config->pool.sm_counts.size());
  return Status::Ok();
}

Status SetPartitions(const toml::node& value, Config* config) {
  if (const toml::array* sizes = value.as_array()) return SetPartitionSizes(*sizes, config);
  const toml::value<std::string>* text = value.as_string();
  const toml::value<int64_t>* number = value.as_integer();
  const bool automatic = text != nullptr && text->get() == "auto";
  if (!automatic &&
      (number == nullptr || number->get() < 1 || number->get() > SGPRS_MAX_PARTITIONS)) {
    return Bad("must be \"auto\", a number from 1 to " + std::to_string(SGPRS_MAX_PARTITIONS) +
               " or a list of SM counts");
  }
  config->pool.sm_counts.clear();
  config->pool.partitions = automatic ? 0 : static_cast<uint32_t>(number->get());
  return Status::Ok();
}

std::string ShowPartitions(const Config& config) {
  if (config.pool.sm_counts.empty()) {
    return config.pool.partitions == 0 ? "\"auto\"" : std::to_string(config.pool.partitions);
  }
  std::string text;
  for (const uint32_t size : config.pool.sm_counts) {
    text += (text.empty() ? "[" : ", ") + std::to_string(size);
  }
  return text + "]";
}

Status SetOversubscription(const toml::node& value, Config* config) {
  Result<double> number = ReadNumber(value, 0.1, 32.0);
  if (!number.ok()) return number.status();
  config->pool.oversubscription = *number;
  return Status::Ok();
}

constexpr std::string_view kBackends[SGPRS_BACKEND_COUNT] = {"green", "mps", "priority", "none"};

Status SetBackend(const toml::node& value, Config* config) {
  const toml::value<std::string>* text = value.as_string();
  for (int i = 0; text != nullptr && i < SGPRS_BACKEND_COUNT; ++i) {
    if (text->get() != kBackends[i]) continue;
    config->pool.backend = static_cast<SgprsBackend>(i);
    return Status::Ok();
  }
  return Bad("must be one of green, mps, priority, none");
}

// One of the names that `find` knows.
template <auto Member, auto kFind>
Status SetName(const toml::node& value, Config* config, std::string_view names) {
  const toml::value<std::string>* text = value.as_string();
  const auto found = text != nullptr ? kFind(text->get()) : std::nullopt;
  if (!found) return Bad("must be one of " + std::string(names));
  config->*Member = *found;
  return Status::Ok();
}

Status SetOverload(const toml::node& value, Config* config) {
  return SetName<&Config::overload, &policy::FindOverload>(value, config, policy::kOverloadNames);
}

Status SetAdmission(const toml::node& value, Config* config) {
  return SetName<&Config::admission, &policy::FindAdmission>(value, config,
                                                             policy::kAdmissionNames);
}

// A policy's option as text: its rule sees no TOML.
Result<std::string> OptionText(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* number = value.as_integer()) return std::to_string(number->get());
  if (const auto* flag = value.as_boolean()) return std::string(flag->get() ? "true" : "false");
  if (const auto* number = value.as_floating_point()) return Number(number->get());
  return Status(ErrorCode::kInvalid, "must be one value");
}

ConfigKey OptionKey(const policy::PolicyOptionRow& row) {
  const auto set = [&row](const toml::node& value, Config* config) -> Status {
    const Result<std::string> text = OptionText(value);
    return text.ok() ? row.set(*text, &config->options) : text.status();
  };
  // Numbers and flags as they are, names in quotes.
  const auto show = [&row](const Config& config) {
    const std::string text = row.show(config.options);
    const bool bare = text == "true" || text == "false" ||
                      text.find_first_not_of("0123456789.") == std::string::npos;
    return bare ? text : Quoted(text);
  };
  return {"policy_options", row.name, row.help, set, show};
}

template <auto Member>
Status SetFlag(const toml::node& value, Config* config) {
  const toml::value<bool>* flag = value.as_boolean();
  if (flag == nullptr) return Bad("must be true or false");
  config->*Member = flag->get();
  return Status::Ok();
}

template <auto Member>
std::string ShowFlag(const Config& config) {
  return config.*Member ? "true" : "false";
}

Status SetRelease(const toml::node& value, Config* config) {
  return SetName<&Config::release, &FindReleaseRule>(value, config, kReleaseRuleList);
}

#define SGPRS_INTEGER(member, least, most) \
  &SetInteger<&Config::member, least, most>, &ShowInteger<&Config::member>
#define SGPRS_DURATION(member) &SetDuration<&Config::member>, &ShowDuration<&Config::member>
#define SGPRS_FLAG(member) &SetFlag<&Config::member>, &ShowFlag<&Config::member>
#define SGPRS_TEXT(member) &SetText<&Config::member>, &ShowText<&Config::member>

const ConfigKey kKeys[] = {
    {"", "policy", "which policy decides (`sgprs policy` lists them)", &SetPolicy,
     &ShowText<&Config::policy>},
    {"", "overload",
     "more work than fits: late (jobs end late), hold (jobs wait for their next release)",
     &SetOverload,
     [](const Config& config) { return Quoted(policy::OverloadName(config.overload)); }},
    {"", "admission", "a task that does not fit: off (say nothing), warn, reject", &SetAdmission,
     [](const Config& config) { return Quoted(policy::AdmissionName(config.admission)); }},
    {"", "log", "least level logged: trace, debug, info, warn, error, off", &SetLogLevel,
     &ShowText<&Config::log_level>},

    {"pool", "partitions", "\"auto\", how many equal ones, or a list of SM counts", &SetPartitions,
     &ShowPartitions},
    {"pool", "oversubscription", "sum of the sizes of an equal split, in GPUs",
     &SetOversubscription,
     [](const Config& config) { return Number(config.pool.oversubscription); }},
    {"pool", "backend", "what clients try first: green, mps, priority, none", &SetBackend,
     [](const Config& config) { return Quoted(kBackends[config.pool.backend]); }},

    {"stages", "count", "stages a job is cut into", SGPRS_INTEGER(stages, 1, SGPRS_MAX_STAGES)},
    {"stages", "least", "jobs are cut into fewer stages rather than into shorter ones",
     SGPRS_DURATION(min_stage_ns)},
    {"stages", "force_switch",
     "every stage in another partition than the one before it (for tests)",
     SGPRS_FLAG(force_switch)},

    {"learning", "window", "a stage's cost is the maximum of this many last jobs",
     SGPRS_INTEGER(window, 1, 1000)},
    {"learning", "jobs", "jobs measured in chunks before stages are cut",
     SGPRS_INTEGER(learning_jobs, 1, 1000)},
    {"learning", "chunks", "chunks of such a job",
     SGPRS_INTEGER(learning_chunks, 1, SGPRS_MAX_STAGES)},
    {"learning", "relearn_after", "jobs in a row off the learnt sequence until it is learnt anew",
     SGPRS_INTEGER(relearn_after, 1, 1000000)},

    {"limits", "max_clients", "processes registered at one time",
     SGPRS_INTEGER(max_clients, 1, SGPRS_MAX_TASKS)},
    {"limits", "open_launches", "most launches granted at once where a job's length is unknown",
     SGPRS_INTEGER(max_open_launches, 1, 1000000)},
    {"limits", "open_time",
     "about how much work is granted at once where a job's length is unknown",
     SGPRS_DURATION(open_grant_ns)},
    {"limits", "park_after", "a granted stage with nothing to do gives its slot back after this",
     SGPRS_DURATION(park_after_ns)},
    {"limits", "stall_factor", "a stage silent for this many times its cost, and ...",
     SGPRS_INTEGER(stall_factor, 1, 1000000)},
    {"limits", "stall_least", "... at least this long, marks its partition as stalled",
     SGPRS_DURATION(stall_min_ns)},
    {"limits", "max_wait", "a stage queued this long is granted above capacity",
     SGPRS_DURATION(max_wait_ns)},

    {"socket", "path",
     "control socket; \"\": $SGPRS_SOCKET, else control.sock in the runtime directory",
     SGPRS_TEXT(socket_path)},
    {"trace", "file", "where a Perfetto JSON trace is written; \"\": none", SGPRS_TEXT(trace_file)},

    {"probes", "enabled", "stamps of the kernel, where they can be had", SGPRS_FLAG(probes)},
    {"probes", "release",
     "what releases a job: grid (first launches, on the task's grid), timer or input (the kernel's "
     "stamp), first-launch",
     &SetRelease, [](const Config& config) { return Quoted(kReleaseRuleNames[config.release]); }},
    {"probes", "least_wait", "shorter waits that no timer ended make no record",
     SGPRS_DURATION(min_wait_ns)},

    {"job_log", "directory", "where one record a job is written; \"\": nowhere",
     SGPRS_TEXT(job_log_directory)},
    {"job_log", "size", "of all its files, MiB", SGPRS_INTEGER(job_log_mib, 2, 1048576)},
    {"job_log", "files", "the oldest of which is overwritten when it is full",
     SGPRS_INTEGER(job_log_files, 2, 1024)},

    {"metrics", "listen",
     "OpenMetrics over HTTP: a path of a Unix socket, or a local port as a "
     "text; \"\": not served",
     SGPRS_TEXT(metrics_listen)},

    {"profiles", "directory",
     "where a profile of each task is written when it ends (`sgprs profile`); \"\": nowhere",
     SGPRS_TEXT(profile_directory)},
    {"profiles", "sweep", "each job in the next partition, to measure stages in all sizes",
     SGPRS_FLAG(profile_sweep)},
};

#undef SGPRS_INTEGER
#undef SGPRS_DURATION
#undef SGPRS_FLAG
#undef SGPRS_TEXT

}  // namespace

std::span<const ConfigKey> ConfigKeys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all(std::begin(kKeys), std::end(kKeys));
    for (const policy::PolicyOptionRow& row : policy::PolicyOptionTable()) {
      all.push_back(OptionKey(row));
    }
    return all;
  }();
  return keys;
}

}  // namespace sgprs::pool
