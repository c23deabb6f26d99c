// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/base/duration.h"
#include "runtime/base/environment.h"

namespace sgprs::cli {

CLI::Option* AddDuration(CLI::App* app, const std::string& name, std::function<void(uint64_t)> set,
                         const std::string& help) {
  return app
      ->add_option_function<std::string>(
          name,
          [name, set = std::move(set)](const std::string& text) {
            const Result<uint64_t> ns = ParseDurationNs(text);
            if (!ns.ok()) throw CLI::ValidationError(name, ns.status().text());
            if (*ns == 0) throw CLI::ValidationError(name, "'" + text + "' is no time at all");
            if (*ns > kLongestPeriodNs) {
              throw CLI::ValidationError(name, "'" + text + "' is too long: at most a day");
            }
            set(*ns);
          },
          help)
      ->type_name("TIME");
}

CLI::Option* AddSocket(CLI::App* app, std::string* socket) {
  return app
      ->add_option(
          "--socket", *socket,
          "Control socket of sgprsd (default: $SGPRS_SOCKET, else in the runtime directory)")
      ->type_name("PATH");
}

CLI::Option* AddJson(CLI::App* app, bool* json) {
  return app->add_flag("--json", *json, "Print JSON (\"version\": 1) instead of text");
}

std::string SocketOrDefault(const std::string& socket) {
  return socket.empty() ? env::ControlSocketPath() : socket;
}

int Fail(std::string_view command, const Status& status, int code) {
  fmt::print(stderr, "sgprs {}: {}\n", command, status.text());
  return code;
}

void Note(std::string_view command, std::string_view text) {
  fmt::print(stderr, "sgprs {}: {}\n", command, text);
}

Status TryPrint(std::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return Status::Ok();
  return Status(ErrorCode::kUnavailable, fmt::format("standard output: {}", std::strerror(errno)));
}

bool Print(std::string_view text) {
  const Status written = TryPrint(text);
  if (!written.ok()) fmt::print(stderr, "sgprs: {}\n", written.text());
  return written.ok();
}

}  // namespace sgprs::cli
