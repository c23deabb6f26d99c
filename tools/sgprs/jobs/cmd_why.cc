// SPDX-License-Identifier: Apache-2.0
// `sgprs why TASK [JOB]`: which phase cost the deadline.
#include <memory>
#include <optional>

#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/jobs/job_source.h"
#include "tools/sgprs/jobs/why_view.h"

namespace sgprs::cli {
namespace {

struct WhyOptions {
  std::string task;
  std::optional<uint64_t> job;
  SourceOptions source;
  bool json = false;
};

int Why(const WhyOptions& options) {
  Result<JobSource> source = OpenSource(options.source);
  if (!source.ok()) return Fail("why", source.status(), kExitFailure);
  Result<WhyView> view = ReadWhy(source->history->path(), options.task, options.job);
  if (!view.ok()) return Fail("why", view.status(), kExitFailure);
  return Print(options.json ? JsonText(WhyJson(*view)) : WhyText(*view)) ? kExitOk : kExitFailure;
}

}  // namespace

void AddWhy(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand("why", "Which phase cost a job its deadline");
  auto options = std::make_shared<WhyOptions>();
  command->add_option("TASK", options->task, "NAME, NAME#ID or #ID")->required();
  command->add_option("JOB", options->job,
                      "Its number (default: the last that missed, else the closest to it)");
  AddJson(command, &options->json);
  AddSource(command, &options->source);
  command->footer(
      "The response time is cut into parts that add up to it. Each is compared with the median of\n"
      "the task's jobs on time; the part that is longest over it is what cost the deadline:\n"
      "  timer, wakeup  the timer or the wakeup was late\n"
      "  run_queue      run-queue delay: ready to run, another thread had the CPU\n"
      "  user           user code, from the wait to the first launch; also stopped or preempted\n"
      "  start          a late first launch, where the kernel's stamps are missing\n"
      "  own_job        the job before was not over\n"
      "  hold           held back by the overload policy\n"
      "  queue          queueing: its partition was taken\n"
      "  runtime        its partition was free, sgprsd came late\n"
      "  issue          granted, its process came late\n"
      "  between        nothing of it on the GPU between two stages\n"
      "  execute        execution on the GPU\n"
      "A record is written when the thread's next wait ended, 0.3 s later at most.\n\n"
      "Exit status: 0, missed or not; 1 if there is no daemon, log, task or job; 2 if the command\n"
      "line was not understood.");
  command->callback([=] { invocation->action = [=] { return Why(*options); }; });
}

}  // namespace sgprs::cli
