// SPDX-License-Identifier: Apache-2.0
// `sgprs trace record | show | export | live`: job records kept, listed, drawn and followed.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "runtime/base/clock.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/jobs/job_fields.h"
#include "tools/sgprs/jobs/job_source.h"
#include "tools/sgprs/jobs/perfetto_export.h"
#include "tools/sgprs/jobs/recording_file.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr const char* kDefaultFile = "sgprs.jobs";

enum class Format { kText, kJson, kCsv };

struct TraceOptions {
  std::string file;  // what is read: a recording; empty: the daemon's log, or --log
  SourceOptions source;
  std::string output;
  std::string task;
  uint64_t for_ns = 0;  // 0 = until a signal
  uint64_t last = 0;    // jobs; 0 = all
  bool missed = false;
  bool json = false;
  bool csv = false;
};

volatile std::sig_atomic_t stop_asked = 0;

// SIGINT and SIGTERM end the command, and nothing is lost; a reader that goes away is an error of
// writing, not the end of the process.
void CatchSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_asked = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Format FormatOf(const TraceOptions& options) {
  if (options.json) return Format::kJson;
  return options.csv ? Format::kCsv : Format::kText;
}

bool Wanted(const HistoryJob& job, const TraceOptions& options) {
  if (options.missed && !job.missed()) return false;
  return options.task.empty() || JobHistory::Matches(*job.task, options.task);
}

// Where the output goes: a file that was asked for, or stdout.
class Output {
 public:
  static Result<Output> Open(const std::string& path) {
    if (path.empty() || path == "-") return Output(nullptr, "standard output");
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) {
      return Status(ErrorCode::kInvalid, path + " can not be written: " + std::strerror(errno));
    }
    return Output(file, path);
  }

  bool Write(std::string_view text) {
    if (error_ != 0) return false;
    if (std::fwrite(text.data(), 1, text.size(), stream()) != text.size()) error_ = errno;
    return error_ == 0;
  }
  bool Flush() {
    if (error_ == 0 && std::fflush(stream()) != 0) error_ = errno;
    return error_ == 0;
  }
  bool nobody_reads() const { return error_ == EPIPE; }
  // Ends it; says what went wrong.
  Status Close() {
    Flush();
    file_.reset();
    if (error_ == 0) return Status::Ok();
    return Status(ErrorCode::kExhausted, name_ + ": " + std::strerror(error_));
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Output(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}
  std::FILE* stream() const { return file_ != nullptr ? file_.get() : stdout; }

  std::unique_ptr<std::FILE, Closer> file_;
  std::string name_;
  int error_ = 0;
};

// How a listing looks, from its first line to its last.
class Listing {
 public:
  // `lines`: each JSON object is a line of its own, for who follows.
  Listing(Format format, bool lines, Output* output)
      : format_(format), lines_(lines), output_(output) {}

  void Begin() {
    if (format_ == Format::kCsv) output_->Write(CsvHeader());
    if (format_ == Format::kJson && !lines_) {
      output_->Write(fmt::format("{{\n\"version\": {},\n\"jobs\": [", kJsonVersion));
    }
  }
  bool Add(const JobHistory& history, const HistoryJob& job) {
    const std::string label = history.Label(*job.task);
    switch (format_) {
      case Format::kText:
        return output_->Write(JobLine(job, label, history.header()));
      case Format::kCsv:
        return output_->Write(CsvRow(job, label));
      case Format::kJson:
        break;
    }
    Json json = JobJson(job, label);
    if (lines_) json = Merged({{"version", kJsonVersion}}, json);
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (lines_) return output_->Write(text + "\n");
    const bool first = !std::exchange(begun_, true);
    return output_->Write((first ? "\n" : ",\n") + text);
  }
  void End() {
    if (format_ == Format::kJson && !lines_) output_->Write("\n]\n}\n");
  }

 private:
  static Json Merged(Json to, const Json& from) {
    to.update(from);
    return to;
  }

  const Format format_;
  const bool lines_;
  Output* const output_;
  bool begun_ = false;
};

Result<JobSource> Source(const TraceOptions& options) {
  SourceOptions source = options.source;
  if (!options.file.empty()) source.log = options.file;
  return OpenSource(source);
}

// Gives each wanted job that is there to `take`, in order, the last ones only if so asked; `take`
// returns false to end it. Error kNotFound: there is no such task.
Status ReadAll(JobHistory* history, const TraceOptions& options,
               const std::function<bool(const HistoryJob&)>& take) {
  std::deque<HistoryJob> last;
  for (;;) {
    Result<std::optional<HistoryJob>> job = history->Next();
    if (!job.ok()) return job.status();
    if (!job->has_value() || stop_asked != 0) break;
    if (!Wanted(**job, options)) continue;
    if (options.last == 0) {
      if (!take(**job)) break;
      continue;
    }
    if (last.size() == options.last) last.pop_front();
    last.push_back(std::move(**job));
  }
  for (const HistoryJob& job : last) {
    if (!take(job)) break;
  }
  if (options.task.empty()) return Status::Ok();
  return history->Find(options.task).status();
}

int Done(const char* command, const Status& read, Output* output) {
  const Status written = output->Close();
  if (output->nobody_reads()) return kExitOk;
  if (!written.ok()) return Fail(command, written, kExitFailure);
  return read.ok() ? kExitOk : Fail(command, read, kExitFailure);
}

int Show(const TraceOptions& options) {
  CatchSignals();
  Result<JobSource> source = Source(options);
  if (!source.ok()) return Fail("trace show", source.status(), kExitFailure);
  Result<Output> output = Output::Open("");
  Listing listing(FormatOf(options), false, &*output);
  listing.Begin();
  JobHistory* history = source->history.get();
  const Status read =
      ReadAll(history, options, [&](const HistoryJob& job) { return listing.Add(*history, job); });
  listing.End();
  return Done("trace show", read, &*output);
}

int Export(const TraceOptions& options) {
  CatchSignals();
  Result<JobSource> source = Source(options);
  if (!source.ok()) return Fail("trace export", source.status(), kExitFailure);
  Result<Output> output = Output::Open(options.output);
  if (!output.ok()) return Fail("trace export", output.status(), kExitFailure);
  JobHistory* history = source->history.get();
  Status read = Status::Ok();
  if (options.csv) {
    Listing listing(Format::kCsv, false, &*output);
    listing.Begin();
    read = ReadAll(history, options,
                   [&](const HistoryJob& job) { return listing.Add(*history, job); });
  } else {
    PerfettoExport drawn([&output](std::string_view text) { return output->Write(text); });
    read = ReadAll(history, options, [&](const HistoryJob& job) {
      drawn.Add(job, history->Label(*job.task));
      return !drawn.full();
    });
    drawn.Finish(history->header());
  }
  return Done("trace export", read, &*output);
}

// Gives what comes from now on to `take`, and calls `rest` whenever that is all for now, until a
// signal, the time asked for, false from either, or the daemon's end (error kUnavailable).
Status Follow(JobSource* source, const TraceOptions& options,
              const std::function<bool(const HistoryJob&)>& take,
              const std::function<bool()>& rest) {
  Status skipped = source->history->SkipToEnd();
  if (!skipped.ok()) return skipped;
  const uint64_t end_ns = options.for_ns != 0 ? NowNs() + options.for_ns : UINT64_MAX;
  for (;;) {
    const bool last = stop_asked != 0 || NowNs() >= end_ns;
    const Status alive = source->control ? source->control->CheckAlive() : Status::Ok();
    for (;;) {
      Result<std::optional<HistoryJob>> job = source->history->Next();
      if (!job.ok()) return job.status();
      if (!job->has_value()) break;
      if (Wanted(**job, options) && !take(**job)) return Status::Ok();
    }
    if (!rest() || last) return Status::Ok();
    if (!alive.ok()) return alive;
    std::this_thread::sleep_for(kPause);
  }
}

int Live(const TraceOptions& options) {
  CatchSignals();
  Result<JobSource> source = Source(options);
  if (!source.ok()) return Fail("trace live", source.status(), kExitFailure);
  Result<Output> output = Output::Open("");
  Listing listing(FormatOf(options), true, &*output);
  listing.Begin();
  const Status followed = Follow(
      &*source, options, [&](const HistoryJob& job) { return listing.Add(*source->history, job); },
      [&output] { return output->Flush(); });
  return Done("trace live", followed, &*output);
}

int Record(const TraceOptions& options) {
  CatchSignals();
  Result<JobSource> source = Source(options);
  if (!source.ok()) return Fail("trace record", source.status(), kExitFailure);
  Result<std::unique_ptr<RecordingFile>> file =
      RecordingFile::Open(options.output, source->history->header());
  if (!file.ok()) return Fail("trace record", file.status(), kExitFailure);
  Status written = (*file)->Flush();
  const Status followed = Follow(
      &*source, options,
      [&](const HistoryJob& job) {
        (*file)->Add(*source->history, job);
        return true;
      },
      [&] {
        if (written.ok()) written = (*file)->Flush();
        return written.ok();
      });
  if (!written.ok()) return Fail("trace record", written, kExitFailure);
  Note("trace record",
       fmt::format("{} in {}: `sgprs trace show`, `export`, `sgprs why --log` read it",
                   Counted((*file)->jobs(), "job"), options.output));
  return followed.ok() ? kExitOk : Fail("trace record", followed, kExitFailure);
}

void AddFilters(CLI::App* command, TraceOptions* options) {
  command->add_option("--task", options->task, "Only this task (NAME, NAME#ID or #ID)");
  command->add_flag("--missed", options->missed, "Only jobs that missed their deadline");
}

void AddInput(CLI::App* command, TraceOptions* options) {
  command
      ->add_option("FILE", options->file,
                   "What `trace record` wrote (default: the log of the running daemon)")
      ->excludes(command->get_option("--log"));
  command->add_option("--last", options->last, "Only the last so many jobs")
      ->check(CLI::PositiveNumber);
}

CLI::App* AddVerb(CLI::App* trace, const char* name, const char* help,
                  const std::shared_ptr<TraceOptions>& options, Invocation* invocation,
                  int (*act)(const TraceOptions&)) {
  CLI::App* command = trace->add_subcommand(name, help);
  AddSource(command, &options->source);
  AddFilters(command, options.get());
  command->callback([=] { invocation->action = [=] { return act(*options); }; });
  return command;
}

void AddSeconds(CLI::App* command, const std::shared_ptr<TraceOptions>& options) {
  AddDuration(
      command, "--for", [options](uint64_t ns) { options->for_ns = ns; },
      "End after so long (default: at Ctrl-C)");
  command
      ->add_option_function<double>(
          "--seconds",
          [options](double seconds) {
            options->for_ns = static_cast<uint64_t>(seconds * static_cast<double>(kNsPerSecond));
          },
          "The same, in seconds")
      ->check(CLI::Range(0.001, 1e9))
      ->excludes(command->get_option("--for"));
}

constexpr const char* kExit =
    "Exit status: 0, also after Ctrl-C or when nobody reads on; 1 if there is no daemon, log, file "
    "or\ntask, or it could not be written; 2 if the command line was not understood.";

}  // namespace

void AddTrace(CLI::App* app, Invocation* invocation) {
  CLI::App* trace = app->add_subcommand("trace", "Job records: keep, list, draw, follow them");
  trace->require_subcommand(1);
  trace->footer(
      "A record says of one job when its timer was due, when its thread was woken and ran, when "
      "it\n"
      "launched, was granted, issued and complete, and per stage where it ran. They come from the "
      "job\nlog of sgprsd (--job-log DIR), from now on or from what is still there.\n\n" +
      std::string(kExit));

  auto record = std::make_shared<TraceOptions>();
  record->output = kDefaultFile;
  CLI::App* command = AddVerb(trace, "record", "Copy records, from now on, into a file", record,
                              invocation, Record);
  command->add_option("-o,--output", record->output, "File to write")
      ->type_name("FILE")
      ->capture_default_str();
  AddSeconds(command, record);
  command->footer(
      "The file is a job log of its own, of the same version: `trace show`, `trace export` and\n"
      "--log of `why` and `jitter` read it. It is whole at any time, also after a SIGKILL.\n\n" +
      std::string(kExit));

  auto show = std::make_shared<TraceOptions>();
  command = AddVerb(trace, "show", "List records, a line a job", show, invocation, Show);
  AddInput(command, show.get());
  AddJson(command, &show->json);
  command->add_flag("--csv", show->csv, "Print CSV")->excludes(command->get_option("--json"));
  command->footer(
      "A line: release by the clock, task, job, how it ended, and the parts of its response time\n"
      "(`sgprs why --help`). Moments in JSON and CSV are ns of CLOCK_MONOTONIC.\n\n" +
      std::string(kExit));

  auto drawn = std::make_shared<TraceOptions>();
  command =
      AddVerb(trace, "export", "Write a picture for Perfetto, or CSV", drawn, invocation, Export);
  AddInput(command, drawn.get());
  command->add_option("-o,--output", drawn->output, "File to write (default: standard output)")
      ->type_name("FILE");
  command->add_flag("--csv", drawn->csv, "CSV instead of Perfetto's JSON");
  command->footer(
      "Open the JSON at https://ui.perfetto.dev or chrome://tracing: a track per task, partition\n"
      "and CPU, and an arrow from each release through its stages to its completion.\n\n" +
      std::string(kExit));

  auto live = std::make_shared<TraceOptions>();
  command =
      AddVerb(trace, "live", "Follow records as they come, a line a job", live, invocation, Live);
  AddJson(command, &live->json);
  command->add_flag("--csv", live->csv, "Print CSV")->excludes(command->get_option("--json"));
  AddSeconds(command, live);
  command->footer(std::string("With --json each line is an object with its \"version\".\n\n") +
                  kExit);
}

}  // namespace sgprs::cli
