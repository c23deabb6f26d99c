// SPDX-License-Identifier: Apache-2.0
// --log FILE: one JSON line per finished command.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_COMMAND_LOG_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_COMMAND_LOG_H_

#include <cstdio>
#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "tools/simgpu/device/engine.h"

namespace sgprs::simgpu {

class CommandLog {
 public:
  // Error: the file can not be written.
  static Result<CommandLog> Open(const std::string& path);

  // {"pid","client","seq","stream","kind","name_hash","start_ns","end_ns","sms","error"}; stream 0
  // is the queue of commands that belong to none.
  void Write(const FinishedCommand& finished);
  void Flush() { std::fflush(file_.get()); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit CommandLog(std::FILE* file) : file_(file) {}
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_COMMAND_LOG_H_
