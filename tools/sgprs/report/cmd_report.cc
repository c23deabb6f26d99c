// SPDX-License-Identifier: Apache-2.0
// `sgprs report`: a job log as one HTML file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "runtime/base/replace_file.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/recording_info.h"
#include "tools/sgprs/report/report_html.h"

namespace sgprs::cli {
namespace {

struct ReportOptions {
  std::string output = "sgprs-report.html";
  std::string log;  // empty: the daemon's
  std::string socket;
  bool json = false;
};

// Whole or not at all: a browser may have the old one open.
Status Replace(const std::string& path, const std::string& text) {
  const Status written = ReplaceFile(path, text);
  if (written.ok()) return written;
  return Status(written.code(), "'" + path + "' can not be written: " + written.text());
}

Result<ReportData> ReadFrom(const ReportOptions& options) {
  if (!options.log.empty()) return ReadReport(options.log);
  const std::string socket = SocketOrDefault(options.socket);
  const Result<std::string> log = FindJobLog(socket);
  if (!log.ok()) return log.status();
  Result<ReportData> data = ReadReport(*log);
  Result<ControlClient> control = ControlClient::Connect(socket);
  if (!data.ok() || !control.ok()) return data;
  Result<RecordingInfo> recording = AskRecording(&*control);
  if (recording.ok()) data->recording = std::move(recording).value();
  return data;
}

int Report(const ReportOptions& options) {
  const Result<ReportData> data = ReadFrom(options);
  if (!data.ok()) return Fail("report", data.status(), kExitFailure);
  if (options.json) return Print(JsonText(ReportJson(*data))) ? kExitOk : kExitFailure;
  const std::string html = ReportHtml(*data);
  if (options.output == "-") return Print(html) ? kExitOk : kExitFailure;
  if (Status written = Replace(options.output, html); !written.ok()) {
    return Fail("report", written, kExitFailure);
  }
  return Print(fmt::format("{}: {} tasks, {} jobs, {} missed\n", options.output, data->tasks.size(),
                           data->all.jobs(), data->all.missed()))
             ? kExitOk
             : kExitFailure;
}

}  // namespace

void AddReport(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("report", "A job log as one HTML file: misses, timeline, jitter, FPS");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("-o,--output", options->output,
                   "Where to write it (default sgprs-report.html; -: stdout)")
      ->type_name("FILE.html");
  command->add_option("--log", options->log, "A job log (default: the one that sgprsd writes)")
      ->type_name("DIR");
  AddJson(command, &options->json);
  AddSocket(command, &options->socket);
  command->footer(
      "One file that loads nothing and runs no script: device, policy and level of the kernel\n"
      "probes; every task's rates; what cost the missed deadlines, and the worst of them; what "
      "ran\n"
      "where around these; histograms of every phase of a job; what was dropped or incomplete.\n"
      "The numbers are in it as JSON, too (element sgprs-report); --json prints them and writes "
      "no\n"
      "file. sgprsd writes a job log when it is started with --job-log DIR. A log outlives its\n"
      "daemon; only the newest daemon's part of it is read.\n\n"
      "Examples:\n"
      "  sgprs report -o today.html\n"
      "  sgprs report --log /var/log/sgprs --json | jq .causes\n\n"
      "Exit status: 0; 1 if there is no log, no job in it, or the file can not be written; 2 if "
      "the\n"
      "command line was not understood.");
  command->callback([=] { invocation->action = [=] { return Report(*options); }; });
}

}  // namespace sgprs::cli
