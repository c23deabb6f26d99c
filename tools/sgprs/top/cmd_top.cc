// SPDX-License-Identifier: Apache-2.0
// `sgprs top`: the daemon's tasks and partitions, live; once, as text or JSON, for programs.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "runtime/base/clock.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/top/top_app.h"

namespace sgprs::cli {
namespace {

constexpr size_t kBatchWidth = 160;

struct TopOptions {
  std::string socket;
  std::string sort = "name";
  uint64_t interval_ns = kNsPerSecond;
  uint64_t window_ns = 5 * kNsPerSecond;
  bool window_given = false;
  bool once = false;
  bool json = false;
};

// $COLUMNS, else the terminal's, else kBatchWidth.
size_t BatchWidth() {
  const char* columns = std::getenv("COLUMNS");
  const long wanted = columns != nullptr ? std::atol(columns) : 0;
  if (wanted >= 20 && wanted <= 1000) return static_cast<size_t>(wanted);
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return kBatchWidth;
}

int Once(const TopOptions& options, TopSort sort) {
  const uint64_t window_ns = options.window_given ? options.window_ns : kNsPerSecond;
  TopSession session(SocketOrDefault(options.socket), window_ns);
  if (const Status there = session.Connect(); !there.ok()) return Fail("top", there, kExitFailure);
  session.Refresh(NowNs());
  std::this_thread::sleep_for(std::chrono::nanoseconds(window_ns));
  session.Refresh(NowNs());
  TopPicture picture;
  picture.sort = sort;
  session.Describe(&picture);
  if (!picture.lost.empty() || !picture.sample.has_value()) {
    return Fail("top", Status(ErrorCode::kUnavailable, picture.lost), kExitFailure);
  }
  const std::string text =
      options.json ? JsonText(session.Report()) : TopText(DrawTop(picture, BatchWidth(), 0));
  return Print(text) ? kExitOk : kExitFailure;
}

int Live(const TopOptions& options, TopSort sort) {
  TopSession session(SocketOrDefault(options.socket), options.window_ns);
  if (const Status there = session.Connect(); !there.ok()) return Fail("top", there, kExitFailure);
  // https://no-color.org: set and not empty.
  const char* no_colour = std::getenv("NO_COLOR");
  Result<std::unique_ptr<TopTerminal>> terminal =
      TopTerminal::Open(no_colour == nullptr || no_colour[0] == '\0');
  if (!terminal.ok()) return Fail("top", terminal.status(), kExitFailure);
  return TopApp(&session, terminal->get(), options.interval_ns, sort).Run();
}

int Top(const TopOptions& options) {
  const TopSort sort = *FindTopSort(options.sort);
  const bool terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  return options.once || options.json || !terminal ? Once(options, sort) : Live(options, sort);
}

}  // namespace

void AddTop(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand("top", "Tasks and partitions, live");
  auto options = std::make_shared<TopOptions>();
  command->add_flag("--once", options->once, "Print one picture as text, end");
  AddJson(command, &options->json);
  AddDuration(
      command, "--interval", [options](uint64_t ns) { options->interval_ns = ns; },
      "Draw again every so long (default 1s)");
  AddDuration(
      command, "--window",
      [options](uint64_t ns) {
        options->window_ns = ns;
        options->window_given = true;
      },
      "Rates and quantiles over so long, ending now (default 5s; 1s with --once and --json)");
  std::vector<std::string> sorts;
  for (const TopSort sort : kTopSorts) sorts.emplace_back(TopSortName(sort));
  command->add_option("--sort", options->sort, "Order of the tasks to begin with")
      ->check(CLI::IsMember(sorts));
  AddSocket(command, &options->socket);
  command->footer(
      "Keys: p another policy, o overload late or hold, s sort by the next column, r reverse, g\n"
      "gone tasks too, space pause, arrows scroll, ? all of this with every column, q quit.\n"
      "More columns show on a wider screen. JITTER is how late the first launch came after the\n"
      "release, known if sgprsd writes a job log (--job-log DIR); RESP. is release to completion,\n"
      "exact with a job log, else from a histogram of powers of two. A daemon that goes away is\n"
      "waited for. Only the user that sgprsd runs as may change policy and overload. No colours\n"
      "if NO_COLOR is set.\n\n"
      "When stdin or stdout is no terminal, --once is meant; its width is that of $COLUMNS, else\n"
      "160.\n\n"
      "Exit status: 0; 1 if there is no daemon or no terminal of that kind; 2 if the command line\n"
      "was not understood; 128 + the signal that ended it.");
  command->callback([=] { invocation->action = [=] { return Top(*options); }; });
}

}  // namespace sgprs::cli
