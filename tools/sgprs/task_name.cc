// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/task_name.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "tools/sgprs/run_environment.h"

namespace sgprs::cli {
namespace {

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// "python", "python3", "python3.11"
bool IsPython(std::string_view name) {
  constexpr std::string_view kPython = "python";
  return name.starts_with(kPython) &&
         std::all_of(name.begin() + kPython.size(), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

// What the interpreter runs, by the rules of its command line; empty if that has no name: -c,
// standard input, a directory.
std::string Script(const std::vector<std::string>& program) {
  for (size_t i = 1; i < program.size(); ++i) {
    const std::string& word = program[i];
    const std::string next = i + 1 < program.size() ? program[i + 1] : "";
    if (word == "--check-hash-based-pycs") {
      ++i;
      continue;
    }
    if (word == "--") return FileName(next);
    if (word.size() < 2 || word[0] != '-') return FileName(word == "-" ? "" : word);
    if (word[1] == '-') continue;
    const size_t at =
        word.find_first_of("cmWX", 1);  // these take the rest of the word, or the next
    if (at == std::string::npos) continue;
    const std::string rest = word.substr(at + 1);
    if (word[at] == 'c') return "";
    if (word[at] == 'm') return rest.empty() ? next : rest;
    if (rest.empty()) ++i;
  }
  return "";
}

}  // namespace

std::string DefaultTaskName(const std::vector<std::string>& program) {
  const std::string name = FileName(program.front());
  if (!IsPython(name)) return name;
  std::string script = Script(program);
  if (script.ends_with(".py")) script.resize(script.size() - 3);
  return script.empty() || script.front() == '.' || !CheckTaskName(script).empty() ? name : script;
}

}  // namespace sgprs::cli
