// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/help_formatter.h"
#include "tools/sgprs/suggestion.h"

namespace sgprs::cli {
namespace {

constexpr const char* kDescription =
    "SGPRS: several unmodified DNN processes share one GPU in real time.\n"
    "Say how often a program runs and by when each run must end; sgprsd decides, stage by stage,\n"
    "which partition of the GPU runs what.";
constexpr const char* kFooter =
    "Try it without a GPU (with the directory of sgprs in PATH):\n"
    "  sgprs demo\n"
    "  sgprsd --simulate &\n"
    "  sgprs run --simulate --fps 30 -- resnet18 --fps 30\n"
    "  sgprs tasks\n\n"
    "`sgprs COMMAND --help` explains a command, `sgprs help environment` the variables.\n"
    "Exit status: 0 done, 1 it did not work, 2 the command line was not understood.";

// The subcommand that was being parsed.
CLI::App* Current(CLI::App* app) {
  const std::vector<CLI::App*> chosen = app->get_subcommands();
  return chosen.empty() ? app : Current(chosen.front());
}

std::vector<std::string> OptionNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    // A group of options is a nameless one.
    if (!command->get_name().empty()) names.push_back(command->get_name());
  }
  return names;
}

// One line about a word that nothing takes.
std::string UnexpectedWord(CLI::App* app, const std::string& word) {
  CLI::App* current = Current(app);
  if (word.size() > 1 && word[0] == '-') {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option {}{}", name, DidYouMean(name, OptionNames(current)));
  }
  if (const std::vector<std::string> names = CommandNames(current); !names.empty()) {
    return fmt::format("unknown command '{}'{}", word, DidYouMean(word, names));
  }
  return fmt::format("'{}' is one word too many", word);
}

int ReportParseError(CLI::App* app, const CLI::ParseError& error) {
  const CLI::App* current = Current(app);
  const std::string who = FullName(current);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help
    return Print(HelpText(current)) ? kExitOk : kExitFailure;
  }
  std::string text = error.what();
  const std::vector<std::string> left = app->remaining(true);
  if (!left.empty() && (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                        !CommandNames(current).empty())) {
    text = UnexpectedWord(app, left.front());
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
             !CommandNames(current).empty()) {
    text = fmt::format("say what: one of {}", fmt::join(CommandNames(current), ", "));
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  fmt::print(stderr, "{}: {} (see `{} --help`)\n", who, text, who);
  return kExitUsage;
}

}  // namespace

void AddCommands(CLI::App* app, Invocation* invocation) {
  AddRun(app, invocation);
  AddStatus(app, invocation);
  AddTasks(app, invocation);
  AddPartitions(app, invocation);
  AddPolicy(app, invocation);
  AddDemo(app, invocation);
  AddSim(app, invocation);
  AddTop(app, invocation);
  AddReport(app, invocation);
  AddProfile(app, invocation);
  AddDoctor(app, invocation);
  AddTrace(app, invocation);
  AddWhy(app, invocation);
  AddJitter(app, invocation);
  AddVersion(app, invocation);
  AddHelp(app, invocation);
}

std::vector<std::string> TakeProgram(std::vector<std::string>* arguments) {
  static constexpr std::string_view kCommands[] = {"run", "doctor", "demo", "profile"};
  if (arguments->empty() ||
      std::ranges::find(kCommands, arguments->front()) == std::end(kCommands)) {
    return {};
  }
  const auto mark = std::find(arguments->begin(), arguments->end(), "--");
  if (mark == arguments->end()) return {};
  std::vector<std::string> program(mark + 1, arguments->end());
  arguments->erase(mark, arguments->end());
  return program;
}

int RunCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "sgprs");
  Invocation invocation;
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  app.formatter(std::make_shared<HelpFormatter>());
  AddCommands(&app, &invocation);

  std::vector<std::string> line = arguments;
  invocation.program = TakeProgram(&line);
  std::reverse(line.begin(), line.end());  // CLI11 takes a vector from its end
  try {
    app.parse(std::move(line));
  } catch (const CLI::ParseError& error) {
    return ReportParseError(&app, error);
  }
  if (!invocation.action) {
    fmt::print(stderr, "{}", HelpText(&app));
    return kExitUsage;
  }
  return invocation.action();
}

}  // namespace sgprs::cli
