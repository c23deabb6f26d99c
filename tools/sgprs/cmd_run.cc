// SPDX-License-Identifier: Apache-2.0
// `sgprs run`: becomes the program, with the shim preloaded and the task's description in its
// environment.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "runtime/base/duration.h"
#include "runtime/base/environment.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/control_client.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/profile/profile_pick.h"
#include "tools/sgprs/run_environment.h"
#include "tools/sgprs/simulation.h"
#include "tools/sgprs/task_name.h"

namespace sgprs::cli {
namespace {

constexpr const char* kFooter =
    "The program is not changed: it is started with libsgprs-shim.so preloaded, which hands its "
    "CUDA\n"
    "launches to sgprsd. It keeps its process id, files, terminal and exit status.\n\n"
    "Without a daemon it runs unscheduled, as without sgprs, and says so in one line on stderr "
    "when\n"
    "it launches its first kernel; with --require it does not run. TIME is a number and a unit: "
    "33.3ms, 500us, 2s.\n\n"
    "With --simulate there is no GPU: the program gets a stand-in libcuda.so.1 and a simulated "
    "device.\n"
    "If none runs yet, `sgprsd --simulate` is started and stays. --device names the device that "
    "is\n"
    "then started (`simgpu --list-devices`). Timing and scheduling are simulated, not what kernels "
    "compute.\n\n"
    "A profile of the task (`sgprs profile`) saves it the learning.\n\n"
    "Examples:\n"
    "  sgprs run --fps 30 -- python3 detect.py\n"
    "  sgprs run --name lidar --period 100ms --deadline 50ms --class high -- ./lidar\n"
    "  sgprs run --class best-effort -- python3 train.py\n"
    "  sgprs run --simulate --fps 30 -- resnet18 --fps 30\n\n"
    "Exit status: the program's; 127 not found, 126 not executable, 1 no daemon with --require or "
    "no\n"
    "simulated device with --simulate, 2 the command line was not understood.";

Status MakeAbsolute(std::string* path, const char* what) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(*path, error);
  if (error)
    return Status(ErrorCode::kInvalid, fmt::format("{} {}: {}", what, *path, error.message()));
  *path = absolute.lexically_normal().string();
  return Status::Ok();
}

// Paths as the program will see them, wherever it goes.
Status ResolvePaths(RunOptions* options) {
  if (options->socket) {
    Status status = MakeAbsolute(&*options->socket, "--socket");
    if (!status.ok()) return status;
  }
  if (options->profile && options->profile != "none") {
    Status status = MakeAbsolute(&*options->profile, "--profile");
    if (!status.ok()) return status;
  }
  for (std::string& library : options->kernels) {
    Status status = MakeAbsolute(&library, "--kernels");
    if (!status.ok()) return status;
    if (access(library.c_str(), R_OK) != 0) {
      return Status(ErrorCode::kNotFound,
                    fmt::format("--kernels {}: {}", library, std::strerror(errno)));
    }
  }
  return Status::Ok();
}

// False: the program must not run. Without --require the shim says what is missing, once, if the
// program launches something.
bool CheckDaemon(const RunOptions& options, const std::string& socket) {
  if (!options.require) return true;
  const Result<ControlClient> daemon = ControlClient::Connect(socket);
  if (!daemon.ok()) Fail("run", daemon.status(), kExitFailure);
  return daemon.ok();
}

// The profile that was named, or the one of the task's name. False: the one that was named can not
// be used.
bool UseProfile(const RunOptions& options, const std::string& socket, const std::string& program) {
  if (options.profile == "none") return true;
  const std::string task =
      options.name.value_or(std::filesystem::path(program).filename().string());
  const std::string path = options.profile.value_or(ProfilePath(task));
  if (!options.profile && (path.empty() || access(path.c_str(), R_OK) != 0)) return true;
  const Status loaded = LoadProfile(socket, path);
  if (loaded.ok()) return true;
  if (options.profile) Fail("run", loaded, kExitFailure);
  // Without a daemon there is nothing to seed, and the shim says so.
  if (!options.profile && loaded.code() == ErrorCode::kRefused) Note("run", loaded.text());
  return !options.profile;
}

// The shim names a task by its program; a name that is none of the program's is said to it.
void NameTask(RunOptions* options, const std::vector<std::string>& program) {
  if (options->name || env::Get(env::kName) != nullptr) return;
  const std::string name = DefaultTaskName(program);
  if (name != std::filesystem::path(program.front()).filename().string()) options->name = name;
}

int Execute(const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  Fail("run", Status(ErrorCode::kNotFound, program[0] + ": " + std::strerror(error)), kExitFailure);
  return error == ENOENT ? kExitNotFound : kExitNotExecutable;
}

int Run(RunOptions options, const std::vector<std::string>& program) {
  const Result<Installation> installation = Installation::Find();
  if (!installation.ok()) return Fail("run", installation.status(), kExitFailure);
  Status paths = ResolvePaths(&options);
  if (!paths.ok()) return Fail("run", paths, kExitUsage);
  Status shim = Require(installation->shim, "the shim");
  if (!shim.ok()) return Fail("run", shim, kExitFailure);

  const std::string socket = SocketOrDefault(options.socket.value_or(""));
  if (options.simulate) {
    Status cuda = Require(installation->simgpu_cuda, "the stand-in driver");
    if (!cuda.ok()) return Fail("run", cuda, kExitFailure);
    options.simgpu_socket = env::SimgpuSocketPath();
    const Result<std::string> started = EnsureSimulation(
        {socket, *options.simgpu_socket, options.device.value_or("")}, *installation);
    if (!started.ok()) return Fail("run", started.status(), kExitFailure);
    if (!started->empty()) Note("run", *started);
  }
  if (!CheckDaemon(options, socket)) return kExitFailure;
  NameTask(&options, program);
  if (!UseProfile(options, socket, program.front())) return kExitFailure;
  Result<std::map<std::string, std::string>> variables = BuildRunEnvironment(
      options, *installation, [](const char* name) { return std::getenv(name); });
  if (!variables.ok()) return Fail("run", variables.status(), kExitFailure);
  for (const auto& [name, value] : *variables) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) {
      return Fail("run", Status(ErrorCode::kInternal, name + ": " + std::strerror(errno)),
                  kExitFailure);
    }
  }
  return Execute(program);
}

void AddTaskOptions(CLI::App* command, const std::shared_ptr<RunOptions>& options) {
  auto check = [](std::string (*good)(const std::string&)) {
    return CLI::Validator([good](std::string& value) { return good(value); }, "");
  };
  command
      ->add_option("--name", options->name,
                   "Task name (default: the program's, of a Python its script's)")
      ->check(check(CheckTaskName));
  CLI::Option* period = AddDuration(
      command, "--period", [options](uint64_t ns) { options->period_ns = ns; },
      "How often the program runs the network");
  command
      ->add_option_function<std::string>(
          "--fps",
          [options](const std::string& text) {
            const Result<uint64_t> ns = ParseFpsAsPeriodNs(text);
            if (!ns.ok()) throw CLI::ValidationError("--fps", ns.status().text());
            options->period_ns = *ns;
          },
          "The same as frames per second")
      ->type_name("N")
      ->excludes(period);
  AddDuration(
      command, "--deadline", [options](uint64_t ns) { options->deadline_ns = ns; },
      "When a run must end, after its release (default: the period). Without a period it counts "
      "from the run's first launch");
  command
      ->add_option("--class", options->task_class,
                   "high, low or best-effort (default: low with a period, else best-effort). "
                   "Without a period high and low only go before best-effort work: admission "
                   "control does not count the task, `--overload hold` does not hold it")
      ->check(check(CheckTaskClass))
      ->type_name("CLASS");
  command
      ->add_option(
          "--job", options->job,
          "Where one run ends and the next begins: auto (from synchronisation and pauses), "
          "launches:N, nvtx:NAME (an NVTX range of that name, as torch.cuda.nvtx.range makes it), "
          "marked (sgprs_job_begin/end of sgprs/sgprs.h) (default: auto)")
      ->check(check(CheckJobRule))
      ->type_name("RULE");
  command
      ->add_option(
          "--release", options->release,
          "What releases a run: grid (first launches, on the period's grid), timer or input "
          "(what the kernel saw the program wait for), first-launch (default: sgprsd's)")
      ->check(check(CheckRelease))
      ->type_name("RULE");
  command
      ->add_option("--backend", options->backend,
                   "Partitions by green, mps, priority or none (default: the first that works)")
      ->check(check(CheckBackend))
      ->type_name("NAME");
}

}  // namespace

void AddRun(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand("run", "Run a program as a task");
  auto options = std::make_shared<RunOptions>();
  AddTaskOptions(command, options);
  command->add_flag("--require", options->require, "Do not run unscheduled");
  command
      ->add_option(
          "--profile", options->profile,
          "Profile to begin with (`sgprs profile`), or none (default: the task's, if there "
          "is one)")
      ->type_name("FILE");
  CLI::Option* simulate =
      command->add_flag("--simulate", options->simulate, "Run on a simulated GPU");
  command->add_option("--device", options->device, "Simulated device to start (default: sgprsd's)")
      ->check(CLI::Validator([](std::string& value) { return CheckDevice(value); }, ""))
      ->type_name("NAME")
      ->needs(simulate);
  command
      ->add_option(
          "--kernels", options->kernels,
          "Kernel library of the simulated device (tools/simgpu/kernel_library.h); may repeat")
      ->type_name("LIB.so")
      ->allow_extra_args(false)
      ->needs(simulate);
  command->add_option("--socket", options->socket, "Control socket of sgprsd")->type_name("PATH");
  command->footer(kFooter);
  command->prefix_command();
  command->callback([=] {
    // Without `--`, the first word that is no option begins the program.
    std::vector<std::string> program = invocation->program;
    const std::vector<std::string> rest = command->remaining();
    if (!rest.empty() && rest.front().starts_with("-")) throw CLI::ExtrasError("run", rest);
    if (program.empty()) {
      program = rest;
    } else if (!rest.empty()) {
      throw CLI::ExtrasError("run", rest);
    }
    if (program.empty()) {
      throw CLI::ValidationError("no program", "write it after --: sgprs run --fps 30 -- PROGRAM");
    }
    invocation->action = [=] { return Run(*options, program); };
  });
}

}  // namespace sgprs::cli
