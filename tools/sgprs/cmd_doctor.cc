// SPDX-License-Identifier: Apache-2.0
// `sgprs doctor`: looks at what a scheduled process needs and says what is missing; with a program,
// runs it and says what the shim did with each of its driver calls.
#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/environment.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/control_client.h"
#include "tools/sgprs/doctor_calls.h"
#include "tools/sgprs/doctor_probes.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/installation.h"
#include "tools/sgprs/simulation.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/temporary_directory.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

struct Finding {
  std::string what;
  bool good = false;
  bool needed = false;  // without it nothing can be scheduled
  std::string text;     // what was found, or what to do
};

Finding File(const std::string& what, const std::string& path, bool needed) {
  const Status status = Require(path, what);
  return {what, status.ok(), needed, status.ok() ? path : status.text()};
}

// Whether the kernel's io_uring is there and knows FUTEX_WAIT (Linux 6.7); asked of the kernel
// itself, since version numbers lie.
Finding IoUring() {
  constexpr unsigned kFutexWait = 51;  // IORING_OP_FUTEX_WAIT; Debian 12's header ends before it
  constexpr unsigned kOps = 64;
  Finding finding = {"io_uring", false, true, ""};
  io_uring_params params = {};
  const UniqueFd ring(static_cast<int>(syscall(SYS_io_uring_setup, 4, &params)));
  if (!ring.valid()) {
    finding.text = fmt::format("not usable ({}): sgprsd needs it", std::strerror(errno));
    return finding;
  }
  std::vector<uint64_t> room((sizeof(io_uring_probe) + kOps * sizeof(io_uring_probe_op)) / 8 + 1);
  auto* probe = reinterpret_cast<io_uring_probe*>(room.data());
  finding.good = true;
  const bool probed =
      syscall(SYS_io_uring_register, ring.get(), IORING_REGISTER_PROBE, probe, kOps) == 0;
  const auto* ops = reinterpret_cast<const io_uring_probe_op*>(probe + 1);
  const bool futex = probed && probe->last_op >= kFutexWait &&
                     (ops[kFutexWait].flags & IO_URING_OP_SUPPORTED) != 0;
  finding.text =
      futex ? "with FUTEX_WAIT" : "without FUTEX_WAIT (Linux 6.7): doorbells take the slower way";
  return finding;
}

Finding Driver() {
  Finding finding = {"CUDA driver", false, false, ""};
  const char* path = env::Get(env::kDriver);
  void* driver = dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    finding.text = "no libcuda.so.1: only `--simulate` works here";
    return finding;
  }
  using Version = int (*)(int*);
  const auto version = reinterpret_cast<Version>(dlsym(driver, "cuDriverGetVersion"));
  int number = 0;
  if (version == nullptr || version(&number) != 0) {
    finding.text = "libcuda.so.1 gives no version";
  } else {
    finding.good = true;
    finding.text = fmt::format("libcuda.so.1 for CUDA {}.{}", number / 1000, number % 1000 / 10);
  }
  dlclose(driver);
  return finding;
}

Finding DaemonFinding(const std::string& socket) {
  const Result<ControlClient> control = ControlClient::Connect(socket);
  return {"daemon", control.ok(), false,
          control.ok() ? "answers at " + socket : control.status().text()};
}

// A daemon that runs already says its own level in `sgprs status`.
Finding KernelProbes(const std::string& sgprsd) {
  const Result<RecordingInfo> info = CheckProbes(sgprsd);
  if (!info.ok()) return {"kernel probes", false, false, "not known: " + info.status().text()};
  return {"kernel probes", HasStamps(info->level), false, ProbesInWords(*info)};
}

Finding Device() {
  const std::string socket = env::SimgpuSocketPath();
  const bool answers = Answers(socket);
  return {"simulated device", answers, false,
          answers ? "answers at " + socket : "none at " + socket + " (needed for --simulate only)"};
}

Finding Kernel() {
  utsname name = {};
  uname(&name);
  return {"kernel", true, false, fmt::format("{} {}", name.sysname, name.release)};
}

struct ProgramOptions {
  bool simulate = false;
  std::vector<std::string> kernels;
};

// `sgprs run` in a child, which counts its calls into `directory`; what it prints goes to stderr.
// Its exit code, as a shell has it; -1 = no child.
int RunCounted(const ProgramOptions& options, const std::string& socket,
               const std::string& directory, const std::vector<std::string>& program) {
  std::vector<std::string> words = {"sgprs", "run"};
  if (options.simulate) words.push_back("--simulate");
  for (const std::string& library : options.kernels) {
    words.insert(words.end(), {"--kernels", library});
  }
  if (!socket.empty()) words.insert(words.end(), {"--socket", socket});
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setenv(env::kDoctor, directory.c_str(), 1);
    execv("/proc/self/exe", argv.data());
    _exit(kExitNotExecutable);
  }
  if (child < 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int DoctorProgram(bool json, const ProgramOptions& options, const std::string& socket,
                  const std::vector<std::string>& program) {
  const Result<TemporaryDirectory> directory = TemporaryDirectory::Make("sgprs-doctor-");
  if (!directory.ok()) return Fail("doctor", directory.status(), kExitFailure);
  const int code = RunCounted(options, socket, directory->path(), program);
  if (code < 0) {
    return Fail("doctor", Status(ErrorCode::kUnavailable, "no child process"), kExitFailure);
  }
  const Result<std::vector<ProcessCalls>> processes = ReadCalls(directory->path());
  if (!processes.ok()) return Fail("doctor", processes.status(), kExitFailure);
  uint64_t escaped = 0;
  for (const ProcessCalls& process : *processes) escaped += process.Escaped();
  const std::string text = json ? JsonText({{"version", kJsonVersion},
                                            {"exit_code", code},
                                            {"escaped", escaped},
                                            {"processes", CallsJson(*processes)}})
                                : FormatCalls(*processes);
  if (!Print(text)) return kExitFailure;
  return escaped != 0 ? kExitFailure : code;
}

int Doctor(bool json, const std::string& socket) {
  const Result<Installation> at = Installation::Find();
  if (!at.ok()) return Fail("doctor", at.status(), kExitFailure);
  const std::vector<Finding> findings = {
      Kernel(),
      IoUring(),
      File("shim", at->shim, true),
      File("sgprsd", at->Program("sgprsd"), true),
      File("stand-in driver", at->simgpu_cuda, false),
      File("simgpu", at->Program("simgpu"), false),
      KernelProbes(at->Program("sgprsd")),
      Driver(),
      DaemonFinding(SocketOrDefault(socket)),
      Device(),
  };
  bool usable = true;
  TextTable table;
  for (const char* title : {"CHECK", "RESULT", "DETAIL"})
    table.AddColumn(title, TextTable::Align::kLeft);
  Json rows = Json::array();
  for (const Finding& finding : findings) {
    usable = usable && (finding.good || !finding.needed);
    const char* result = finding.good ? "ok" : finding.needed ? "missing" : "absent";
    table.AddRow({finding.what, result, Printable(finding.text)});
    rows.push_back({{"check", finding.what},
                    {"result", result},
                    {"needed", finding.needed},
                    {"detail", finding.text}});
  }
  const std::string text =
      json ? JsonText({{"version", kJsonVersion}, {"usable", usable}, {"checks", std::move(rows)}})
           : table.Format();
  return Print(text) && usable ? kExitOk : kExitFailure;
}

}  // namespace

void AddDoctor(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "doctor", "What is there of what scheduling needs; what a program's calls become");
  auto json = std::make_shared<bool>(false);
  auto socket = std::make_shared<std::string>();
  AddJson(command, json.get());
  AddSocket(command, socket.get());
  auto options = std::make_shared<ProgramOptions>();
  CLI::Option* simulate = command->add_flag("--simulate", options->simulate,
                                            "Run the program on a simulated GPU (sgprs run)");
  command->add_option("--kernels", options->kernels, "As of sgprs run; may repeat")
      ->type_name("LIB.so")
      ->allow_extra_args(false)
      ->needs(simulate);
  command->footer(
      "ok: there. absent: not there, and not needed by everybody. missing: nothing can be "
      "scheduled.\n\n"
      "sgprs doctor -- PROGRAM runs the program as `sgprs run` does and tells, for each driver "
      "call\n"
      "that it made, what the shim does with it: record (issued when granted), answer, drain "
      "(what\n"
      "is held goes first), forward, unknown (newer than the shim; drained). ESCAPED: launches "
      "that\n"
      "went to the driver past the runtime, and why. The program's output goes to stderr.\n\n"
      "Exit status: 0; 1 if something is missing, or a launch escaped; else the program's; 2 if "
      "the\n"
      "command line was not understood.");
  command->callback([=] {
    const std::vector<std::string> program = invocation->program;
    if (program.empty()) {
      if (options->simulate) {
        throw CLI::ValidationError("no program",
                                   "write it after --: sgprs doctor --simulate -- PROGRAM");
      }
      invocation->action = [=] { return Doctor(*json, *socket); };
    } else {
      invocation->action = [=] { return DoctorProgram(*json, *options, *socket, program); };
    }
  });
}

}  // namespace sgprs::cli
