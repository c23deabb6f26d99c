// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_calibration.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/model/calibration.h"
#include "runtime/model/networks.h"
#include "runtime/policy/policy.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

using Align = TextTable::Align;
using model::CalibrationRow;

struct Part {
  const char* name;
  const char* title;
  const char* unit;
  std::vector<CalibrationRow> rows;
};

struct Fit {
  size_t rows = 0;
  double rms = 0;
  double worst = 0;  // with its sign
  std::string worst_what;
};

Fit FitOf(const std::vector<CalibrationRow>& rows) {
  Fit fit;
  for (const CalibrationRow& row : rows) {
    if (!row.fitted) continue;
    ++fit.rows;
    fit.rms += row.Error() * row.Error();
    if (std::abs(row.Error()) <= std::abs(fit.worst)) continue;
    fit.worst = row.Error();
    fit.worst_what = row.what;
  }
  if (fit.rows > 0) fit.rms = std::sqrt(fit.rms / static_cast<double>(fit.rows));
  return fit;
}

std::string PartText(const Part& part) {
  TextTable table;
  table.AddColumn(part.title, Align::kLeft);
  table.AddColumn(fmt::format("MEASURED {}", part.unit));
  table.AddColumn("MODEL");
  table.AddColumn("ERROR%");
  table.AddColumn("", Align::kLeft);
  for (const CalibrationRow& row : part.rows) {
    table.AddRow({row.what, fmt::format("{:.4g}", row.measured),
                  fmt::format("{:.4g}", row.modelled), fmt::format("{:+.1f}", 100 * row.Error()),
                  row.fitted ? "" : "not fitted"});
  }
  const Fit fit = FitOf(part.rows);
  std::string text = table.Format();
  if (fit.rows > 0) {
    text += fmt::format("rms error {:.1f} % over {} rows, worst {:+.1f} % ({})\n", 100 * fit.rms,
                        fit.rows, 100 * fit.worst, fit.worst_what);
  }
  return text;
}

Json PartJson(const Part& part) {
  Json rows = Json::array();
  for (const CalibrationRow& row : part.rows) {
    rows.push_back({{"what", row.what},
                    {"measured", row.measured},
                    {"modelled", row.modelled},
                    {"error", row.Error()},
                    {"fitted", row.fitted}});
  }
  const Fit fit = FitOf(part.rows);
  return {{"name", part.name},
          {"unit", part.unit},
          {"rms_error", fit.rms},
          {"worst_error", fit.worst},
          {"rows", std::move(rows)}};
}

Json ParametersJson(const model::CostParameters& cost) {
  return {{"latency_ns", cost.latency_ns},
          {"compute_efficiency", cost.compute_efficiency},
          {"sm_bytes_per_ns", cost.sm_bytes_per_ns},
          {"dram_efficiency", cost.dram_efficiency},
          {"l2_bandwidth_ratio", cost.l2_bandwidth_ratio},
          {"saturating_threads", cost.saturating_threads},
          {"block_ns", cost.block_ns},
          {"contention", cost.contention},
          {"dispatch_part", cost.dispatch_part},
          {"dispatch_contention", cost.dispatch_contention}};
}

// Two columns under a title.
std::string Listing(const std::string& title,
                    const std::vector<std::pair<std::string, std::string>>& rows) {
  TextTable table;
  table.AddColumn(title, Align::kLeft);
  table.AddColumn("", Align::kLeft);
  for (const auto& [name, help] : rows) table.AddRow({"  " + name, help});
  return table.Format() + "\n";
}

Json ListingJson(const std::vector<std::pair<std::string, std::string>>& rows) {
  Json json = Json::array();
  for (const auto& [name, help] : rows) json.push_back({{"name", name}, {"help", help}});
  return json;
}

}  // namespace

Result<SimReport> CalibrationReport(const SimOptions& options) {
  if (Status outputs = CheckOutputs(options, 0, false); !outputs.ok()) return outputs;
  const model::DeviceDescription* device = model::FindDevice(model::kDefaultDevice);
  if (!options.device.empty() && options.device != device->name) {
    return Status(
        ErrorCode::kInvalid,
        fmt::format("{} is not calibrated: only {} was measured (runtime/model/README.md)",
                    options.device, device->name));
  }
  const std::vector<Part> parts = {
      {"alone", "ONE OPERATION OR NETWORK ALONE", "us", model::CalibrateAlone(*device)},
      {"occupied", "THE NETWORK BESIDE FOUR OTHERS, TIME OVER ALONE", "ratio",
       model::CalibrateOccupied(*device)},
      {"concurrency", "NETWORKS THAT LOOP", "per second", model::CalibrateConcurrency(*device)}};
  SimReport report;
  report.text = fmt::format(
      "Device model {} against the measurements it is fitted to (source and method:\n"
      "runtime/model/README.md). No curve of a policy was used.\n",
      device->name);
  const Json parameters = ParametersJson(device->cost);
  report.json = {{"version", kJsonVersion},
                 {"kind", "calibration"},
                 {"device", device->name},
                 {"parameters", parameters},
                 {"parts", Json::array()}};
  for (const Part& part : parts) {
    report.text += "\n" + PartText(part);
    report.json["parts"].push_back(PartJson(part));
  }
  report.text += "\nParameters:";
  for (const auto& item : parameters.items()) {
    report.text += fmt::format(" {} {:g}", item.key(), item.value().get<double>());
  }
  report.text += "\n";
  return report;
}

Result<SimReport> KeysReport(const SimOptions& options) {
  if (Status outputs = CheckOutputs(options, 0, false); !outputs.ok()) return outputs;
  SimReport report;
  report.text = model::ScenarioHelp();
  report.json = {{"version", kJsonVersion}, {"kind", "keys"}, {"text", report.text}};
  return report;
}

Result<SimReport> ListReport(const SimOptions& options) {
  if (Status outputs = CheckOutputs(options, 0, false); !outputs.ok()) return outputs;
  using Rows = std::vector<std::pair<std::string, std::string>>;
  Rows scenarios;
  for (const model::ShippedScenario& shipped : model::ShippedScenarios()) {
    const Result<model::ScenarioFile> file = model::ParseScenario(shipped.text, shipped.name);
    if (!file.ok()) return file.status();
    scenarios.emplace_back(shipped.name, file->scenario.description);
  }
  Rows networks;
  for (const model::NetworkRow& row : model::NetworkTable())
    networks.emplace_back(row.name, row.help);
  Rows devices;
  for (const model::DeviceDescription& device : model::AllDevices()) {
    devices.emplace_back(device.name,
                         fmt::format("{}, {} SMs", device.display_name, device.sm_count));
  }
  Rows policies;
  for (const policy::PolicyRow& row : policy::PolicyTable())
    policies.emplace_back(row.name, row.help);
  Rows policy_options;
  for (const policy::PolicyOptionRow& row : policy::PolicyOptionTable()) {
    policy_options.emplace_back(row.name, fmt::format("{}: {} (default: {})", row.values, row.help,
                                                      row.show(policy::PolicyOptions())));
  }
  SimReport report;
  report.json = {{"version", kJsonVersion}, {"kind", "list"}};
  const std::pair<const char*, const Rows*> all[] = {{"scenarios", &scenarios},
                                                     {"networks", &networks},
                                                     {"devices", &devices},
                                                     {"policies", &policies},
                                                     {"policy_options", &policy_options}};
  for (const auto& [name, rows] : all) {
    std::string title(name);
    for (char& c : title) c = c == '_' ? ' ' : static_cast<char>(std::toupper(c));
    report.text += Listing(title, *rows);
    report.json[name] = ListingJson(*rows);
  }
  report.text.pop_back();
  return report;
}

}  // namespace sgprs::cli
