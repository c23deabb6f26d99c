// SPDX-License-Identifier: Apache-2.0
// `sgprs demo`: the whole of it on a simulated GPU, one policy after the other.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "runtime/base/duration.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/demo_check.h"
#include "tools/sgprs/demo_pictures.h"
#include "tools/sgprs/demo_report.h"
#include "tools/sgprs/demo_session.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/run_environment.h"
#include "tools/sgprs/temporary_directory.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr int kExitSignal = 128;  // plus the signal, as a shell says it

constexpr const char* kFooter =
    "Starts, for each policy, a simulated device (simgpu), a daemon (sgprsd) and N unmodified\n"
    "processes (`sgprs run -- WORKLOAD`) in a private directory, and ends them all again, also on\n"
    "Ctrl-C. Nothing of a daemon that runs already is touched. After -- stands a program of your "
    "own\n"
    "that runs until it is sent SIGTERM, at about --fps; one that dies of the signal leaves "
    "launches\n"
    "incomplete, which are said and no error.\n\n"
    "What is measured: FPS, MISS% and SWITCHES are differences of the daemon's counters over the "
    "last\n"
    "--seconds of the run. The window begins half a second after every task is learnt, so "
    "start-up\n"
    "and learning do not count. FPS is frames completed, late ones included; ON-TIME is frames\n"
    "completed by their deadline; MISS% is the part of the frames due that were late or skipped;\n"
    "SWITCHES are stages that ran in another partition than the stage before. The launch counts "
    "are\n"
    "those of the whole run, read after the processes have ended: RECORDED = GRANTED = ISSUED =\n"
    "COMPLETED, BYPASSED 0, and as many kernels as the device itself counted; else exit status "
    "1.\n\n"
    "The policy `naive` (the paper's baseline) uses partitions of the whole device, whatever\n"
    "--oversubscription says.\n\n"
    "The trace shows every job, stage and partition: open it at https://ui.perfetto.dev (Open "
    "trace\n"
    "file) or in chrome://tracing; `sgprs sim --replay TRACE` runs it under another policy. "
    "Beside\n"
    "the traces lie pictures (SVG): the rates, and what ran where in the middle of each window; "
    "and\n"
    "reports (HTML) of the whole run, learning included, as `sgprs report` writes them.\n\n"
    "Examples:\n"
    "  sgprs demo\n"
    "  sgprs demo --tasks 24 --seconds 10 --policies naive,fifo,edf,sgprs\n"
    "  sgprs demo --json --tasks 4 --seconds 3 | jq '.policies[] | {policy, on_time_fps}'\n"
    "  sgprs demo --policies sgprs -- python3 detector.py --fps 30\n\n"
    "Exit status: 0; 1 if a process failed or counts disagree; 2 if the command line was not\n"
    "understood; 128 + the signal that ended it.";

// One policy in its own directory and process group.
Result<DemoResult> RunPolicy(const DemoOptions& options, const Installation& installation,
                             const std::string& policy, int* interrupted) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::Make("sgprs-demo-");
  if (!directory.ok()) return directory.status();
  Result<std::unique_ptr<ChildGroup>> children = ChildGroup::Make();
  if (!children.ok()) return children.status();
  const auto progress = [&policy](std::string_view text) {
    fmt::print(stderr, "demo: {}: {}\n", policy, text);
  };
  const std::string path = directory->path();
  if (options.keep) {
    progress("logs stay in " + path);
    directory->Keep();
  }
  const std::string trace = std::filesystem::absolute(DemoTracePath(options, policy)).string();
  DemoSession session(options, installation, children->get(), policy, path, trace, progress);
  Result<DemoResult> result = session.Run();
  *interrupted = (*children)->interrupted();
  if (result.ok()) {
    // The log goes with the directory.
    const Status written = WriteDemoHtml(options, policy, path + "/jobs");
    if (!written.ok()) progress("no report: " + written.text());
  }
  return result;
}

int Report(const DemoOptions& options, const std::vector<DemoResult>& results) {
  std::vector<std::string> wrong;
  for (const DemoResult& result : results) {
    for (std::string& line : DemoDisagreements(result)) wrong.push_back(std::move(line));
  }
  const Result<std::vector<std::string>> pictures = WriteDemoPictures(options, results);
  if (!pictures.ok()) wrong.push_back(pictures.status().text());
  std::string text;
  if (options.json) {
    text = JsonText(DemoJson(options.device, results));
  } else {
    text =
        fmt::format("\n{} x {} at {} fps on a {}, {} a policy\n\n{}\n", options.tasks,
                    Printable(DemoSubject(options)), options.fps, Printable(results.front().device),
                    FormatDurationNs(options.window_ns), DemoText(results));
    text += "traces (open at https://ui.perfetto.dev, \"Open trace file\"):\n";
    for (const DemoResult& result : results) text += "  " + result.trace_path + "\n";
    text += "reports (open in a browser):\n";
    for (const DemoResult& result : results) {
      const std::filesystem::path path =
          std::filesystem::absolute(DemoHtmlPath(options, result.policy));
      if (std::filesystem::exists(path)) text += "  " + path.string() + "\n";
    }
    if (pictures.ok()) {
      text += "pictures:\n";
      for (const std::string& path : *pictures) {
        text += "  " + std::filesystem::absolute(path).string() + "\n";
      }
    }
    uint64_t in_flight = 0;
    for (const DemoResult& result : results) in_flight += DemoInFlight(result);
    if (wrong.empty() && in_flight != 0) {
      text += fmt::format(
          "programs that died of SIGTERM left {} launches incomplete; all others were recorded,\n"
          "granted, issued and completed\n",
          in_flight);
    } else if (wrong.empty()) {
      text +=
          "every launch was recorded, granted, issued and completed; the device's own count of\n"
          "kernels agrees\n";
    }
  }
  const bool printed = Print(text);
  for (const std::string& line : wrong) Note("demo", line);
  return printed && wrong.empty() ? kExitOk : kExitFailure;
}

int Demo(const DemoOptions& options) {
  const Result<Installation> installation = Installation::Find();
  if (!installation.ok()) return Fail("demo", installation.status(), kExitFailure);
  for (const std::string& path :
       {installation->shim, installation->simgpu_cuda, installation->demo_kernels,
        installation->Program("simgpu"), installation->Program("sgprsd"),
        options.program.empty() ? installation->Program(options.workload)
                                : installation->Program("sgprs")}) {
    const Status there = Require(path, std::filesystem::path(path).filename().string());
    if (!there.ok()) return Fail("demo", there, kExitFailure);
  }
  int interrupted = 0;
  const Status understood = CheckDemoOptions(options, *installation, &interrupted);
  if (!understood.ok()) {
    const bool usage = understood.code() == ErrorCode::kInvalid;
    return Fail("demo", understood,
                interrupted != 0 ? kExitSignal + interrupted : (usage ? kExitUsage : kExitFailure));
  }
  std::vector<DemoResult> results;
  for (const std::string& policy : options.policies) {
    Result<DemoResult> result = RunPolicy(options, *installation, policy, &interrupted);
    if (!result.ok()) {
      return Fail("demo", result.status(),
                  interrupted != 0 ? kExitSignal + interrupted : kExitFailure);
    }
    results.push_back(std::move(result).value());
  }
  return Report(options, results);
}

// "6" or "6s": --seconds says its unit itself.
Result<uint64_t> ParseSeconds(const std::string& text) {
  const bool bare = text.find_first_not_of("0123456789.") == std::string::npos;
  Result<uint64_t> ns = ParseDurationNs(bare ? text + "s" : text);
  if (ns.ok() && (*ns < kNsPerMs || *ns > 3600 * kNsPerSecond)) {
    return Status(ErrorCode::kInvalid, "'" + text + "' is not between 0.001 and 3600 seconds");
  }
  return ns;
}

void AddMeasurementOptions(CLI::App* command, const std::shared_ptr<DemoOptions>& options) {
  command->add_option("--tasks", options->tasks, "Processes that share the device")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 256).description("1..256"));
  command
      ->add_option_function<std::string>(
          "--seconds",
          [options](const std::string& text) {
            const Result<uint64_t> ns = ParseSeconds(text);
            if (!ns.ok()) throw CLI::ValidationError("--seconds", ns.status().text());
            options->window_ns = *ns;
          },
          "Length of the measured window, per policy")
      ->type_name("S")
      ->default_str("6");
  command
      ->add_option_function<std::string>(
          "--fps",
          [options](const std::string& text) {
            const Result<uint64_t> ns = ParseFpsAsPeriodNs(text);
            if (!ns.ok()) throw CLI::ValidationError("--fps", ns.status().text());
            options->fps = text;
            options->period_ns = *ns;
          },
          "Frames per second of each process")
      ->type_name("F")
      ->default_str("30");
  command->add_option("--policies", options->policies, "Policies to compare")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B")
      ->default_str("naive,sgprs");
}

}  // namespace

void AddDemo(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("demo", "Several DNN processes on a simulated GPU, by policy");
  auto options = std::make_shared<DemoOptions>();
  AddMeasurementOptions(command, options);
  command->add_option("--device", options->device, "Simulated device (`simgpu --list-devices`)")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--workload", options->workload, "Program to run, next to this one")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--partitions", options->partitions, "Partitions of the pool")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, SGPRS_MAX_PARTITIONS)
                  .description(fmt::format("1..{}", SGPRS_MAX_PARTITIONS)));
  command
      ->add_option("--oversubscription", options->oversubscription,
                   "Sum of the partitions' sizes, in devices")
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 32.0).description("0.1..32"));
  command
      ->add_option("--trace", options->trace,
                   "Trace file; with several policies, each adds its name (default: "
                   "sgprs-demo-POLICY.trace.json here)")
      ->type_name("FILE");
  command->add_flag("--keep", options->keep, "Keep the directory with logs and configuration");
  AddJson(command, &options->json);
  command->footer(kFooter);
  command->callback([=] {
    options->program = invocation->program;
    invocation->action = [=] { return Demo(*options); };
  });
}

}  // namespace sgprs::cli
