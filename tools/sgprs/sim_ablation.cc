// SPDX-License-Identifier: Apache-2.0
// `sgprs sim --ablation` and `--daris`: the same experiment with one thing changed at a time.
#include <fmt/format.h>

#include <algorithm>

#include "tools/sgprs/sim_json.h"
#include "tools/sgprs/sim_paper.h"
#include "tools/sgprs/sim_plots.h"
#include "tools/sgprs/sim_sweep.h"
#include "tools/sgprs/sim_table.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

using Align = TextTable::Align;
using PolicyOptionList = std::vector<std::pair<std::string, std::string>>;

// --- sgprs: which part of the method is worth what ---

struct Variant {
  const char* group;  // variants of a group are drawn together
  const char* name;
  PolicyOptionList options;
  double oversubscription = 1.5;
  model::Overload overload = model::Overload::kLate;
};

const std::vector<Variant>& Variants() {
  static const std::vector<Variant> variants = {
      {"", "sgprs, all of it", {}},
      {"levels", "no levels", {{"high_stages", "0"}, {"medium_level", "false"}}},
      {"levels", "no level high", {{"high_stages", "0"}}},
      {"levels", "no level medium", {{"medium_level", "false"}}},
      {"levels", "order of arrival", {{"queue_order", "arrival"}}},
      {"staging and switching", "no staging", {{"staging", "false"}}},
      {"staging and switching", "no switching", {{"switching", "false"}}},
      {"over-subscription", "1.0x", {}, 1.0},
      {"over-subscription", "2.0x", {}, 2.0},
      {"over-subscription", "3.0x", {}, 3.0},
      {"variants", "date-code", {{"preset", "date-code"}}},
      {"variants", "assignment as the code", {{"assignment", "code"}}},
      {"variants", "hold", {}, 1.5, model::Overload::kHold},
  };
  return variants;
}

// The series of one variant.
struct Measured {
  const Variant* variant;
  SimSeries series;
};

Result<std::vector<model::Scenario>> VariantScenarios(const SimOptions& options,
                                                      const Variant& variant) {
  SimOptions part = options;
  part.scenario = "upstream";
  part.partitions = {3};
  part.oversubscription = {variant.oversubscription};
  part.overload = {variant.overload};
  part.policy_options = variant.options;
  if (part.tasks.empty()) {
    for (uint32_t n = 15; n <= 32; ++n) part.tasks.push_back(n);
  }
  if (!part.seeds.has_value()) part.seeds = 3;
  return PlanSweep(part);
}

std::string AblationText(const std::vector<Measured>& all) {
  TextTable table;
  table.AddColumn("WHAT", Align::kLeft);
  for (const char* title : {"PIVOT N", "PEAK FPS", "BEST ON-TIME", "FPS AT LAST N",
                            "ON-TIME AT LAST N", "MISS% AT LAST N", "SWITCHES/S", "PEAK CHANGE%"}) {
    table.AddColumn(title);
  }
  const double whole = Summarise(all.front().series).peak_completed_fps;
  std::string group;
  for (const Measured& one : all) {
    if (group != one.variant->group) {
      group = one.variant->group;
      table.AddRow({group + ":"});
    }
    const SeriesSummary sum = Summarise(one.series);
    const std::string indent = group.empty() ? "" : "  ";
    table.AddRow({indent + one.variant->name,
                  sum.pivot.has_value() ? std::to_string(*sum.pivot) : "none",
                  OneDigit(sum.peak_completed_fps), OneDigit(sum.best_on_time_fps),
                  OneDigit(sum.last_completed_fps), OneDigit(sum.last_on_time_fps),
                  OneDigit(sum.last_miss_percent),
                  fmt::format("{:.0f}", one.series.points.back().switches_per_second().mean),
                  fmt::format("{:+.1f}", 100 * (sum.peak_completed_fps / whole - 1))});
  }
  return table.Format();
}

std::vector<PlotRow> AblationRows(const std::vector<Measured>& all) {
  std::vector<PlotRow> rows;
  for (const Measured& one : all) {
    if (one.variant->group[0] == '\0') continue;
    if (rows.empty() || rows.back().title != one.variant->group) {
      rows.push_back({one.variant->group, {{"sgprs", &all.front().series}}});
    }
    rows.back().lines.push_back({one.variant->name, &one.series});
  }
  return rows;
}

// --- DARIS ---

constexpr uint32_t kBestContexts = 6;  // with as much over-subscription, in the published table

struct DarisNumbers {
  double jobs_per_second = 0;
  double high_miss_percent = 0;  // of the frames due
  double low_miss_percent = 0;   // of the completed: what is dropped is not late
  double low_dropped_percent = 0;
};

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

DarisNumbers NumbersOf(const SimPoint& point) {
  DarisNumbers numbers;
  uint64_t high_due = 0, high_on_time = 0, low_due = 0, low_done = 0, low_on_time = 0;
  for (const model::SimResult& run : point.runs) {
    for (const model::TaskResult& task : run.tasks) {
      const bool high = task.task_class == SGPRS_CLASS_HIGH;
      (high ? high_due : low_due) += task.expected;
      (high ? high_on_time : low_on_time) += task.on_time;
      if (!high) low_done += task.completed;
    }
  }
  numbers.jobs_per_second = point.completed_fps().mean;
  numbers.high_miss_percent = Percent(high_due - high_on_time, high_due);
  numbers.low_miss_percent = Percent(low_done - low_on_time, low_done);
  numbers.low_dropped_percent = Percent(low_due - low_done, low_due);
  return numbers;
}

Json DarisNumbersJson(const DarisNumbers& numbers) {
  return {{"jobs_per_second", numbers.jobs_per_second},
          {"high_miss_percent", numbers.high_miss_percent},
          {"low_miss_percent", numbers.low_miss_percent},
          {"low_dropped_percent", numbers.low_dropped_percent}};
}

// What can be turned off here, under its published name.
struct DarisVariant {
  const char* published;
  PolicyOptionList options;
  uint32_t window = 0;  // 0 = the scenario's
};

const std::vector<DarisVariant>& DarisVariants() {
  static const std::vector<DarisVariant> variants = {
      {"full", {}},
      {"no staging", {{"staging", "false"}}},
      {"no last-stage boost", {{"high_stages", "0"}}},
      {"no delayed boost", {{"medium_level", "false"}}},
      {"no fixed HP/LP levels", {{"class_levels", "false"}}},
      {"window 10", {}, 10},
  };
  return variants;
}

Result<SimPoint> RunDaris(const SimOptions& options, uint32_t contexts, double oversubscription,
                          const DarisVariant& variant) {
  SimOptions part = options;
  part.scenario = "daris";
  part.partitions = {contexts};
  part.oversubscription = {oversubscription};
  part.policy_options.insert(part.policy_options.end(), variant.options.begin(),
                             variant.options.end());
  Result<std::vector<model::Scenario>> scenarios = PlanSweep(part);
  if (!scenarios.ok()) return scenarios.status();
  if (variant.window != 0) {
    for (model::Scenario& scenario : *scenarios) scenario.window = variant.window;
  }
  Result<std::vector<SimSeries>> series = RunSeries(part, std::move(*scenarios));
  if (!series.ok()) return series.status();
  return std::move(series->front().points.front());
}

// Adds the table of contexts against over-subscription to `report`.
Status AddDarisCells(const SimOptions& options, SimReport* report) {
  TextTable table;
  table.AddColumn("CONTEXTS x 1");
  table.AddColumn("OS");
  for (const char* title :
       {"JOBS/S", "PUBLISHED", "OFF%", "HIGH MISS%", "LOW MISS%", "LOW DROPPED%"}) {
    table.AddColumn(title);
  }
  report->json["cells"] = Json::array();
  for (const model::DarisCell& cell : model::DarisCells()) {
    const Result<SimPoint> point =
        RunDaris(options, cell.contexts, cell.oversubscription, DarisVariants().front());
    if (!point.ok()) return point.status();
    const DarisNumbers numbers = NumbersOf(*point);
    table.AddRow(
        {std::to_string(cell.contexts), fmt::format("{:g}", cell.oversubscription),
         OneDigit(numbers.jobs_per_second), OneDigit(cell.jobs_per_second),
         fmt::format("{:+.1f}", 100 * (numbers.jobs_per_second / cell.jobs_per_second - 1)),
         fmt::format("{:.2f}", numbers.high_miss_percent),
         fmt::format("{:.2f}", numbers.low_miss_percent), OneDigit(numbers.low_dropped_percent)});
    report->json["cells"].push_back({{"contexts", cell.contexts},
                                     {"oversubscription", cell.oversubscription},
                                     {"ours", DarisNumbersJson(numbers)},
                                     {"published_jobs_per_second", cell.jobs_per_second}});
  }
  report->text += table.Format();
  return Status::Ok();
}

std::string Range(double least, double most) {
  return least == most ? fmt::format("{:g}", least) : fmt::format("{:g}..{:g}", least, most);
}

Status AddDarisAblation(const SimOptions& options, SimReport* report) {
  TextTable table;
  table.AddColumn(fmt::format("{0} x 1, OS {0}", kBestContexts), Align::kLeft);
  for (const char* title :
       {"JOBS/S", "PUBLISHED", "HIGH MISS%", "PUBLISHED", "LOW MISS%", "PUBLISHED"}) {
    table.AddColumn(title);
  }
  report->json["ablation"] = Json::array();
  for (const model::DarisAblation& published : model::DarisAblations()) {
    const auto variant =
        std::find_if(DarisVariants().begin(), DarisVariants().end(),
                     [&](const DarisVariant& one) { return one.published == published.what; });
    if (variant == DarisVariants().end()) continue;
    const Result<SimPoint> point = RunDaris(options, kBestContexts, kBestContexts, *variant);
    if (!point.ok()) return point.status();
    const DarisNumbers numbers = NumbersOf(*point);
    table.AddRow({std::string(published.what), OneDigit(numbers.jobs_per_second),
                  OneDigit(published.jobs_per_second),
                  fmt::format("{:.2f}", numbers.high_miss_percent),
                  Range(published.high_miss_percent_least, published.high_miss_percent_most),
                  fmt::format("{:.2f}", numbers.low_miss_percent),
                  Range(published.low_miss_percent_least, published.low_miss_percent_most)});
    report->json["ablation"].push_back(
        {{"what", published.what},
         {"ours", DarisNumbersJson(numbers)},
         {"published",
          {{"jobs_per_second", published.jobs_per_second},
           {"high_miss_percent",
            {published.high_miss_percent_least, published.high_miss_percent_most}},
           {"low_miss_percent",
            {published.low_miss_percent_least, published.low_miss_percent_most}}}}});
  }
  report->text += "\n" + table.Format();
  return Status::Ok();
}

Status RefuseForeign(const SimOptions& options, const char* mode) {
  std::string option = ForeignOption(options);
  if (option.empty() && !options.overload.empty()) option = "--overload";
  if (option.empty() && !options.policy_options.empty()) option = "--option";
  if (option.empty()) return Status::Ok();
  return Status(ErrorCode::kInvalid,
                fmt::format("{} would make it another experiment than {}", option, mode));
}

}  // namespace

Result<SimReport> AblationReport(const SimOptions& options) {
  if (Status own = RefuseForeign(options, "--ablation"); !own.ok()) return own;
  if (Status outputs = CheckOutputs(options, 1, true); !outputs.ok()) return outputs;
  std::vector<model::Scenario> scenarios;
  for (const Variant& variant : Variants()) {
    Result<std::vector<model::Scenario>> part = VariantScenarios(options, variant);
    if (!part.ok()) return part.status();
    std::move(part->begin(), part->end(), std::back_inserter(scenarios));
  }
  Result<std::vector<SimSeries>> series = RunSeries(options, std::move(scenarios));
  if (!series.ok()) return series.status();
  if (series->size() != Variants().size()) {
    return Status(ErrorCode::kInternal, "two variants of the ablation are the same runs");
  }
  std::vector<Measured> all;
  for (size_t i = 0; i < series->size(); ++i) all.push_back({&Variants()[i], (*series)[i]});

  const std::string title =
      "What each part of sgprs is worth: N x ResNet18 (12 blocks) at 30 fps, 3 partitions";
  const std::string conditions = ConditionsText(*series);
  SimReport report;
  report.text = title + "\n" + conditions + "\n\n" + AblationText(all);
  report.json = SweepJson("ablation", *series);
  for (size_t i = 0; i < all.size(); ++i) {
    report.json["series"][i]["what"] = all[i].variant->name;
    report.json["series"][i]["group"] = all[i].variant->group;
  }
  report.csv = SweepCsv(*series);
  if (!options.svg.empty()) {
    report.pictures.push_back(
        {"ablation", DrawCurves(RowsFigure(title, conditions, AblationRows(all), false))});
  }
  return report;
}

Result<SimReport> DarisReport(const SimOptions& options) {
  if (Status own = RefuseForeign(options, "--daris"); !own.ok()) return own;
  if (!options.tasks.empty()) {
    return Status(ErrorCode::kInvalid, "--tasks would make it another experiment than --daris");
  }
  if (Status outputs = CheckOutputs(options, 0, false); !outputs.ok()) return outputs;
  SimReport report;
  report.text =
      "DARIS: 16 high and 32 low ResNet18 (8 blocks) at 30 fps, contexts of one stage at once.\n"
      "Published: best run of up to 13. LOW MISS% is of the completed, dropped ones aside.\n\n";
  report.json = {{"version", kJsonVersion}, {"kind", "daris"}};
  if (Status cells = AddDarisCells(options, &report); !cells.ok()) return cells;
  if (Status ablation = AddDarisAblation(options, &report); !ablation.ok()) return ablation;
  report.text += "\nNot run: static WCET (costs here are always learnt).\n";
  return report;
}

}  // namespace sgprs::cli
