// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/job_source.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/base/clock.h"
#include "tools/sgprs/command.h"

namespace sgprs::cli {

void AddSource(CLI::App* command, SourceOptions* options) {
  command
      ->add_option("--log", options->log,
                   "Read this job log (a directory, or a file of `trace record`) instead of the "
                   "running daemon's")
      ->type_name("PATH");
  AddSocket(command, &options->socket);
}

Result<JobSource> OpenSource(const SourceOptions& options) {
  JobSource source;
  std::string path = options.log;
  if (path.empty()) {
    Result<ControlClient> control = ControlClient::Connect(SocketOrDefault(options.socket));
    if (!control.ok()) return control.status();
    Result<RecordingInfo> recording = AskRecording(&*control);
    if (!recording.ok()) return recording.status();
    if (recording->job_log.empty()) {
      return Status(ErrorCode::kNotFound,
                    "this sgprsd writes no job log: start it with --job-log DIR (or name a log "
                    "with --log PATH)");
    }
    path = recording->job_log;
    source.recording = std::move(*recording);
    source.control = std::move(*control);
  }
  Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(path);
  if (!history.ok()) return history.status();
  source.history = std::move(*history);
  return source;
}

std::string TimeWords(uint64_t ns) {
  if (ns < kNsPerUs) return fmt::format("{} ns", ns);
  struct Unit {
    uint64_t ns;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{kNsPerSecond, "s"}, {kNsPerMs, "ms"}, {kNsPerUs, "us"}};
  for (const Unit& unit : kUnits) {
    if (ns < unit.ns) continue;
    const double value = static_cast<double>(ns) / static_cast<double>(unit.ns);
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, unit.name);
  }
  return "";
}

std::string Share(uint64_t part, uint64_t whole) {
  if (whole == 0) return fmt::format("{}", part);
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{} ({:.3g} %)", part, percent);
}

}  // namespace sgprs::cli
