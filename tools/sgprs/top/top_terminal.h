// SPDX-License-Identifier: Apache-2.0
// The terminal under `sgprs top` (ncurses): draws lines, reads keys. Gives it back as it was, also
// on SIGINT and SIGTERM.
#ifndef SGPRS_TOOLS_SGPRS_TOP_TOP_TERMINAL_H_
#define SGPRS_TOOLS_SGPRS_TOP_TOP_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/result.h"
#include "tools/sgprs/top/top_view.h"

namespace sgprs::cli {

// Keys that are no characters.
enum TopKey : int {
  kTopNoKey = -1,  // nothing was typed in time
  kTopEnded = -2,  // a signal (see signal_number()), or the terminal is gone
  kTopResized = -3,
  kTopUp = -4,
  kTopDown = -5,
  kTopPageUp = -6,
  kTopPageDown = -7,
  kTopHome = -8,
};

// One at a time in a process, one thread.
class TopTerminal {
 public:
  // Error kUnavailable: a terminal that ncurses does not know.
  static Result<std::unique_ptr<TopTerminal>> Open(bool colour);
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  size_t width() const;
  size_t height() const;
  void Draw(const std::vector<TopLine>& lines);
  // A character or a TopKey; waits for it until `until_ns`.
  int WaitKey(uint64_t until_ns);
  // That ended it; 0 = none did.
  int signal_number() const;

 private:
  explicit TopTerminal(bool colour);
  int Attributes(TopStyle style) const;

  bool colour_;
  bool utf8_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_TOP_TERMINAL_H_
