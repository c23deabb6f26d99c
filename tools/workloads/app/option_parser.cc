// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/option_parser.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace workloads {
namespace {

struct Unit {
  const char* name;
  double ns;
};
constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr double kMaxDurationNs = 1000.0 * 24 * 3600 * 1e9;

}  // namespace

bool ParseDuration(const std::string& text, uint64_t* ns) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return false;
  for (const Unit& unit : kUnits) {
    if (std::string(rest, end) != unit.name) continue;
    const double value = std::round(number * unit.ns);
    if (value > kMaxDurationNs) return false;
    *ns = static_cast<uint64_t>(value);
    return true;
  }
  return false;
}

bool ParseCount(const std::string& text, uint64_t least, uint64_t most, uint64_t* value) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < least || number > most) return false;
  *value = number;
  return true;
}

bool ParsePositive(const std::string& text, double* value) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !std::isfinite(number) || number <= 0) return false;
  *value = number;
  return true;
}

int FlushOutput(const std::string& program) {
  const bool good = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!good)
    std::fprintf(stderr, "%s: standard output: %s\n", program.c_str(), std::strerror(errno));
  return good ? kExitOk : kExitFailed;
}

OptionParser::OptionParser(std::string program, std::string purpose)
    : program_(std::move(program)), purpose_(std::move(purpose)) {}

void OptionParser::Add(const char* name, const char* argument, const char* help, const char* what,
                       std::function<bool(const std::string&)> read) {
  options_.push_back({name, argument, help, what, std::move(read)});
}

void OptionParser::AddDuration(const char* name, const char* help, uint64_t* ns) {
  Add(name, "TIME", help, "a duration such as 33.3ms",
      [ns](const std::string& text) { return ParseDuration(text, ns); });
}

void OptionParser::AddCount(const char* name, const char* help, uint64_t least, uint64_t most,
                            uint64_t* value) {
  const std::string what = "a number from " + std::to_string(least) + " to " + std::to_string(most);
  Add(name, "N", help, what.c_str(),
      [=](const std::string& text) { return ParseCount(text, least, most, value); });
}

void OptionParser::AddFlag(const char* name, const char* help, bool* value) {
  Add(name, "", help, "", [value](const std::string&) { return *value = true; });
}

bool OptionParser::Parse(int argc, char** argv, int* exit_code) const {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      PrintHelp();
      *exit_code = FlushOutput(program_);
      return false;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* found = nullptr;
    for (const Option& option : options_) {
      if (name == "--" + option.name) found = &option;
    }
    if (found == nullptr) {
      *exit_code = Refuse("unknown option '" + word + "'");
      return false;
    }
    const bool flag = found->argument.empty();
    if (flag && equals != std::string::npos) {
      *exit_code = Refuse(name + " takes no value");
      return false;
    }
    std::string value;
    if (!flag && equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (!flag) {
      if (i + 1 == argc) {
        *exit_code = Refuse(name + " needs " + found->what);
        return false;
      }
      value = argv[++i];
    }
    if (!found->read(value)) {
      *exit_code = Refuse(name + " needs " + found->what + ", not '" + value + "'");
      return false;
    }
  }
  return true;
}

int OptionParser::Refuse(const std::string& text) const {
  std::fprintf(stderr, "%s: %s (see %s --help)\n", program_.c_str(), text.c_str(),
               program_.c_str());
  return kExitUsage;
}

void OptionParser::PrintHelp() const {
  std::printf("Usage: %s [OPTION]...\n%s\n\n", program_.c_str(), purpose_.c_str());
  for (const Option& option : options_) {
    const std::string head =
        "--" + option.name + (option.argument.empty() ? "" : " " + option.argument);
    std::printf("  %-18s %s\n", head.c_str(), option.help.c_str());
  }
  std::printf("  %-18s %s\n\nExit code: 0 done, 1 driver error or wrong result, 2 bad option.\n",
              "--help", "this text");
}

}  // namespace workloads
