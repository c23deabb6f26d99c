// SPDX-License-Identifier: Apache-2.0
// `sgprs status`, `tasks`, `partitions`: the state segment in three views.
#include <unistd.h>

#include <memory>
#include <thread>

#include "runtime/base/clock.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/daemon.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/profile/stages_view.h"
#include "tools/sgprs/state_view.h"

namespace sgprs::cli {
namespace {

struct ReadOptions {
  std::string socket;
  bool json = false;
  uint64_t window_ns = 0;  // 0 = rates over each task's life
  bool watch = false;
  bool recording = false;  // ask for it, too: `status`
  bool stages = false;     // what each task's stages are made of, too: `tasks`
};

struct Views {
  std::string (*text)(const StateView&);
  Json (*json)(const StateView&);
};

constexpr uint64_t kWatchNs = kNsPerSecond;
constexpr const char* kClearScreen = "\033[H\033[2J";

// Into `view`, if it is wanted. A daemon that does not say is none the less shown.
void AskForRecording(Daemon* daemon, const ReadOptions& options, StateView* view) {
  if (!options.recording) return;
  Result<RecordingInfo> info = AskRecording(&daemon->control);
  if (info.ok()) {
    view->recording = std::move(info).value();
  } else {
    view->recording_error = info.status().text();
  }
}

Result<StateView> Look(const Daemon& daemon, uint64_t window_ns, const StateSnapshot* before) {
  StateView view;
  Result<StateSnapshot> first = daemon.state->Read(NowNs());
  if (!first.ok()) return first.status();
  view.now = std::move(first).value();
  if (before != nullptr) {
    view.before = before->tasks;
    view.before_ns = before->read_ns;
  } else if (window_ns != 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(window_ns));
    view.before = std::move(view.now.tasks);
    view.before_ns = view.now.read_ns;
    Result<StateSnapshot> second = daemon.state->Read(NowNs());
    if (!second.ok()) return second.status();
    view.now = std::move(second).value();
  }
  return view;
}

bool Show(const StateView& view, const ReadOptions& options, const Views& views) {
  if (!options.json) return Print(views.text(view));
  const Json json = views.json(view);
  if (!options.watch) return Print(JsonText(json));
  return Print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");  // a line each
}

// Until the reader of our output, or the daemon, goes away; Ctrl-C ends the process.
int Watch(const std::string& command, Daemon daemon, const ReadOptions& options,
          const Views& views) {
  const uint64_t pause_ns = options.window_ns != 0 ? options.window_ns : kWatchNs;
  const bool clear = !options.json && isatty(STDOUT_FILENO) == 1;
  Result<StateView> view = Look(daemon, 0, nullptr);
  for (;;) {
    if (!view.ok()) return Fail(command, view.status(), kExitFailure);
    AskForRecording(&daemon, options, &*view);
    if (clear && !Print(kClearScreen)) return kExitFailure;
    if (!Show(*view, options, views)) return kExitFailure;
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
    const Status alive = daemon.control.CheckAlive();
    if (!alive.ok()) return Fail(command, alive, kExitFailure);
    const StateSnapshot before = std::move(view->now);
    view = Look(daemon, 0, &before);
  }
}

int Read(const std::string& command, const ReadOptions& options, const Views& views) {
  Result<Daemon> daemon = OpenDaemon(SocketOrDefault(options.socket));
  if (!daemon.ok()) return Fail(command, daemon.status(), kExitFailure);
  if (options.watch) return Watch(command, std::move(daemon).value(), options, views);
  Result<StateView> view = Look(*daemon, options.window_ns, nullptr);
  if (!view.ok()) return Fail(command, view.status(), kExitFailure);
  AskForRecording(&*daemon, options, &*view);
  if (!options.stages) return Show(*view, options, views) ? kExitOk : kExitFailure;
  const std::vector<TaskStages> stages = AskStages(&daemon->control, view->now);
  if (!options.json) {
    return Print(views.text(*view) + StagesText(stages)) ? kExitOk : kExitFailure;
  }
  Json json = views.json(*view);
  json["stages"] = StagesJson(stages);
  return Print(JsonText(json)) ? kExitOk : kExitFailure;
}

CLI::App* AddReader(CLI::App* app, Invocation* invocation, const std::string& name,
                    const std::string& help, const Views& views) {
  CLI::App* command = app->add_subcommand(name, help);
  auto options = std::make_shared<ReadOptions>();
  options->recording = name == "status";
  AddJson(command, &options->json);
  AddDuration(
      command, "--window", [options](uint64_t ns) { options->window_ns = ns; },
      "Take rates over so long, ending now (default: over each task's life)");
  if (name == "tasks") {
    command->add_flag("--stages", options->stages,
                      "Show what each task's stages are made of: launches, costs, kernels");
  }
  command->add_flag("--watch", options->watch,
                    "Show again every --window (default 1s), rates over that window; with --json "
                    "one line each time");
  AddSocket(command, &options->socket);
  command->callback([=] { invocation->action = [=] { return Read(name, *options, views); }; });
  return command;
}

}  // namespace

void AddStatus(CLI::App* app, Invocation* invocation) {
  AddReader(app, invocation, "status",
            "How the daemon is: device, policy, pool, rates, what is wrong",
            {StatusText, StatusJson})
      ->footer(
          "Rates are sums over the living tasks. FPS is two numbers: frames completed, late ones\n"
          "included, and frames completed on time. Missed is the part of the frames due that were\n"
          "late or skipped.\n\n"
          "probes says at which level sgprsd's kernel probes run: root or capabilities (all "
          "stamps),\n"
          "plain (root without the kernel's BTF), no-btf or none (releases are first launches), "
          "and\n"
          "what is missing. Incomplete and lost waits are counted and never used.\n\n"
          "\"health: degraded\" lists stalled partitions, bypassed tasks, refused and cut "
          "clients.\n\n"
          "Exit status: 0; 1 if there is no daemon; 2 if the command line was not understood.");
}

void AddTasks(CLI::App* app, Invocation* invocation) {
  AddReader(app, invocation, "tasks", "Every task: rates, misses, response times, launch counts",
            {TasksText, TasksJson})
      ->footer(
          "Columns:\n"
          "  CLASS      high, low or best-effort (`sgprs run --class`)\n"
          "  STATE      joining, learning (stages not known yet), scheduled, bypassed (its "
          "launches go\n"
          "             to the driver unscheduled), gone (process over, row kept for a while)\n"
          "  VIA        partition back-end in use: green, mps, priority, none\n"
          "  PERIOD, DEADLINE\n"
          "             as declared; the deadline counts from a job's release\n"
          "  STAGES     learnt number of stages of a job, - while learning\n"
          "  FPS        frames completed per second, late ones included\n"
          "  ON-TIME    frames per second completed by their deadline, - without a deadline\n"
          "  MISS%      part of the frames due that were late or skipped, - without a deadline\n"
          "  SKIP%      the part that was skipped: no job was released in its period (the one "
          "before\n"
          "             overran, was held back, or the program did not ask), - without a period\n"
          "  LAST       response time (release to completion) of the latest job; WORST of any\n"
          "  SWITCHES   stages that ran in another partition than the stage before\n"
          "  HELD       jobs held back to a later release by `--overload hold`\n"
          "  RECORDED, GRANTED, ISSUED, COMPLETED\n"
          "             launches so far; equal when the task is idle\n"
          "  BYPASSED   launches that went to the driver unrecorded\n\n"
          "A line is some 190 characters: `sgprs tasks | less -S`; `sgprs top` fits a terminal.\n"
          "Without the kernel's stamps (`sgprs run --release timer`) a job is seen by its launches "
          "alone:\n"
          "of a program that stalls and makes up for it the missing periods count as skipped, and "
          "what it\n"
          "makes up may count as on time.\n\n"
          "Exit status: 0; 1 if there is no daemon; 2 if the command line was not understood.");
}

void AddPartitions(CLI::App* app, Invocation* invocation) {
  AddReader(app, invocation, "partitions", "The pool: sizes, load, stages, stalls",
            {PartitionsText, PartitionsJson})
      ->footer(
          "Columns:\n"
          "  SMS          the interval of SMs, in the device's order; intervals may overlap\n"
          "  PLANNED      SMs asked for; BUILT: the least that a process got\n"
          "  RUNNING      stages granted and not complete; QUEUED: placed and not granted\n"
          "  BUSY%        part of the daemon's life with a stage granted\n"
          "  SWITCHES-IN  stages that came from another partition\n"
          "  STATE        idle, busy, or stalled (its oldest stage is over the bound)\n\n"
          "Exit status: 0; 1 if there is no daemon; 2 if the command line was not understood.");
}

}  // namespace sgprs::cli
