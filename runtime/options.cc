// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "runtime/base/environment.h"
#include "runtime/model/device_description.h"
#include "runtime/observe/log.h"
#include "runtime/observe/text.h"
#include "runtime/policy/policy.h"
#include "runtime/pool/config_keys.h"
#include "runtime/pool/layout.h"

namespace sgprs::runtime {
namespace {

// What the command line says about keys of the configuration; empty = nothing.
struct Overrides {
  std::string config_path;
  std::string policy;
  std::string overload;
  std::string admission;
  std::string partitions;
  std::string oversubscription;
  std::string socket;
  std::string trace;
  std::string job_log;
  std::string log;
};

Status Usage(std::string text) { return Status(ErrorCode::kInvalid, std::move(text)); }

// The value is checked by the key's own rule, so that file and command line mean the same.
Status SetKey(std::string_view section, std::string_view name, const std::string& option,
              const std::string& toml_value, pool::Config* config) {
  for (const pool::ConfigKey& key : pool::ConfigKeys()) {
    if (key.section != section || key.name != name) continue;
    const toml::parse_result parsed = toml::parse("value = " + toml_value);
    const toml::node* value = parsed.get("value");
    const Status set = value != nullptr ? key.set(*value, config) : Usage("is no value");
    return set.ok() ? set : Usage(fmt::format("{} {}: {}", option, toml_value, set.text()));
  }
  return Usage("no key " + std::string(name));  // our own bug
}

// As a TOML string; nothing in it is special.
std::string Quoted(const std::string& text) { return observe::JsonString(observe::OneLine(text)); }

// A number or a list as it stands, anything else as a string.
std::string NumberOrText(const std::string& text) {
  const bool number = text.find_first_not_of("0123456789.,[] ") == std::string::npos;
  return number && !text.empty() ? text : Quoted(text);
}

Status Apply(const Overrides& overrides, pool::Config* config) {
  const struct {
    const char* section;
    const char* name;
    const char* option;
    std::string value;
  } rows[] = {
      {"", "policy", "--policy", overrides.policy.empty() ? "" : Quoted(overrides.policy)},
      {"", "overload", "--overload", overrides.overload.empty() ? "" : Quoted(overrides.overload)},
      {"", "admission", "--admission",
       overrides.admission.empty() ? "" : Quoted(overrides.admission)},
      {"", "log", "--log", overrides.log.empty() ? "" : Quoted(overrides.log)},
      {"pool", "partitions", "--partitions",
       overrides.partitions.empty() ? "" : NumberOrText(overrides.partitions)},
      {"pool", "oversubscription", "--oversubscription",
       overrides.oversubscription.empty() ? "" : NumberOrText(overrides.oversubscription)},
  };
  for (const auto& row : rows) {
    if (row.value.empty()) continue;
    Status set;
    try {
      set = SetKey(row.section, row.name, row.option, row.value, config);
    } catch (const toml::parse_error&) {
      set = Usage(fmt::format("{} {}: is no value", row.option, row.value));
    }
    if (!set.ok()) return set;
  }
  if (!overrides.trace.empty()) config->trace_file = overrides.trace;
  if (!overrides.job_log.empty()) config->job_log_directory = overrides.job_log;
  return Status::Ok();
}

void Declare(CLI::App* app, Overrides* overrides, Options* options) {
  app->add_option("--config", overrides->config_path, "configuration file (TOML)");
  app->add_flag("--simulate", options->simulate,
                "start the simulated device if none is alive, stop it at the end");
  app->add_option("--device", options->device, "which device to simulate (simgpu --list-devices)");
  app->add_option("--policy", overrides->policy,
                  "policy to begin with: " + std::string(policy::PolicyNames()));
  app->add_option("--overload", overrides->overload,
                  "more work than fits: late (jobs end late), hold (they wait for their release)");
  app->add_option("--admission", overrides->admission, "tasks that do not fit: off, warn, reject");
  app->add_option("--partitions", overrides->partitions,
                  "how many partitions, a list of sizes [30,20], or auto");
  app->add_option("--oversubscription", overrides->oversubscription,
                  "sum of the partitions' sizes, in GPUs");
  app->add_option("--socket", overrides->socket, "control socket ($SGPRS_SOCKET)");
  app->add_option("--trace", overrides->trace, "write a Perfetto JSON trace to this file");
  app->add_option("--job-log", overrides->job_log,
                  "write one record a job into this directory, for sgprs why, report, jitter");
  app->add_option("--log", overrides->log, "trace, debug, info, warn, error, off ($SGPRS_LOG)");
  app->add_option("--allow-uid", options->allowed_uids,
                  "user whose processes may register, too (may be repeated)");
  app->add_flag("--check", options->check, "check the configuration, print it and the pool, end");
  app->add_flag("--check-probes", options->check_probes,
                "load the kernel probes with the rights at hand, print their level, end");
  app->set_version_flag("--version", std::string("sgprsd ") + SGPRS_VERSION);
  app->footer(
      "Exit status: 0 after an orderly end, 1 if it could not run, 2 if the command line or the\n"
      "configuration is wrong. `sgprs status` shows what it does; `sgprsd --help-config` lists "
      "every key.");
}

ParseResult Fail(const Status& status, int code) {
  fmt::print(stderr, "sgprsd: {}\n", observe::OneLine(status.text()));
  return {.run = false, .exit_code = code};
}

// Order: file, then environment, then command line.
Status Merge(const Overrides& overrides, Options* options) {
  if (!overrides.config_path.empty()) {
    Result<pool::Config> loaded = pool::LoadConfig(overrides.config_path);
    if (!loaded.ok()) return loaded.status();
    options->config = std::move(*loaded);
  }
  Overrides merged = overrides;
  if (const char* level = env::Get(env::kLog); level != nullptr && merged.log.empty()) {
    merged.log = level;
  }
  if (const char* force = env::Get(env::kForceSwitch); force != nullptr) {
    options->config.force_switch = std::string_view(force) == "1";
  }
  if (Status applied = Apply(merged, &options->config); !applied.ok()) return applied;
  options->socket_path = !overrides.socket.empty()              ? overrides.socket
                         : !options->config.socket_path.empty() ? options->config.socket_path
                                                                : env::ControlSocketPath();
  if (!options->device.empty() && model::FindDevice(options->device) == nullptr) {
    std::string names;
    for (const model::DeviceDescription& device : model::AllDevices()) {
      names += (names.empty() ? "" : ", ") + std::string(device.name);
    }
    return Usage("no device '" + options->device + "': use one of " + names);
  }
  return Status::Ok();
}

}  // namespace

int PrintText(std::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return kExitOk;
  fmt::print(stderr, "sgprsd: standard output: {}\n", std::strerror(errno));
  return kExitFailed;
}

ParseResult ParseOptions(int argc, char** argv, Options* options) {
  Overrides overrides;
  bool help_config = false;
  CLI::App app("Shares one GPU among unmodified CUDA processes in real time", "sgprsd");
  Declare(&app, &overrides, options);
  app.add_flag("--help-config", help_config, "print every configuration key, end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      const bool help = dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr;
      return {.exit_code = PrintText(help ? app.help() : std::string(error.what()) + "\n")};
    }
    std::string text = error.what();
    if (const std::vector<std::string> left = app.remaining(); !left.empty()) {
      text = "unknown " + std::string(left.front().starts_with("-") ? "option " : "word ") +
             left.front();
    }
    return Fail(Usage(text + " (see sgprsd --help)"), kExitUsage);
  }
  if (help_config) return {.exit_code = PrintText(pool::ConfigHelp())};
  if (Status merged = Merge(overrides, options); !merged.ok()) return Fail(merged, kExitUsage);
  if (Status log = observe::SetUpLog(options->config.log_level); !log.ok()) {
    return Fail(log, kExitUsage);
  }
  return {.run = true};
}

Result<std::string> CheckText(const Options& options) {
  std::string text;
  for (const pool::ConfigKey& key : pool::ConfigKeys()) {
    text += fmt::format("{}{}{} = {}\n", key.section, key.section.empty() ? "" : ".", key.name,
                        key.show(options.config));
  }
  text += fmt::format("# control socket: {}\n", observe::OneLine(options.socket_path));
  if (options.device.empty() && !options.simulate) {
    return text + "# pool: laid out on the device of the first client (--device shows it)\n";
  }
  const model::DeviceDescription* device = model::FindDevice(
      options.device.empty() ? model::kDefaultDevice : std::string_view(options.device));
  const policy::PoolShape shape = policy::MakePolicy(options.config.policy)->traits().pool;
  Result<std::vector<pool::PartitionSpan>> spans = pool::LayOutPool(
      options.config.pool, {device->sm_count, device->sm_minimum, device->sm_alignment}, shape);
  if (!spans.ok()) return spans.status();
  text += fmt::format(
      "# pool on {} ({} SMs), {} stages at once in each partition:\n", device->display_name,
      device->sm_count,
      policy::PartitionCapacity(options.config.options, static_cast<uint32_t>(spans->size())));
  for (size_t i = 0; i < spans->size(); ++i) {
    const pool::PartitionSpan& span = (*spans)[i];
    text += fmt::format("#   partition {}: {} SMs, {} to {}\n", i, span.sm_count, span.first_sm,
                        span.first_sm + span.sm_count - 1);
  }
  return text;
}

}  // namespace sgprs::runtime
