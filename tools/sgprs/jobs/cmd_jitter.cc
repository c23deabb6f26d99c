// SPDX-License-Identifier: Apache-2.0
// `sgprs jitter [TASK]`: how long each phase of the jobs took.
#include <memory>

#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/jobs/jitter_view.h"
#include "tools/sgprs/jobs/job_source.h"

namespace sgprs::cli {
namespace {

struct JitterOptions {
  std::string task;
  SourceOptions source;
  bool json = false;
};

int Jitter(const JitterOptions& options) {
  Result<JobSource> source = OpenSource(options.source);
  if (!source.ok()) return Fail("jitter", source.status(), kExitFailure);
  Result<JitterView> view = ReadJitter(source->history.get(), options.task);
  if (!view.ok()) return Fail("jitter", view.status(), kExitFailure);
  view->recording = std::move(source->recording);
  const std::string text =
      options.json ? JsonText(JitterJson(*view)) : JitterText(*view, !options.task.empty());
  return Print(text) ? kExitOk : kExitFailure;
}

}  // namespace

void AddJitter(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("jitter", "How long each phase of the jobs took, as histograms");
  auto options = std::make_shared<JitterOptions>();
  command->add_option("TASK", options->task,
                      "Only this one, with a bar for each power of two (NAME, NAME#ID or #ID)");
  AddJson(command, &options->json);
  AddSource(command, &options->source);
  command->footer(
      "Phases, in order (runtime/observe/job_phases.inc; the first five need kernel probes):\n"
      "  timer      from when the timer was due to its interrupt\n"
      "  wakeup     from the interrupt to the wakeup of the thread\n"
      "  run_queue  from the wakeup to running on a CPU\n"
      "  return     from running to the return of the system call\n"
      "  user       from there to the first launch: the program's own code\n"
      "  queue      from the first launch to the first grant\n"
      "  issue      from the grant to the first launch handed to the driver\n"
      "  execute    from there to the last completion\n"
      "  response   from the release to the last completion\n"
      "A character of the line of each phase is a power of two, from below 1 us to above 1 s;\n"
      "darker is more. Quantiles are within 1/64 of the value.\n\n"
      "A record is complete if all its kernel stamps are there and in order; incomplete ones are\n"
      "counted and not used. The kernel's clock and the process's are the same clock.\n\n"
      "Exit status: 0; 1 if there is no daemon, log or such task; 2 if the command line was not\n"
      "understood.");
  command->callback([=] { invocation->action = [=] { return Jitter(*options); }; });
}

}  // namespace sgprs::cli
