// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tools/sgprs/command.h"

namespace sgprs::cli {

bool IsSvgFile(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot != std::string_view::npos && path.substr(dot) == ".svg";
}

Status CheckOutputs(const SimOptions& options, size_t pictures, bool has_csv) {
  const auto invalid = [](std::string text) {
    return Status(ErrorCode::kInvalid, std::move(text));
  };
  if (!options.csv.empty() && !has_csv) return invalid("--csv: there are no runs to list here");
  if (options.csv == "-" && options.json) return invalid("--csv - and --json both want stdout");
  if (options.svg.empty()) {
    if (options.gantt.has_value()) return invalid("--gantt draws a picture: say --svg where to");
    return Status::Ok();
  }
  if (pictures == 0) return invalid("--svg: there is no picture of this");
  if (IsSvgFile(options.svg) && pictures > 1) {
    return invalid(
        fmt::format("--svg {}: there are {} pictures, name a directory", options.svg, pictures));
  }
  return Status::Ok();
}

Status WriteFile(const std::string& path, std::string_view text) {
  const auto failed = [&] {
    return Status(ErrorCode::kUnavailable,
                  fmt::format("'{}' can not be written: {}", path, std::strerror(errno)));
  };
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error) {
    return Status(ErrorCode::kUnavailable,
                  fmt::format("'{}' can not be made: {}", directory.string(), error.message()));
  }
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return failed();
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!whole) errno = write_error;
  return whole && closed ? Status::Ok() : failed();
}

Status Deliver(const SimOptions& options, const SimReport& report) {
  const auto write = [](const std::string& path, std::string_view text) {
    Status written = WriteFile(path, text);
    if (written.ok()) Note("sim", "wrote " + path);
    return written;
  };
  if (!options.svg.empty()) {
    for (const Picture& picture : report.pictures) {
      const std::string path =
          IsSvgFile(options.svg)
              ? options.svg
              : (std::filesystem::path(options.svg) / (picture.name + ".svg")).string();
      if (Status written = write(path, picture.svg); !written.ok()) return written;
    }
  }
  if (!options.csv.empty() && options.csv != "-") {
    if (Status written = write(options.csv, report.csv); !written.ok()) return written;
  }
  const std::string out = options.json         ? JsonText(report.json)
                          : options.csv == "-" ? report.csv
                                               : report.text;
  return TryPrint(out);
}

}  // namespace sgprs::cli
