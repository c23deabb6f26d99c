// SPDX-License-Identifier: Apache-2.0
// What a person types: durations, values of options, whole command lines of sgprs and of sgprsd.
// Only parsed, nothing is done; a line that is not understood gives one line on stderr and exit
// code 2.
//
// Input: the first byte chooses the parser ('d' duration, 's' sgprs, 'r' sgprsd, else values of
// options), the rest is the text; of a command line each line is an argument.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/duration.h"
#include "runtime/options.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/command_line.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/run_environment.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using namespace sgprs;

void Require(bool promise) {
  if (!promise) std::abort();
}

// What `act` prints on `stream`.
template <typename Act>
std::string Printed(FILE** stream, const Act& act) {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* const real = *stream;
  *stream = open_memstream(&text, &bytes);
  act();
  std::fclose(*stream);
  *stream = real;
  std::string printed(text, bytes);
  std::free(text);
  return printed;
}

void CheckOneLine(const std::string& text) {
  Require(!text.empty() && text.find('\n') == text.size() - 1);
}

void Duration(const std::string& text) {
  const Result<uint64_t> ns = ParseDurationNs(text);
  if (!ns.ok()) return;
  const std::string shown = FormatDurationNs(*ns);
  const Result<uint64_t> again = ParseDurationNs(shown);
  // Three digits are shown, of the unit that is.
  Require(again.ok() && std::max(*ns, *again) - std::min(*ns, *again) <= *ns / 1000);
  Require(ParseDurationNs(std::to_string(*ns) + "ns").value() == *ns);
}

void Values(const std::string& text) {
  if (const Result<uint64_t> ns = cli::ParseFpsAsPeriodNs(text); ns.ok()) Require(*ns != 0);
  if (cli::CheckTaskName(text).empty()) {
    Require(!text.empty() && text.size() < SGPRS_NAME_BYTES);
    Require(text.find('\n') == std::string::npos && text.find('\0') == std::string::npos);
  }
  (void)cli::CheckTaskClass(text);
  (void)cli::CheckJobRule(text);
  (void)cli::CheckBackend(text);
}

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    words.push_back(text.substr(at, end - at));
    // As in argv: a zero byte ends a word.
    words.back().resize(std::strlen(words.back().c_str()));
    at = end + 1;
  }
  return words;
}

// Whether `sgprs` would do something for this line, which the target must not.
bool Understood(const std::vector<std::string>& words) {
  CLI::App app("", "sgprs");
  cli::Invocation invocation;
  app.require_subcommand(0, 1);
  cli::AddCommands(&app, &invocation);
  std::vector<std::string> line = words;
  invocation.program = cli::TakeProgram(&line);
  std::reverse(line.begin(), line.end());
  try {
    app.parse(std::move(line));
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0;  // --help
  }
  return invocation.action != nullptr;
}

void Sgprs(const std::vector<std::string>& words) {
  if (words.empty() || Understood(words)) return;
  int code = -1;
  const std::string said = Printed(&stderr, [&] { code = cli::RunCommandLine(words); });
  Require(code == cli::kExitUsage);
  if (said.find("Usage: sgprs") == std::string::npos) CheckOneLine(said);
}

void Sgprsd(std::vector<std::string> words) {
  words.insert(words.begin(), "sgprsd");
  std::vector<char*> argv;
  for (std::string& word : words) {
    // Neither files nor our own log.
    if (word.find("config") != std::string::npos || word.find("log") != std::string::npos) return;
    argv.push_back(word.data());
  }
  runtime::Options options;
  runtime::ParseResult parsed;
  std::ostringstream help;
  std::streambuf* const real = std::cout.rdbuf(help.rdbuf());
  const std::string said = Printed(&stderr, [&] {
    parsed = runtime::ParseOptions(static_cast<int>(argv.size()), argv.data(), &options);
  });
  std::cout.rdbuf(real);
  if (parsed.run) {
    (void)runtime::CheckText(options).ok();
  } else if (parsed.exit_code != runtime::kExitOk) {
    Require(parsed.exit_code == runtime::kExitUsage);
    CheckOneLine(said);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'd':
      Duration(text);
      break;
    case 's':
      Sgprs(Words(text));
      break;
    case 'r':
      Sgprsd(Words(text));
      break;
    default:
      Values(text);
  }
  return 0;
}
