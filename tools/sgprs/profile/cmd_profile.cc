// SPDX-License-Identifier: Apache-2.0
// `sgprs profile`: runs a program, writes what its jobs are made of and what they cost.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "runtime/base/duration.h"
#include "runtime/profile/profile.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/profile/profile_pick.h"
#include "tools/sgprs/profile/profile_session.h"
#include "tools/sgprs/profile/profile_view.h"
#include "tools/sgprs/run_environment.h"
#include "tools/sgprs/task_name.h"

namespace sgprs::cli {
namespace {

constexpr const char* kFooter =
    "Runs the program by itself under an sgprsd of its own, which moves each job to the next of "
    "five\n"
    "partition sizes, and writes a profile: the job's launches and kernels, where it is cut into\n"
    "stages, what each stage costs by number of SMs, the period that was seen. A few dozen jobs "
    "are\n"
    "enough; a program that runs until Ctrl-C is ended by it and profiled all the same.\n\n"
    "sgprs run uses the profile of the task's name without being asked (--profile none: not), or "
    "the\n"
    "one that --profile FILE names: its stages are then known from its first job that has the\n"
    "profile's signature. A profile of another version or device is refused, one of another "
    "signature\n"
    "is not used; sgprsd's log says so.\n\n"
    "Profiles lie in $XDG_DATA_HOME/sgprs/profiles, else ~/.local/share/sgprs/profiles.\n\n"
    "Examples:\n"
    "  sgprs profile --fps 30 -- python3 detect.py\n"
    "  sgprs profile --simulate --name net -o net.json -- resnet18 --fps 30 --frames 60\n"
    "  sgprs profile --show net.json --launches\n\n"
    "Exit status: the program's; 1 if no profile could be written; 2 if the command line was not\n"
    "understood.";

struct ProfileOptions {
  ProfileRequest request;
  std::string output;
  std::string show;
  bool json = false;
  bool launches = false;
};

int Show(const profile::Profile& profile, const ProfileOptions& options) {
  const std::string text =
      options.json ? profile::ToText(profile) : ProfileText(profile, options.launches);
  return Print(text) ? kExitOk : kExitFailure;
}

Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (!error) return Status::Ok();
  return Status(
      ErrorCode::kUnavailable,
      fmt::format("{}: {}", std::filesystem::path(path).parent_path().string(), error.message()));
}

int RunProfile(const ProfileOptions& options) {
  if (!options.show.empty()) {
    const Result<profile::Profile> profile = profile::ReadProfile(options.show);
    return profile.ok() ? Show(*profile, options) : Fail("profile", profile.status(), kExitFailure);
  }
  const std::string path =
      options.output.empty() ? ProfilePath(options.request.task) : options.output;
  if (path.empty()) {
    return Fail("profile", Status(ErrorCode::kInvalid, "no home directory: say -o FILE"),
                kExitUsage);
  }
  const Result<Installation> installation = Installation::Find();
  if (!installation.ok()) return Fail("profile", installation.status(), kExitFailure);
  const Result<ProfileOutcome> outcome = RunProfiled(options.request, *installation);
  if (!outcome.ok()) return Fail("profile", outcome.status(), kExitFailure);
  Status written = options.output.empty() ? MakeDirectory(path) : Status::Ok();
  if (written.ok()) written = profile::WriteProfile(outcome->profile, path);
  if (!written.ok()) return Fail("profile", written, kExitFailure);
  Note("profile", path);
  const int shown = Show(outcome->profile, options);
  return outcome->exit_code != 0 ? outcome->exit_code : shown;
}

// Options of `sgprs run` that are passed on as they stand.
void AddRunOptions(CLI::App* command, const std::shared_ptr<ProfileOptions>& options) {
  static constexpr struct {
    const char* name;
    const char* type;
    const char* help;
  } kRows[] = {{"--fps", "N", "How often the program runs the network"},
               {"--period", "TIME", "The same as a time"},
               {"--deadline", "TIME", "When a run must end (default: the period)"},
               {"--job", "RULE", "Where one run ends and the next begins (sgprs run --help)"},
               {"--backend", "NAME", "Partitions by green, mps, priority or none"},
               {"--kernels", "LIB.so", "Kernel library of the simulated device"}};
  for (const auto& row : kRows) {
    const std::string name = row.name;
    command
        ->add_option_function<std::string>(
            name,
            [options, name](const std::string& value) {
              options->request.run.insert(options->request.run.end(), {name, value});
            },
            row.help)
        ->type_name(row.type);
  }
}

}  // namespace

void AddProfile(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("profile", "Learn a program once: its stages and what they cost");
  auto options = std::make_shared<ProfileOptions>();
  command->add_option("--name", options->request.task, "Task name (default: as sgprs run has it)")
      ->check(CLI::Validator([](std::string& name) { return CheckTaskName(name); }, ""));
  AddRunOptions(command, options);
  command->add_flag("--simulate", options->request.simulate, "On a simulated GPU of its own");
  command->add_option("--device", options->request.device, "Which one (`simgpu --list-devices`)")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Where the profile is written")
      ->type_name("FILE");
  command->add_option("--show", options->show, "Show this profile, run nothing")->type_name("FILE");
  command->add_flag("--launches", options->launches, "Show every launch, too");
  AddJson(command, &options->json);
  command->footer(kFooter);
  command->callback([=] {
    options->request.program = invocation->program;
    if (options->show.empty() == options->request.program.empty()) {
      throw CLI::ValidationError(
          "what to do", "write a program after --, or --show FILE: sgprs profile -- PROGRAM");
    }
    if (options->request.task.empty() && !options->request.program.empty()) {
      options->request.task = DefaultTaskName(options->request.program);
    }
    invocation->action = [=] { return RunProfile(*options); };
  });
}

}  // namespace sgprs::cli
