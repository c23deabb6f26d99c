// SPDX-License-Identifier: Apache-2.0
// One sgprsd in a directory of its own. Everything that was started is ended by the destructor.
#ifndef SGPRS_TESTS_SIM_SGPRSD_SGPRSD_PROCESS_H_
#define SGPRS_TESTS_SIM_SGPRSD_SGPRSD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace sgprs::testing {

class SgprsdProcess {
 public:
  // Starts and waits for the line "ready", or for its end.
  explicit SgprsdProcess(const std::vector<std::string>& arguments = {});
  ~SgprsdProcess();
  SgprsdProcess(const SgprsdProcess&) = delete;
  SgprsdProcess& operator=(const SgprsdProcess&) = delete;

  void Start(const std::vector<std::string>& arguments);
  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/control.sock"; }
  // SIGTERM or `signal`, and its exit status; -signal if it was killed, -1000 if it hangs.
  int Stop(int signal = 15);
  // Exit status of a process that ends by itself.
  int WaitForEnd();
  std::string stdout_text() const;
  std::string stderr_text() const;
  // Entries of /proc/PID/fd.
  size_t OpenDescriptors() const;
  // Voluntary context switches so far.
  uint64_t Wakeups() const;

 private:
  std::string directory_;
  pid_t pid_ = -1;
  bool ready_ = false;
};

}  // namespace sgprs::testing

#endif  // SGPRS_TESTS_SIM_SGPRSD_SGPRSD_PROCESS_H_
