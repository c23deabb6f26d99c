// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgprs::cli {
namespace {

using model::SimResult;

Json LossJson(const model::LossTable& loss) {
  return {{"fluid_bound_fps", loss.fluid_bound_fps}, {"bound_by", loss.bound_by},
          {"offered_fps", loss.offered_fps},         {"completed_fps", loss.completed_fps},
          {"not_offered_fps", loss.not_offered_fps}, {"contention_fps", loss.contention_fps},
          {"switch_fps", loss.switch_fps},           {"idle_fps", loss.idle_fps}};
}

Json TaskJson(const model::TaskResult& task) {
  return {{"name", task.name},
          {"class", TaskClassWord(task.task_class)},
          {"period_ns", task.period_ns},
          {"deadline_ns", task.deadline_ns},
          {"admitted", task.admitted},
          {"utilisation", task.utilisation},
          {"expected", task.expected},
          {"released", task.released},
          {"completed", task.completed},
          {"on_time", task.on_time},
          {"held", task.held},
          {"skipped", task.skipped},
          {"mk", {{"k", task.mk_k}, {"worst_m", task.mk_worst}}},
          {"longest_gap_ns", task.longest_gap_ns},
          {"response_ns",
           {{"p50", task.response.p50_ns},
            {"p99", task.response.p99_ns},
            {"max", task.response.max_ns}}},
          {"switches", task.switches},
          {"stages_late", task.stages_late}};
}

Json PointJson(const SimPoint& point) {
  Json runs = Json::array();
  for (const SimResult& run : point.runs) runs.push_back(RunJson(run));
  return {{"n", point.n},
          {"completed_fps", SpreadJson(point.completed_fps())},
          {"on_time_fps", SpreadJson(point.on_time_fps())},
          {"miss_percent", SpreadJson(point.miss_percent())},
          {"skipped_percent", SpreadJson(point.skipped_percent())},
          {"runs", std::move(runs)}};
}

const SimResult* FirstRun(const std::vector<SimSeries>& series) {
  if (series.empty() || series.front().points.empty()) return nullptr;
  return &series.front().points.front().runs.front();
}

std::string OptionsText(const std::vector<std::pair<std::string, std::string>>& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, value);
  }
  return text;
}

}  // namespace

Json SpreadJson(const Spread& spread) {
  return {{"mean", spread.mean}, {"least", spread.least}, {"most", spread.most}};
}

Json KeyJson(const SeriesKey& key) {
  Json options = Json::object();
  for (const auto& [name, value] : key.policy_options) options[name] = value;
  return {{"policy", key.policy},
          {"policy_options", std::move(options)},
          {"overload", key.overload},
          {"admission", key.admission},
          {"partitions", key.partitions()},
          {"sm_counts", key.sm_counts},
          {"oversubscription", key.oversubscription},
          {"standstill_ns", key.standstill_ns}};
}

Json SummaryJson(const SeriesSummary& summary) {
  Json json = {{"pivot_n", nullptr},
               {"peak_completed_fps", summary.peak_completed_fps},
               {"peak_n", summary.peak_n},
               {"best_on_time_fps", summary.best_on_time_fps},
               {"best_on_time_n", summary.best_on_time_n},
               {"last_n", summary.last_n},
               {"last_completed_fps", summary.last_completed_fps},
               {"last_on_time_fps", summary.last_on_time_fps},
               {"last_miss_percent", summary.last_miss_percent}};
  if (summary.pivot.has_value()) json["pivot_n"] = *summary.pivot;
  return json;
}

Json RunJson(const SimResult& run) {
  Json tasks = Json::array();
  for (const model::TaskResult& task : run.tasks) tasks.push_back(TaskJson(task));
  Json partitions = Json::array();
  for (const model::PartitionResult& partition : run.partitions) {
    partitions.push_back({{"sm_count", partition.sm_count},
                          {"capacity", partition.capacity},
                          {"busy", partition.busy},
                          {"stages", partition.stages},
                          {"switches_in", partition.switches_in}});
  }
  return {{"seed", run.seed},
          {"expected", run.expected},
          {"released", run.released},
          {"completed", run.completed},
          {"on_time", run.on_time},
          {"held", run.held},
          {"completed_fps", run.completed_fps},
          {"on_time_fps", run.on_time_fps},
          {"miss_percent", run.miss_percent},
          {"switches", run.switches},
          {"utilisation", run.utilisation},
          {"high_utilisation", run.high_utilisation},
          {"high_misses", run.high_misses},
          {"loss", LossJson(run.loss)},
          {"warnings", run.warnings},
          {"partitions", std::move(partitions)},
          {"tasks", std::move(tasks)}};
}

Json SweepJson(std::string_view kind, const std::vector<SimSeries>& series) {
  Json json = {{"version", kJsonVersion}, {"kind", kind}};
  if (const SimResult* first = FirstRun(series); first != nullptr) {
    json["scenario"] = first->scenario;
    json["device"] = first->device;
    json["device_sm_count"] = first->device_sm_count;
    json["warmup_ns"] = first->warmup_ns;
    json["horizon_ns"] = first->horizon_ns;
  }
  json["series"] = Json::array();
  for (const SimSeries& one : series) {
    Json entry = {{"name", SeriesName(one.key)}};
    entry.update(KeyJson(one.key));
    entry["summary"] = SummaryJson(Summarise(one));
    entry["points"] = Json::array();
    for (const SimPoint& point : one.points) entry["points"].push_back(PointJson(point));
    json["series"].push_back(std::move(entry));
  }
  return json;
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string SweepCsv(const std::vector<SimSeries>& series) {
  std::string out =
      "scenario,device,policy,policy_options,overload,admission,partitions,sm_counts,"
      "oversubscription,n,seed,warmup_ns,horizon_ns,expected,released,completed,on_time,held,"
      "completed_fps,on_time_fps,miss_percent,switches,utilisation,high_utilisation,high_misses,"
      "fluid_bound_fps,bound_by,not_offered_fps,contention_fps,switch_fps,idle_fps,"
      "standstill_ns\n";
  for (const SimSeries& one : series) {
    for (const SimPoint& point : one.points) {
      for (const SimResult& run : point.runs) {
        out +=
            fmt::format("{},{},{},{},{},{},{},{},{:.4f},{},{},{},{},{},{},{},{},{},",
                        CsvField(run.scenario), CsvField(run.device), CsvField(run.policy),
                        CsvField(OptionsText(run.policy_options)), run.overload, run.admission,
                        one.key.partitions(), fmt::format("{}", fmt::join(one.key.sm_counts, "+")),
                        one.key.oversubscription, point.n, run.seed, run.warmup_ns, run.horizon_ns,
                        run.expected, run.released, run.completed, run.on_time, run.held);
        out += fmt::format(
            "{:.4f},{:.4f},{:.4f},{},{:.6f},{:.6f},{},{:.4f},{},{:.4f},{:.4f},{:.4f},{:.4f},{}\n",
            run.completed_fps, run.on_time_fps, run.miss_percent, run.switches, run.utilisation,
            run.high_utilisation, run.high_misses, run.loss.fluid_bound_fps, run.loss.bound_by,
            run.loss.not_offered_fps, run.loss.contention_fps, run.loss.switch_fps,
            run.loss.idle_fps, run.standstill_ns);
      }
    }
  }
  return out;
}

}  // namespace sgprs::cli
