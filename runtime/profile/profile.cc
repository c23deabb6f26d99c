// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/profile.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/replace_file.h"
#include "runtime/profile/demangle.h"

namespace sgprs::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "sgprs profile";
constexpr size_t kMostLaunches = 1u << 20;

Status Bad(std::string text) { return Status(ErrorCode::kInvalid, std::move(text)); }

std::string Hex(uint64_t value) { return fmt::format("{:016x}", value); }

// As JSON text; what is no UTF-8 is replaced.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json LaunchJson(const Launch& launch) {
  Json json = {{"identity", Hex(launch.identity)}, {"kind", launch.kind}};
  json["stream"] = launch.stream;
  if (launch.kernel != 0) json["kernel"] = launch.kernel - 1;
  if (launch.kind == "kernel") {
    json["grid"] = launch.grid;
    json["block"] = launch.block;
    json["shared_bytes"] = launch.shared_bytes;
  }
  if (launch.bytes != 0) json["bytes"] = launch.bytes;
  return json;
}

Json StageJson(const sched::TaskProfile::Stage& stage) {
  Json costs = Json::array();
  for (const auto& cost : stage.costs) costs.push_back({{"sms", cost.sm_count}, {"ns", cost.ns}});
  return {{"end", stage.end}, {"costs", std::move(costs)}};
}

// Reads keys of one object; remembers the first that is wrong.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {
    if (!json.is_object()) wrong_ = "is no JSON object";
  }
  uint64_t Number(const char* key, uint64_t most, bool needed = true) {
    const Json* value = Find(key, needed);
    if (value == nullptr) return 0;
    if (value->is_number_unsigned() && value->get<uint64_t>() <= most)
      return value->get<uint64_t>();
    return Wrong(fmt::format("\"{}\" must be a whole number up to {}", key, most));
  }
  std::string Text(const char* key) {
    const Json* value = Find(key, true);
    if (value == nullptr) return "";
    if (value->is_string()) return value->get<std::string>();
    Wrong(fmt::format("\"{}\" must be a string", key));
    return "";
  }
  uint64_t HexNumber(const char* key) {
    const std::string text = Text(key);
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (text.size() == 16 && error == std::errc() && end == text.data() + 16) return number;
    return Wrong(fmt::format("\"{}\" must be 16 hexadecimal digits", key));
  }
  const Json& List(const char* key, size_t most) {
    static const Json kEmpty = Json::array();
    const Json* value = Find(key, true);
    if (value == nullptr) return kEmpty;
    if (value->is_array() && value->size() <= most) return *value;
    Wrong(fmt::format("\"{}\" must be a list of at most {}", key, most));
    return kEmpty;
  }
  std::array<uint32_t, 3> Triple(const char* key) {
    std::array<uint32_t, 3> out = {};
    const Json* value = Find(key, false);
    if (value == nullptr) return out;
    bool good = value->is_array() && value->size() == 3;
    for (size_t i = 0; good && i < 3; ++i) {
      good = value->at(i).is_number_unsigned() && value->at(i).get<uint64_t>() <= UINT32_MAX;
      if (good) out[i] = value->at(i).get<uint32_t>();
    }
    if (!good) Wrong(fmt::format("\"{}\" must be three whole numbers", key));
    return out;
  }
  bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }
  uint64_t Wrong(std::string text) {
    if (wrong_.empty()) wrong_ = std::move(text);
    return 0;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Json* Find(const char* key, bool needed) {
    if (Has(key)) return &json_.at(key);
    if (needed) Wrong(fmt::format("\"{}\" is missing", key));
    return nullptr;
  }
  const Json& json_;
  std::string wrong_;
};

std::string ParseLaunch(const Json& json, size_t kernels, Launch* launch) {
  Reader in(json);
  launch->identity = in.HexNumber("identity");
  launch->kind = in.Text("kind");
  launch->stream = static_cast<uint32_t>(in.Number("stream", UINT32_MAX));
  if (in.Has("kernel")) {
    if (kernels == 0) in.Wrong("\"kernel\" names one of none");
    launch->kernel = static_cast<uint32_t>(in.Number("kernel", kernels - 1)) + 1;
  }
  launch->grid = in.Triple("grid");
  launch->block = in.Triple("block");
  launch->shared_bytes = static_cast<uint32_t>(in.Number("shared_bytes", UINT32_MAX, false));
  launch->bytes = in.Number("bytes", UINT64_MAX, false);
  return in.wrong();
}

std::string ParseStage(const Json& json, sched::TaskProfile::Stage* stage) {
  Reader in(json);
  stage->end = in.Number("end", kMostLaunches);
  for (const Json& row : in.List("costs", 1024)) {
    Reader cost(row);
    stage->costs.push_back({static_cast<uint32_t>(cost.Number("sms", 65536)),
                            cost.Number("ns", 3600ull * 1'000'000'000)});
    if (stage->costs.back().sm_count == 0) cost.Wrong("\"sms\" must be at least 1");
    if (!cost.wrong().empty()) return cost.wrong();
  }
  if (stage->costs.empty()) in.Wrong("\"costs\" is empty");
  return in.wrong();
}

std::string ParseLists(Reader* in, Profile* profile) {
  for (const Json& row : in->List("kernels", 65536)) {
    Reader kernel(row);
    profile->kernels.push_back(kernel.Text("symbol"));
    if (!kernel.wrong().empty()) return "kernel: " + kernel.wrong();
  }
  for (const Json& row : in->List("launches", kMostLaunches)) {
    const std::string wrong =
        ParseLaunch(row, profile->kernels.size(), &profile->launches.emplace_back());
    if (wrong.empty()) continue;
    return fmt::format("launch {}: {}", profile->launches.size() - 1, wrong);
  }
  uint64_t before = 0;
  for (const Json& row : in->List("stages", SGPRS_MAX_STAGES)) {
    const std::string wrong = ParseStage(row, &profile->stages.emplace_back());
    if (!wrong.empty()) return fmt::format("stage {}: {}", profile->stages.size() - 1, wrong);
    if (profile->stages.back().end <= before) return "the ends of stages must rise";
    before = profile->stages.back().end;
  }
  if (!in->wrong().empty()) return in->wrong();
  if (profile->stages.empty() || before != profile->launches.size()) {
    return fmt::format("the last stage ends at {} of {} launches", before,
                       profile->launches.size());
  }
  return "";
}

}  // namespace

uint64_t Profile::signature() const { return sched::SignatureOf(ForScheduler().launches); }

sched::TaskProfile Profile::ForScheduler() const {
  sched::TaskProfile out;
  out.launches.reserve(launches.size());
  for (const Launch& launch : launches) out.launches.push_back(launch.identity);
  out.stages = stages;
  return out;
}

std::string ToText(const Profile& profile) {
  const Json head = {{"version", kVersion},
                     {"kind", kKind},
                     {"signature", Hex(profile.signature())},
                     {"task", profile.task},
                     {"program", profile.program},
                     {"device", {{"name", profile.device}, {"sms", profile.sm_count}}},
                     {"period_ns", profile.period_ns},
                     {"period_seen_ns", profile.period_seen_ns},
                     {"jobs", profile.jobs}};
  std::string out = Dump(head);
  out.pop_back();  // the object goes on
  const auto list = [&out](const char* name, const auto& rows, const auto& json) {
    out += fmt::format(",\n\"{}\":[", name);
    const char* before = "\n";
    for (const auto& row : rows) {
      out += before + Dump(json(row));
      before = ",\n";
    }
    out += "]";
  };
  list("stages", profile.stages, StageJson);
  list("kernels", profile.kernels, [](const std::string& symbol) {
    return Json{{"name", Demangle(symbol)}, {"symbol", symbol}};
  });
  list("launches", profile.launches, LaunchJson);
  return out + "}\n";
}

Result<Profile> Parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Bad("is no JSON");
  Reader in(json);
  if (in.wrong().empty() && in.Text("kind") != kKind) return Bad("is no profile of sgprs");
  const uint64_t version = in.Number("version", UINT32_MAX);
  if (in.wrong().empty() && version != kVersion) {
    return Bad(
        fmt::format("is of version {}, this build reads version {}: make it again with "
                    "`sgprs profile`",
                    version, kVersion));
  }
  Profile profile;
  const uint64_t signature = in.HexNumber("signature");
  profile.task = in.Text("task");
  profile.program = in.Text("program");
  profile.period_ns = in.Number("period_ns", UINT64_MAX);
  profile.period_seen_ns = in.Number("period_seen_ns", UINT64_MAX);
  profile.jobs = in.Number("jobs", UINT64_MAX);
  if (!in.wrong().empty()) return Bad(in.wrong());
  if (!in.Has("device")) return Bad("\"device\" is missing");
  Reader device(json.at("device"));
  profile.device = device.Text("name");
  profile.sm_count = static_cast<uint32_t>(device.Number("sms", 65536));
  if (!device.wrong().empty()) return Bad("device: " + device.wrong());
  std::string wrong = ParseLists(&in, &profile);
  if (!wrong.empty()) return Bad(std::move(wrong));
  if (signature != profile.signature()) {
    return Bad(fmt::format("says signature {}, its launches have {}", Hex(signature),
                           Hex(profile.signature())));
  }
  return profile;
}

Result<Profile> ReadProfile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    return Status(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                  fmt::format("profile {}: {}", path, std::strerror(error)));
  }
  std::string text(kMostFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Status(ErrorCode::kUnavailable, "profile " + path + ": can not be read");
  if (text.size() > kMostFileBytes) return Bad("profile " + path + ": is larger than 64 MiB");
  Result<Profile> profile = Parse(text);
  if (!profile.ok()) return Bad("profile " + path + ": " + profile.status().text());
  return profile;
}

Status WriteProfile(const Profile& profile, const std::string& path) {
  const Status written = ReplaceFile(path, ToText(profile));
  if (written.ok()) return written;
  return Status(written.code(), fmt::format("profile {}: {}", path, written.text()));
}

std::string FileName(std::string_view task) {
  std::string name;
  for (const char c : task) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return (name.empty() ? "task" : name) + ".profile.json";
}

std::string CheckDevice(const Profile& profile, std::string_view device, uint32_t sm_count) {
  if (profile.device == device && profile.sm_count == sm_count) return "";
  return fmt::format("it is of another device: {} ({} SMs), not {} ({} SMs)", profile.device,
                     profile.sm_count, device, sm_count);
}

}  // namespace sgprs::profile
