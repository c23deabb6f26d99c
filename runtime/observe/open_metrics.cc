// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/open_metrics.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace sgprs::observe {
namespace {

// Exact for every u64 of nanoseconds; OpenMetrics counts time in seconds.
struct Seconds {
  explicit Seconds(uint64_t ns_value) : ns(ns_value) {}
  uint64_t ns;
};

std::string Number(uint64_t value) { return std::to_string(value); }

std::string Number(Seconds seconds) {
  char text[40];
  std::snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, seconds.ns / 1'000'000'000,
                seconds.ns % 1'000'000'000);
  return text;
}

// Label values: backslash, quote and newline are escaped; other control bytes become '?'.
std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string LabelsOf(const SgprsStateHeader&) { return ""; }
std::string LabelsOf(const ProbeMetrics&) { return ""; }
std::string LabelsOf(const SgprsPartitionRow& row) {
  return "partition=\"" + std::to_string(row.index) + "\"";
}
std::string LabelsOf(const SgprsTaskRow& row) {
  const std::string_view name(row.name, strnlen(row.name, sizeof(row.name)));
  return "task=\"" + Escape(name) + "\",client=\"" + std::to_string(row.client_id) + "\"";
}

class Text {
 public:
  // `type`: counter, gauge, histogram. A unit must be the name's last word.
  void Family(const std::string& name, const char* type, const char* unit, const char* help) {
    out_ += "# TYPE sgprs_" + name + " " + type + "\n";
    if (*unit != '\0') out_ += "# UNIT sgprs_" + name + " " + unit + "\n";
    out_ += "# HELP sgprs_" + name + " " + help + "\n";
  }
  void Sample(const std::string& name, const std::string& labels, const std::string& value) {
    out_ += "sgprs_" + name;
    if (!labels.empty()) out_ += "{" + labels + "}";
    out_ += " " + value + "\n";
  }
  std::string Take() { return out_ + "# EOF\n"; }

 private:
  std::string out_;
};

constexpr const char* kGAUGE = "gauge";
constexpr const char* kCOUNTER = "counter";

// One family: a sample per row.
template <typename Rows, typename Value>
void Metric(Text* text, const char* type, const char* name, const char* unit, const char* help,
            const Rows& rows, Value value) {
  text->Family(name, type, unit, help);
  const std::string sample = std::string(name) + (type == kCOUNTER ? "_total" : "");
  for (const auto& row : rows) text->Sample(sample, LabelsOf(row), Number(value(row)));
}

void Counters(Text* text, const std::vector<SgprsTaskRow>& tasks) {
#define SGPRS_COUNTER(name, unit, help)                                         \
  if constexpr (std::string_view(unit) == "ns") {                               \
    std::string seconds = #name;                                                \
    seconds.replace(seconds.size() - 2, 2, "seconds");                          \
    Metric(text, kCOUNTER, ("task_" + seconds).c_str(), "seconds", help, tasks, \
           [](const SgprsTaskRow& row) { return Seconds(row.counters.name); }); \
  } else {                                                                      \
    Metric(text, kCOUNTER, "task_" #name, "", help, tasks,                      \
           [](const SgprsTaskRow& row) { return row.counters.name; });          \
  }
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
}

void Histogram(Text* text, const std::string& name, const std::string& labels,
               const PhaseHistogram& histogram) {
  uint64_t below = 0;
  for (uint32_t i = 0; i < PhaseHistogram::kBuckets; ++i) {
    below += histogram.bucket(i);
    const bool last = i + 1 == PhaseHistogram::kBuckets;
    const std::string le = last ? "+Inf" : Number(Seconds(PhaseHistogram::UpperNs(i)));
    text->Sample(name + "_bucket", labels + ",le=\"" + le + "\"", Number(below));
  }
  text->Sample(name + "_sum", labels, Number(Seconds(histogram.sum_ns())));
  text->Sample(name + "_count", labels, Number(histogram.count()));
}

void Phases(Text* text, std::span<const TaskMetrics> tasks) {
  for (const JobPhaseInfo& phase : kJobPhases) {
    const std::string name = std::string("task_phase_") + phase.name + "_seconds";
    text->Family(name, "histogram", "seconds", phase.help);
    for (const TaskMetrics& task : tasks) {
      if (task.phases == nullptr || task.row.state == SGPRS_TASK_NONE) continue;
      Histogram(text, name, LabelsOf(task.row), task.phases->of(phase.phase));
    }
  }
}

}  // namespace

std::string OpenMetricsText(const SgprsStateHeader& header,
                            std::span<const SgprsPartitionRow> partitions,
                            std::span<const TaskMetrics> tasks, const ProbeMetrics& probes) {
  std::vector<SgprsTaskRow> rows_TASK;
  for (const TaskMetrics& task : tasks) {
    if (task.row.state != SGPRS_TASK_NONE) rows_TASK.push_back(task.row);
  }
  const std::span<const SgprsStateHeader> rows_RUNTIME(&header, 1);
  const std::span<const ProbeMetrics> rows_PROBES(&probes, 1);
  const std::span<const SgprsPartitionRow> rows_PARTITION = partitions;
  Text text;
#define SGPRS_METRIC(scope, type, name, unit, help, value) \
  Metric(&text, k##type, #name, unit, help, rows_##scope, [](const auto& row) { return value; });
#include "runtime/observe/metrics.inc"
#undef SGPRS_METRIC
  Counters(&text, rows_TASK);
  Phases(&text, tasks);
  return text.Take();
}

std::string OpenMetricsHttp(const std::string& text) {
  return "HTTP/1.0 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; "
         "charset=utf-8\r\nContent-Length: " +
         std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n" + text;
}

}  // namespace sgprs::observe
