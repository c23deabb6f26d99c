// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_terminal.h"

#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/base/clock.h"

// After everything else: it has macros of common names.
#include <curses.h>

namespace sgprs::cli {
namespace {

// Written by the handler.
volatile sig_atomic_t ended_by = 0;

void OnSignal(int signal) { ended_by = signal; }

enum Pair : short { kPairGood = 1, kPairWarn, kPairBad, kPairDim };

// Bytes that a terminal without UTF-8 would show as rubbish.
std::string Ascii(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) out += c;
    if (byte >= 0xc0) out += '?';
  }
  return out;
}

int Translate(int key) {
  switch (key) {
    case KEY_RESIZE:
      return kTopResized;
    case KEY_UP:
      return kTopUp;
    case KEY_DOWN:
      return kTopDown;
    case KEY_PPAGE:
      return kTopPageUp;
    case KEY_NPAGE:
      return kTopPageDown;
    case KEY_HOME:
      return kTopHome;
    default:
      return key;
  }
}

}  // namespace

Result<std::unique_ptr<TopTerminal>> TopTerminal::Open(bool colour) {
  setlocale(LC_ALL, "");
  // ncurses installs its own handlers only where there are none: these come first.
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  set_escdelay(25);
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    const char* name = std::getenv("TERM");
    return Status(ErrorCode::kUnavailable, "no terminal of type '" +
                                               std::string(name != nullptr ? name : "") +
                                               "' is known here: set TERM, or use --once");
  }
  return std::unique_ptr<TopTerminal>(new TopTerminal(colour));
}

TopTerminal::TopTerminal(bool colour)
    : colour_(colour), utf8_(std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0) {
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
  colour_ = colour_ && has_colors();
  if (!colour_) return;
  start_color();
  use_default_colors();
  init_pair(kPairGood, COLOR_GREEN, -1);
  init_pair(kPairWarn, COLOR_YELLOW, -1);
  init_pair(kPairBad, COLOR_RED, -1);
  init_pair(kPairDim, COLOR_CYAN, -1);
}

TopTerminal::~TopTerminal() { endwin(); }

size_t TopTerminal::width() const { return static_cast<size_t>(getmaxx(stdscr)); }
size_t TopTerminal::height() const { return static_cast<size_t>(getmaxy(stdscr)); }
int TopTerminal::signal_number() const { return ended_by; }

int TopTerminal::Attributes(TopStyle style) const {
  const auto paint = [this](Pair pair) { return colour_ ? static_cast<int>(COLOR_PAIR(pair)) : 0; };
  switch (style) {
    case TopStyle::kPlain:
      return 0;
    case TopStyle::kBold:
      return A_BOLD;
    case TopStyle::kDim:
      return paint(kPairDim);
    case TopStyle::kGood:
      return paint(kPairGood);
    case TopStyle::kWarn:
      return paint(kPairWarn) | (colour_ ? 0 : static_cast<int>(A_BOLD));
    case TopStyle::kBad:
      return paint(kPairBad) | A_BOLD;
    case TopStyle::kTitle:
      return A_REVERSE;
    case TopStyle::kAlarm:
      return paint(kPairBad) | A_REVERSE | A_BOLD;
  }
  return 0;
}

void TopTerminal::Draw(const std::vector<TopLine>& lines) {
  erase();
  for (size_t y = 0; y < lines.size() && y < height(); ++y) {
    move(static_cast<int>(y), 0);
    for (const TopSpan& span : lines[y]) {
      attrset(Attributes(span.style));
      addstr((utf8_ ? span.text : Ascii(span.text)).c_str());
    }
  }
  attrset(0);
  refresh();
}

int TopTerminal::WaitKey(uint64_t until_ns) {
  for (;;) {
    if (ended_by != 0) return kTopEnded;
    const int key = getch();
    if (key != ERR) return Translate(key);
    const uint64_t now_ns = NowNs();
    if (now_ns >= until_ns) return kTopNoKey;
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = poll(&input, 1, static_cast<int>((until_ns - now_ns) / kNsPerMs) + 1);
    if (ready > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return kTopEnded;
    if (ready < 0 && errno != EINTR) return kTopEnded;
  }
}

}  // namespace sgprs::cli
