// SPDX-License-Identifier: Apache-2.0
// The commands of the CLI. Each Add function adds one subcommand to `app`; parsing only fills in
// what is to be done, so that nothing happens before the whole line is understood.
#ifndef SGPRS_TOOLS_SGPRS_COMMAND_H_
#define SGPRS_TOOLS_SGPRS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace sgprs::cli {

// What one command line asks for.
struct Invocation {
  std::function<int()> action;       // returns the exit code
  std::vector<std::string> program;  // `sgprs run`, `doctor`: what stands after `--`
};

// cmd_<name>.cc each; `invocation` outlives `app`.
void AddRun(CLI::App* app, Invocation* invocation);
void AddStatus(CLI::App* app, Invocation* invocation);
void AddTasks(CLI::App* app, Invocation* invocation);
void AddPartitions(CLI::App* app, Invocation* invocation);
void AddPolicy(CLI::App* app, Invocation* invocation);
void AddDemo(CLI::App* app, Invocation* invocation);
void AddSim(CLI::App* app, Invocation* invocation);
void AddTop(CLI::App* app, Invocation* invocation);
void AddReport(CLI::App* app, Invocation* invocation);
void AddProfile(CLI::App* app, Invocation* invocation);
void AddDoctor(CLI::App* app, Invocation* invocation);
void AddTrace(CLI::App* app, Invocation* invocation);
void AddWhy(CLI::App* app, Invocation* invocation);
void AddJitter(CLI::App* app, Invocation* invocation);
void AddVersion(CLI::App* app, Invocation* invocation);
void AddHelp(CLI::App* app, Invocation* invocation);
// All of the above.
void AddCommands(CLI::App* app, Invocation* invocation);

// Cuts from `arguments` what stands after the first `--` of a command that starts a program: it
// belongs to that program, untouched. Empty: there is none.
std::vector<std::string> TakeProgram(std::vector<std::string>* arguments);

// Options that several commands have.
CLI::Option* AddDuration(CLI::App* app, const std::string& name, std::function<void(uint64_t)> set,
                         const std::string& help);
CLI::Option* AddSocket(CLI::App* app, std::string* socket);
CLI::Option* AddJson(CLI::App* app, bool* json);

// --socket, else the environment's, else the default.
std::string SocketOrDefault(const std::string& socket);

// "sgprs COMMAND: TEXT" on stderr; returns `code`.
int Fail(std::string_view command, const Status& status, int code);
// A line on stderr that is no error.
void Note(std::string_view command, std::string_view text);
// `text` to stdout, flushed. Error kUnavailable: stdout takes no more.
Status TryPrint(std::string_view text);
// The same. False, after a line on stderr: stdout takes no more (a full disk).
bool Print(std::string_view text);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_COMMAND_H_
