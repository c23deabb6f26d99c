// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

int Wait(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Outcome RunProgram(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment) {
  Outcome outcome;
  char directory[] = "/tmp/sgprs-interpose-XXXXXX";
  if (mkdtemp(directory) == nullptr) return outcome;
  const std::string base = directory;
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environment;
  variables.push_back("PATH=/usr/bin:/bin");
  variables.push_back("INTERPOSE_TEST_LOG=" + base + "/log");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, (base + "/out").c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (base + "/err").c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0].c_str(), &actions, nullptr,
                                  Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) outcome.exit_code = Wait(child);
  outcome.output = Slurp(base + "/out");
  outcome.error = Slurp(base + "/err");
  std::stringstream lines(Slurp(base + "/log"));
  for (std::string line; std::getline(lines, line);) outcome.log.push_back(line);
  for (const char* name : {"/log", "/out", "/err"}) unlink((base + name).c_str());
  rmdir(directory);
  return outcome;
}
