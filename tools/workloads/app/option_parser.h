// SPDX-License-Identifier: Apache-2.0
// Command lines of these programs: long options with values, a help text made from them.
#ifndef SGPRS_TOOLS_WORKLOADS_APP_OPTION_PARSER_H_
#define SGPRS_TOOLS_WORKLOADS_APP_OPTION_PARSER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace workloads {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // the driver or the result
inline constexpr int kExitUsage = 2;

// "33.3ms", "500us", "2s", "100ns" to ns; false: not that, or negative, or above 1000 days.
bool ParseDuration(const std::string& text, uint64_t* ns);
// Decimal, without sign; false: not that, or out of range.
bool ParseCount(const std::string& text, uint64_t least, uint64_t most, uint64_t* value);
// A finite number above zero.
bool ParsePositive(const std::string& text, double* value);

// At the end of a program: what it printed has left it. kExitFailed after a line on stderr if
// stdout took not all of it (a full disk).
int FlushOutput(const std::string& program);

class OptionParser {
 public:
  OptionParser(std::string program, std::string purpose);

  // `read` gets the value and returns false if it is bad; `what` then says what it must be:
  // "a duration such as 33.3ms".
  void Add(const char* name, const char* argument, const char* help, const char* what,
           std::function<bool(const std::string&)> read);
  void AddDuration(const char* name, const char* help, uint64_t* ns);
  void AddCount(const char* name, const char* help, uint64_t least, uint64_t most, uint64_t* value);
  void AddFlag(const char* name, const char* help, bool* value);

  // `exit_code` is set if the program must end now: that of FlushOutput() after --help,
  // kExitUsage after one line on stderr. True: go on.
  bool Parse(int argc, char** argv, int* exit_code) const;
  // For what only shows when all options are known: one line on stderr, returns kExitUsage.
  int Refuse(const std::string& text) const;

 private:
  struct Option {
    std::string name;
    std::string argument;  // empty: a flag
    std::string help;
    std::string what;
    std::function<bool(const std::string&)> read;
  };
  void PrintHelp() const;

  std::string program_;
  std::string purpose_;
  std::vector<Option> options_;
};

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_APP_OPTION_PARSER_H_
