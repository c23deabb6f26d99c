// SPDX-License-Identifier: Apache-2.0
// `sgprs version` and `sgprs help [TOPIC]`.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "sgprs/abi/abi.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/help_formatter.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/suggestion.h"

namespace sgprs::cli {
namespace {

constexpr const char* kShortFooter = "Exit status: 0; 2 if the command line was not understood.";

struct Variable {
  const char* name;
  const char* help;
};
constexpr Variable kVariables[] = {
#define SGPRS_ENV(identifier, name, help) {name, help},
#include "runtime/base/environment.inc"
#undef SGPRS_ENV
};

std::string EnvironmentText() {
  std::string out = "Environment variables. `sgprs run` sets those that its options name.\n\n";
  for (const Variable& variable : kVariables) {
    out += fmt::format("  {}\n      {}\n", variable.name, variable.help);
  }
  return out;
}

int Version(bool json) {
  if (!json) {
    return Print(fmt::format("sgprs {} (shared-memory ABI {}.{})\n", SGPRS_VERSION, SGPRS_ABI_MAJOR,
                             SGPRS_ABI_MINOR))
               ? kExitOk
               : kExitFailure;
  }
  const Json out = {{"version", kJsonVersion},
                    {"sgprs", SGPRS_VERSION},
                    {"abi", {{"major", SGPRS_ABI_MAJOR}, {"minor", SGPRS_ABI_MINOR}}}};
  return Print(JsonText(out)) ? kExitOk : kExitFailure;
}

int EnvironmentHelp(bool json) {
  if (!json) return Print(EnvironmentText()) ? kExitOk : kExitFailure;
  Json variables = Json::array();
  for (const Variable& variable : kVariables) {
    variables.push_back({{"name", variable.name}, {"help", variable.help}});
  }
  return Print(JsonText({{"version", kJsonVersion}, {"variables", std::move(variables)}}))
             ? kExitOk
             : kExitFailure;
}

}  // namespace

void AddVersion(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand("version", "Version of this program and of its ABI");
  auto json = std::make_shared<bool>(false);
  AddJson(command, json.get());
  command->footer(kShortFooter);
  command->callback([=] { invocation->action = [=] { return Version(*json); }; });
  app->add_flag_callback(
      "--version", [=] { invocation->action = [] { return Version(false); }; },
      "Print the version and exit");
}

void AddHelp(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("help", "Help on a command, or on the environment variables");
  auto topic = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("topic", *topic, "A command, or `environment`");
  AddJson(command, json.get())->description("With `environment`: print JSON instead of text");
  command->footer(kShortFooter);
  command->callback([=] {
    if (*topic == "environment") {
      invocation->action = [=] { return EnvironmentHelp(*json); };
      return;
    }
    const CLI::App* about = topic->empty() ? app : nullptr;
    std::vector<std::string> topics = {"environment"};
    for (const CLI::App* other : app->get_subcommands([](const CLI::App*) { return true; })) {
      topics.push_back(other->get_name());
      if (other->get_name() == *topic) about = other;
    }
    if (about == nullptr) {
      throw CLI::ValidationError("no help on '" + *topic + "'" + DidYouMean(*topic, topics));
    }
    const std::string text = HelpText(about);
    invocation->action = [text] { return Print(text) ? kExitOk : kExitFailure; };
  });
}

}  // namespace sgprs::cli
