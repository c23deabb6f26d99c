// SPDX-License-Identifier: Apache-2.0
// `sgprs sim`: the scheduler core in virtual time.
#include <fmt/format.h>

#include <memory>

#include "runtime/base/duration.h"
#include "runtime/model/networks.h"
#include "runtime/policy/policy.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/run_environment.h"
#include "tools/sgprs/sim_calibration.h"
#include "tools/sgprs/sim_options.h"
#include "tools/sgprs/sim_paper.h"
#include "tools/sgprs/sim_replay.h"
#include "tools/sgprs/sim_report.h"
#include "tools/sgprs/sim_sweep.h"
#include "tools/sgprs/suggestion.h"

namespace sgprs::cli {
namespace {

using OptionsPtr = std::shared_ptr<SimOptions>;

constexpr const char* kFooter =
    "No GPU, daemon or process takes part: tasks, host and device are models (runtime/model), the\n"
    "scheduler and the policies are sgprsd's own, so every rate is a prediction. A second of "
    "thirty\n"
    "tasks takes some milliseconds. The same line gives the same bytes.\n\n"
    "What is shown: FPS is frames completed, late ones included, per second and over all tasks;\n"
    "ON-TIME is frames completed by their deadline; MISS% is the part of the frames due that were\n"
    "late or skipped; SKIP% the part for which no job ran, since the one before overran or was "
    "held\n"
    "to its next release. PIVOT is the largest N up to which nothing is missed (less than half a\n"
    "percent). With several seeds the numbers are means; the columns OVER SEEDS show "
    "least..most.\n"
    "HIGH MISSED counts frames of the high class, over all seeds. With --per-task: MOVED, "
    "completed\n"
    "frames that ran for a later release than the one their program began them for.\n\n"
    "Examples:\n"
    "  sgprs sim                                      a first look, a second or so\n"
    "  sgprs sim --tasks 10..60/5 --policy sgprs --overload late,hold --svg curves.svg\n"
    "  sgprs sim --tasks 24 --policy sgprs,edf --per-task --gantt 1s..1.1s --svg pictures/\n"
    "  sgprs sim my.toml --seeds 5 --csv runs.csv\n"
    "  sgprs sim --keys > my.toml                     every key of a scenario, explained\n\n"
    "Exit status: 0; 1 if a file could not be read or written; 2 if the command line or the\n"
    "scenario was not understood.";

Result<SimReport> MakeReport(const SimOptions& options) {
  switch (options.mode) {
    case SimMode::kSweep:
      return SweepReport(options);
    case SimMode::kPaper:
      return PaperReport(options);
    case SimMode::kAblation:
      return AblationReport(options);
    case SimMode::kDaris:
      return DarisReport(options);
    case SimMode::kCalibration:
      return CalibrationReport(options);
    case SimMode::kReplay:
      return ReplayReport(options);
    case SimMode::kList:
      return ListReport(options);
    case SimMode::kKeys:
      return KeysReport(options);
  }
  return SweepReport(options);
}

int Sim(const SimOptions& options) {
  Result<SimReport> report = MakeReport(options);
  if (!report.ok()) {
    const bool usage = report.status().code() != ErrorCode::kUnavailable;
    return Fail("sim", report.status(), usage ? kExitUsage : kExitFailure);
  }
  const Status delivered = Deliver(options, *report);
  return delivered.ok() ? kExitOk : Fail("sim", delivered, kExitFailure);
}

// An option whose text `take` understands or refuses.
CLI::Option* AddText(CLI::App* command, const std::string& name, const std::string& type,
                     const std::string& help, std::function<Status(const std::string&)> take) {
  return command
      ->add_option_function<std::string>(
          name,
          [name = name.substr(0, name.find(',')), take = std::move(take)](const std::string& text) {
            const Status taken = take(text);
            if (!taken.ok()) throw CLI::ValidationError(name, taken.text());
          },
          help)
      ->type_name(type);
}

template <typename Value, typename Target>
Status Take(Result<Value> value, Target* target) {
  if (!value.ok()) return value.status();
  *target = std::move(value).value();
  return Status::Ok();
}

// Each word of "a,b" through `take`; empty ones are refused.
Status ForEachWord(const std::string& text, const std::function<Status(const std::string&)>& take) {
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    if (word.empty()) return Status(ErrorCode::kInvalid, "'" + text + "' has an empty entry");
    if (Status taken = take(word); !taken.ok()) return taken;
    at = comma + 1;
  }
  return Status::Ok();
}

template <typename Value>
Status AddOnce(const Value& value, const std::string& word, std::vector<Value>* values) {
  if (std::find(values->begin(), values->end(), value) != values->end()) {
    return Status(ErrorCode::kInvalid, "'" + word + "' stands twice");
  }
  values->push_back(value);
  return Status::Ok();
}

Status TakePolicies(const std::string& text, std::vector<std::string>* policies) {
  return ForEachWord(text, [&](const std::string& word) {
    std::vector<std::string> names;
    for (const policy::PolicyRow& row : policy::PolicyTable()) names.emplace_back(row.name);
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      return Status(ErrorCode::kInvalid,
                    fmt::format("no policy '{}', there are {}{}", word, policy::PolicyNames(),
                                DidYouMean(word, names)));
    }
    return AddOnce(word, word, policies);
  });
}

Status TakeOverload(const std::string& text, std::vector<model::Overload>* overload) {
  return ForEachWord(text, [&](const std::string& word) {
    const std::optional<model::Overload> mode = policy::FindOverload(word);
    if (!mode.has_value()) {
      return Status(ErrorCode::kInvalid,
                    fmt::format("'{}' is none of {}", word, policy::kOverloadNames));
    }
    return AddOnce(*mode, word, overload);
  });
}

Status TakeAdmission(const std::string& text, std::optional<model::AdmissionMode>* admission) {
  *admission = policy::FindAdmission(text);
  if (admission->has_value()) return Status::Ok();
  return Status(ErrorCode::kInvalid,
                fmt::format("'{}' is none of {}", text, policy::kAdmissionNames));
}

// Whole or decimal numbers from `least` to `most`, by commas.
template <typename Value>
Status TakeNumbers(const std::string& text, double least, double most, std::vector<Value>* values) {
  return ForEachWord(text, [&](const std::string& word) {
    size_t used = 0;
    double number = -1;
    try {
      number = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    const auto value = static_cast<Value>(number >= least && number <= most ? number : 0);
    if (used != word.size() || static_cast<double>(value) != number) {
      return Status(
          ErrorCode::kInvalid,
          fmt::format("'{}' is not {} from {} to {}", word,
                      std::is_integral_v<Value> ? "a whole number" : "a number", least, most));
    }
    return AddOnce(value, word, values);
  });
}

Status TakeDevice(const std::string& text, std::string* device) {
  std::string wrong = CheckDevice(text);
  if (!wrong.empty()) return Status(ErrorCode::kInvalid, std::move(wrong));
  *device = text;
  return Status::Ok();
}

Status TakeNetwork(const std::string& text, std::string* network) {
  if (model::FindNetwork(text) == nullptr) {
    return Status(ErrorCode::kInvalid,
                  "no network '" + text + "'; there are " + model::NetworkNames());
  }
  *network = text;
  return Status::Ok();
}

void AddWhatRuns(CLI::App* command, const OptionsPtr& options) {
  command->add_option("scenario", options->scenario,
                      "TOML file, or the name of one that ships (default: ResNet18 at 30 fps, N "
                      "times)");
  AddText(command, "--tasks,-n", "N|A..B|A..B/STEP",
          "How many tasks; several numbers by commas (default: 20,30,40,44,50,60)",
          [=](const std::string& text) { return Take(ParseTaskCounts(text), &options->tasks); });
  AddText(command, "--policy", "A,B", "Policies to compare (default: naive,sgprs)",
          [=](const std::string& text) { return TakePolicies(text, &options->policies); });
  AddText(command, "--option", "NAME=VALUE",
          "Option of the policy, as in staging=false; may be repeated (`sgprs sim --list`)",
          [=](const std::string& text) {
            Result<std::pair<std::string, std::string>> option = ParsePolicyOption(text);
            if (option.ok()) options->policy_options.push_back(*option);
            return option.status();
          })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
  AddText(command, "--overload", "late,hold",
          "With too much work: run all frames, late (as published), or hold some back so that the "
          "others are on time (default: late)",
          [=](const std::string& text) { return TakeOverload(text, &options->overload); });
  AddText(command, "--admission", "MODE",
          "Admission control at registration: off, warn or reject (default: off)",
          [=](const std::string& text) { return TakeAdmission(text, &options->admission); });
}

void AddWhere(CLI::App* command, const OptionsPtr& options) {
  AddText(command, "--device", "NAME", "Device to model (default: rtx2080ti)",
          [=](const std::string& text) { return TakeDevice(text, &options->device); });
  AddText(command, "--partitions", "N,M", "Partitions of the pool (default: 3)",
          [=](const std::string& text) {
            return TakeNumbers(text, 1, SGPRS_MAX_PARTITIONS, &options->partitions);
          });
  AddText(command, "--oversubscription", "X,Y",
          "Sum of the partitions' sizes, in devices (default: 1.5)", [=](const std::string& text) {
            return TakeNumbers(text, 0.1, 32, &options->oversubscription);
          });
  AddText(command, "--network", "NAME",
          "Without a scenario: what each task runs (default: "
          "resnet18)",
          [=](const std::string& text) { return TakeNetwork(text, &options->network); });
  AddText(
      command, "--fps", "F", "Without a scenario: frames per second of each task (default: 30)",
      [=](const std::string& text) { return Take(ParseFpsAsPeriodNs(text), &options->period_ns); });
}

void AddHowLong(CLI::App* command, const OptionsPtr& options) {
  AddText(
      command, "--seconds", "S", "Virtual time that counts, after a warm-up (default: 5)",
      [=](const std::string& text) { return Take(ParseSecondsNs(text), &options->horizon_ns); });
  command
      ->add_option("--seeds", options->seeds, "How many seeds each point is run with (default: 1)")
      ->type_name("K")
      ->check(CLI::Range(1, 1000).description("1..1000"));
  command->add_option("--seed", options->seed, "The first seed (default: 1)")->type_name("S");
  command
      ->add_option("--threads", options->threads,
                   "Runs at once (default: as many as there are cores); changes no result")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description("1..1024"));
}

void AddModes(CLI::App* command, const OptionsPtr& options) {
  CLI::Option_group* modes = command->add_option_group("Instead of a scenario");
  const auto flag = [&](const std::string& name, SimMode mode, const std::string& help) {
    modes->add_flag_callback(
        name, [=] { options->mode = mode; }, help);
  };
  flag(
      "--paper", SimMode::kPaper,
      "The SGPRS paper's experiment in its six pools, from rest and after a standstill, beside the "
      "published numbers");
  flag("--ablation", SimMode::kAblation,
       "What levels, staging, switching and over-subscription are worth");
  flag("--daris", SimMode::kDaris, "DARIS's task set and ablation, beside the published numbers");
  flag("--calibration", SimMode::kCalibration, "How well the device model fits what was measured");
  AddText(modes, "--replay", "TRACE",
          "Run what a trace of sgprsd holds under other policies (`sgprs demo` writes traces)",
          [=](const std::string& text) {
            options->mode = SimMode::kReplay;
            options->replay = text;
            return Status::Ok();
          });
  flag("--list", SimMode::kList, "Scenarios, networks, devices, policies and their options");
  flag("--keys", SimMode::kKeys, "A scenario file with every key, its default and its meaning");
  modes->require_option(0, 1);
}

void AddOutput(CLI::App* command, const OptionsPtr& options) {
  AddJson(command, &options->json);
  command
      ->add_option("--csv", options->csv, "Write a line a run as CSV; - is stdout, for the table")
      ->type_name("FILE");
  command
      ->add_option("--svg", options->svg,
                   "Draw: into one file that ends in .svg, or all pictures into a directory")
      ->type_name("FILE|DIR");
  AddText(command, "--gantt", "FROM..TO",
          "Draw what ran where in a window of the run, such as 1s..1.1s",
          [=](const std::string& text) { return Take(ParseSimWindow(text), &options->gantt); });
  command->add_flag("--per-task", options->per_task,
                    "A line a task too: frames, worst (m,k), response times");
  command->add_flag("--losses", options->losses,
                    "Where the device's time went, against the model's fluid bound");
}

}  // namespace

void AddSim(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("sim", "The scheduler in virtual time, against a model of the device");
  auto options = std::make_shared<SimOptions>();
  AddWhatRuns(command, options);
  AddWhere(command, options);
  AddHowLong(command, options);
  AddModes(command, options);
  AddOutput(command, options);
  command->footer(kFooter);
  command->callback([=] {
    if (options->mode != SimMode::kSweep && !options->scenario.empty()) {
      throw CLI::ValidationError("'" + options->scenario +
                                 "': a scenario does not go with --paper, --replay and the like");
    }
    invocation->action = [=] { return Sim(*options); };
  });
}

}  // namespace sgprs::cli
