// SPDX-License-Identifier: Apache-2.0
// What the kernel probes cost, each figure beside the same without them, alternating in one run;
// how much the ring loses; how far kernel and process agree. JSON on stdout. README.md says what is
// what.
#include <linux/bpf.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "runtime/kernel/probes.h"
#include "runtime/kernel/wake_order.h"
#include "tests/bpf/sleeper.h"

namespace sgprs {
namespace {

using kernel::ProbeCounts;
using kernel::Probes;
using testing::Child;
using testing::Period;
using testing::RunPeriodic;
using testing::Shared;

constexpr int kRepeats = 5;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

uint64_t CpuNs(const rusage& usage) {
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * kNsPerSecond +
           static_cast<uint64_t>(t.tv_usec) * kNsPerUs;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

uint64_t OwnCpuNs() {
  timespec ts;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * kNsPerSecond + static_cast<uint64_t>(ts.tv_nsec);
}

// The kernel keeps the probes' run times while this descriptor is open.
UniqueFd KeepRunTimes() {
  bpf_attr attr = {};
  attr.enable_stats.type = BPF_STATS_RUN_TIME;
  return UniqueFd(static_cast<int>(syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr))));
}

struct Jobs {
  double cpu_ns = 0;     // of the periodic process, a job
  double probe_ns = 0;   // in the probes' programs, on every CPU, a second
  double reader_ns = 0;  // draining, a second
};

// A process with `per_second` jobs (0: it sleeps) for a second, followed or not.
Jobs RunJobs(Probes* probes, uint64_t per_second, bool follow) {
  const auto count = static_cast<size_t>(std::max<uint64_t>(per_second, 1));
  Shared<Period> own(count);
  Child child([&own, per_second] {
    if (per_second == 0) {
      usleep(1'000'000);
    } else {
      RunPeriodic(own.data(), per_second, kNsPerSecond / per_second);
    }
  });
  if (follow && !probes->Register(child.pidfd(), 1).ok()) std::exit(1);
  const uint64_t begun_ns = NowNs();
  const uint64_t probe_ns = probes->RunTimeNs();
  uint64_t reader_ns = 0;
  child.Go();
  rusage usage = {};
  while (wait4(child.pid(), nullptr, WNOHANG, &usage) == 0) {
    usleep(20'000);
    const uint64_t before = OwnCpuNs();
    probes->Drain([](const SgprsWakeRecord&) {});
    reader_ns += OwnCpuNs() - before;
  }
  const double seconds = static_cast<double>(NowNs() - begun_ns) / 1e9;
  Jobs jobs;
  jobs.probe_ns = static_cast<double>(probes->RunTimeNs() - probe_ns) / seconds;
  jobs.reader_ns = static_cast<double>(reader_ns) / seconds;
  jobs.cpu_ns = static_cast<double>(CpuNs(usage)) / static_cast<double>(count);
  if (follow) probes->Unregister(child.pidfd());
  return jobs;
}

void BenchJobs(Probes* probes) {
  std::vector<double> off_cpu, on_cpu, idle_probe, on_probe, reader;
  for (int i = 0; i < kRepeats; ++i) {
    // Without run times: keeping them costs too.
    off_cpu.push_back(RunJobs(probes, 1000, false).cpu_ns);
    on_cpu.push_back(RunJobs(probes, 1000, true).cpu_ns);
    const UniqueFd keep = KeepRunTimes();
    idle_probe.push_back(RunJobs(probes, 0, true).probe_ns);
    const Jobs on = RunJobs(probes, 1000, true);
    on_probe.push_back(on.probe_ns);
    reader.push_back(on.reader_ns);
  }
  const double jobs_ns = Median(on_probe) - Median(idle_probe);
  std::printf(
      "  \"jobs\": {\"per_second\": 1000, \"process_cpu_us_a_job\": {\"off\": %.2f, \"on\": %.2f}, "
      "\"probe_percent_of_a_core\": {\"attached_nobody_runs\": %.3f, \"with_jobs\": %.3f, "
      "\"for_the_jobs\": %.3f}, \"probe_us_a_job\": %.3f, \"reader_percent_of_a_core\": %.3f},\n",
      Median(off_cpu) / 1e3, Median(on_cpu) / 1e3, Median(idle_probe) / 1e7, Median(on_probe) / 1e7,
      jobs_ns / 1e7, jobs_ns / 1e3 / 1e3, Median(reader) / 1e7);
}

// ns a call of `work` in a process that is not followed, while somebody else is (`on`) or not.
double Strangers(Probes* probes, bool on, const std::function<void()>& work, size_t calls) {
  Child followed([] {
    for (;;) pause();
  });
  if (on && !probes->Register(followed.pidfd(), 1).ok()) std::exit(1);
  Shared<uint64_t> took(1);
  Child stranger([&took, &work, calls] {
    const uint64_t begun = NowNs();
    for (size_t i = 0; i < calls; ++i) work();
    took[0] = NowNs() - begun;
  });
  stranger.Go();
  stranger.Wait();
  if (on) probes->Unregister(followed.pidfd());
  return static_cast<double>(took[0]) / static_cast<double>(calls);
}

void BenchStrangers(Probes* probes) {
  std::vector<double> call_off, call_on, switch_off, switch_on;
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) std::exit(1);
  Child echo([&there, &back] {
    char byte;
    while (read(there[0], &byte, 1) == 1) (void)!write(back[1], &byte, 1);
  });
  echo.Go();
  const auto call = [] { syscall(SYS_getppid); };
  const auto round_trip = [&there, &back] {
    char byte = 'x';
    (void)!write(there[1], &byte, 1);
    (void)!read(back[0], &byte, 1);
  };
  for (int i = 0; i < kRepeats; ++i) {
    call_off.push_back(Strangers(probes, false, call, 1'000'000));
    call_on.push_back(Strangers(probes, true, call, 1'000'000));
    switch_off.push_back(Strangers(probes, false, round_trip, 20'000));
    switch_on.push_back(Strangers(probes, true, round_trip, 20'000));
  }
  std::printf(
      "  \"strangers\": {\"ns_a_system_call\": {\"off\": %.0f, \"on\": %.0f}, "
      "\"ns_a_round_trip_of_two_switches\": {\"off\": %.0f, \"on\": %.0f}},\n",
      Median(call_off), Median(call_on), Median(switch_off), Median(switch_on));
}

// Threads that wait as often as they can, read every `read_every_ms`.
void BenchRing(Probes* probes, int read_every_ms, const char* name) {
  constexpr size_t kThreads = 4;
  constexpr size_t kWaits = 10'000;
  Shared<Period> own(kThreads * kWaits);
  Child child([&own] {
    prctl(PR_SET_TIMERSLACK, 1);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&own, i] { RunPeriodic(own.data() + i * kWaits, kWaits, 100'000); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  if (!probes->Register(child.pidfd(), 1).ok()) std::exit(1);
  const ProbeCounts before = probes->Counts();
  const uint64_t begun_ns = NowNs();
  size_t read = 0;
  child.Go();
  while (waitpid(child.pid(), nullptr, WNOHANG) == 0) {
    usleep(static_cast<useconds_t>(read_every_ms) * 1000);
    read += probes->Drain([](const SgprsWakeRecord&) {}, SIZE_MAX);
  }
  read += probes->Drain([](const SgprsWakeRecord&) {}, SIZE_MAX);
  const double seconds = static_cast<double>(NowNs() - begun_ns) / 1e9;
  probes->Unregister(child.pidfd());
  const ProbeCounts after = probes->Counts();
  std::printf(
      "  \"%s\": {\"records_a_second\": %.0f, \"read\": %zu, \"lost\": %lu, \"misses\": %lu},\n",
      name, static_cast<double>(read) / seconds, read, after.lost - before.lost,
      after.misses - before.misses);
}

void BenchAgreement(Probes* probes) {
  constexpr size_t kPeriods = 500;
  Shared<Period> own(kPeriods);
  Child child([&own] { RunPeriodic(own.data(), kPeriods, 10 * kNsPerMs); });
  if (!probes->Register(child.pidfd(), 1).ok()) std::exit(1);
  std::map<uint64_t, SgprsWakeRecord> by_due;
  size_t incomplete = 0;
  child.Go();
  child.Wait();
  probes->Drain([&by_due, &incomplete](const SgprsWakeRecord& r) {
    if (kernel::CheckWake(r) != kernel::WakeCheck::kComplete) {
      ++incomplete;
    } else if (r.wait == SGPRS_WAIT_TIMER) {
      by_due[r.due_ns] = r;
    }
  });
  probes->Unregister(child.pidfd());
  std::vector<double> kernel_us, process_us, apart_us;
  for (size_t i = 0; i < kPeriods; ++i) {
    const auto found = by_due.find(own[i].due_ns);
    if (found == by_due.end()) continue;
    kernel_us.push_back(static_cast<double>(found->second.exit_ns - own[i].due_ns) / 1e3);
    process_us.push_back(static_cast<double>(own[i].back_ns - own[i].due_ns) / 1e3);
    apart_us.push_back(process_us.back() - kernel_us.back());
  }
  std::sort(apart_us.begin(), apart_us.end());
  std::printf(
      "  \"agreement\": {\"periods\": %zu, \"complete_percent\": %.1f, \"incomplete\": %zu, "
      "\"median_us_after_due\": {\"kernel\": %.1f, \"process\": %.1f}, "
      "\"apart_us\": {\"median\": %.1f, \"p99\": %.1f}}\n",
      kPeriods, 100.0 * static_cast<double>(apart_us.size()) / kPeriods, incomplete,
      Median(kernel_us), Median(process_us), Median(apart_us),
      apart_us.empty() ? 0 : apart_us[apart_us.size() * 99 / 100]);
}

}  // namespace
}  // namespace sgprs

int main() {
  const std::unique_ptr<sgprs::kernel::Probes> probes = sgprs::kernel::Probes::Load({});
  if (!HasStamps(probes->level())) {
    std::fprintf(stderr, "probe_bench: no kernel probes: %s\n", probes->why().c_str());
    return 77;
  }
  std::printf("{\n  \"level\": \"%s\",\n", NameOf(probes->level()));
  sgprs::BenchJobs(probes.get());
  sgprs::BenchStrangers(probes.get());
  sgprs::BenchRing(probes.get(), 10, "ring_read_every_10_ms");
  sgprs::BenchRing(probes.get(), 100, "ring_read_every_100_ms");
  sgprs::BenchAgreement(probes.get());
  std::printf("}\n");
  return 0;
}
