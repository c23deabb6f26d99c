// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/network_app.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tools/workloads/app/device_session.h"
#include "tools/workloads/app/frame_clock.h"
#include "tools/workloads/app/frame_statistics.h"
#include "tools/workloads/app/network_options.h"
#include "tools/workloads/app/option_parser.h"
#include "tools/workloads/nn/network_runner.h"

namespace workloads {
namespace {

struct FrameTimes {
  uint64_t release_ns = 0;
  uint64_t first_call_ns = 0;  // of the driver
  uint64_t done_ns = 0;
};

struct Outcome {
  uint64_t released = 0;
  uint64_t launches = 0;
  uint64_t checksum = kChecksumStart;
  uint64_t wall_ns = 0;
  std::vector<FrameTimes> frames;  // with --frames-file
};

CUstream MakeStream(const CudaApi& api, StreamChoice choice) {
  CUstream stream = nullptr;
  if (choice == StreamChoice::kNull) return stream;
  const unsigned flags = choice == StreamChoice::kOwn ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
  Check(api, api.cuStreamCreate(&stream, flags), "create a stream");
  return stream;
}

Outcome RunFrames(const NetworkOptions& options, NetworkRunner& runner,
                  FrameStatistics& statistics) {
  Outcome outcome;
  for (uint64_t i = 0; i < options.warmup && !StopRequested(); ++i) runner.RunFrame(i);
  const FrameSchedule schedule{options.period_ns, NowNs() + options.phase_ns, options.frames,
                               options.length_ns};
  for (uint64_t frame = 0; schedule.Has(frame, NowNs()); ++frame) {
    if (!SleepUntil(schedule.ReleaseNs(frame))) break;
    const uint64_t release_ns = options.period_ns == 0 ? NowNs() : schedule.ReleaseNs(frame);
    runner.MakeInput(frame);
    const uint64_t first_call_ns = NowNs();
    runner.Run();
    const uint64_t done_ns = NowNs();
    statistics.Add(done_ns - release_ns);
    if (!options.frames_file.empty()) {
      outcome.frames.push_back({release_ns, first_call_ns, done_ns});
    }
    outcome.checksum = Checksum(outcome.checksum, runner.output());
  }
  const uint64_t now_ns = NowNs();
  outcome.released = schedule.Released(now_ns, statistics.completed());
  outcome.wall_ns = now_ns > schedule.start_ns ? now_ns - schedule.start_ns : 0;
  outcome.launches = runner.launches();
  return outcome;
}

bool WriteFrames(const char* name, const std::string& path, const std::vector<FrameTimes>& frames) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool written = file != nullptr;
  for (size_t i = 0; written && i < frames.size(); ++i) {
    const FrameTimes& frame = frames[i];
    written = std::fprintf(file,
                           "{\"frame\":%zu,\"release_ns\":%" PRIu64 ",\"first_call_ns\":%" PRIu64
                           ",\"done_ns\":%" PRIu64 "}\n",
                           i, frame.release_ns, frame.first_call_ns, frame.done_ns) > 0;
  }
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (!written) {
    std::fprintf(stderr, "%s: --frames-file %s: %s\n", name, path.c_str(), std::strerror(errno));
  }
  return written;
}

void PrintJson(const char* name, const NetworkOptions& o, const DeviceSession& session,
               const Plan& plan, const FrameStatistics& s, const Outcome& outcome) {
  std::printf("{\"version\":1,\"program\":\"%s\",\"device\":\"%s\",\"input\":\"%dx%d\",", name,
              session.device_name().c_str(), o.input.height, o.input.width);
  std::printf("\"seed\":%" PRIu64 ",\"period_ns\":%" PRIu64 ",\"deadline_ns\":%" PRIu64 ",", o.seed,
              o.period_ns, o.deadline_ns);
  std::printf("\"frames\":{\"released\":%" PRIu64 ",\"completed\":%" PRIu64 ",\"on_time\":%" PRIu64
              ",\"missed\":%" PRIu64 "},",
              outcome.released, s.completed(), s.on_time(), outcome.released - s.on_time());
  std::printf("\"latency_ns\":{\"min\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"p90\":%" PRIu64
              ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 ",\"mean\":%.0f},",
              s.Percentile(0), s.Percentile(50), s.Percentile(90), s.Percentile(99),
              s.Percentile(100), s.MeanNs());
  std::printf("\"launches\":%" PRIu64 ",\"launches_per_frame\":%zu,\"wall_ns\":%" PRIu64
              ",\"checksum\":\"%016" PRIx64 "\"}\n",
              outcome.launches, plan.launches.size(), outcome.wall_ns, outcome.checksum);
}

void PrintText(const char* name, const NetworkOptions& o, const DeviceSession& session,
               const Plan& plan, const FrameStatistics& s, const Outcome& outcome) {
  constexpr double kMs = 1e6;
  const double seconds = static_cast<double>(outcome.wall_ns) / 1e9;
  const auto per_second = [&](uint64_t n) {
    return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
  };
  const auto ms = [&](double percent) { return static_cast<double>(s.Percentile(percent)) / kMs; };
  std::printf("%s %dx%d on %s\n", name, o.input.height, o.input.width,
              session.device_name().c_str());
  std::printf("frames    %" PRIu64 " released, %" PRIu64 " completed (%.1f/s), %" PRIu64
              " on time (%.1f/s), %" PRIu64 " missed\n",
              outcome.released, s.completed(), per_second(s.completed()), s.on_time(),
              per_second(s.on_time()), outcome.released - s.on_time());
  std::printf("latency   min %.3f, p50 %.3f, p99 %.3f, max %.3f ms\n", ms(0), ms(50), ms(99),
              ms(100));
  std::printf("launches  %" PRIu64 " (%zu a frame)\nchecksum  %016" PRIx64 "\n", outcome.launches,
              plan.launches.size(), outcome.checksum);
}

}  // namespace

int RunNetworkApp(int argc, char** argv, const NetworkProgram& program) {
  NetworkOptions options;
  options.blocks = static_cast<uint64_t>(program.default_blocks);
  int exit_code = kExitOk;
  if (!ParseNetworkOptions(argc, argv, program.name, &options, &exit_code)) return exit_code;
  StopOnSignals();
  DeviceSession session;
  if (!session.Open(options.entry)) return kExitFailed;
  const CudaApi& api = session.api();
  const Plan plan = program.plan(options.input, static_cast<int>(options.blocks));
  const CUstream stream = MakeStream(api, options.stream);
  FrameStatistics statistics(options.deadline_ns);
  Outcome outcome;
  {
    NetworkRunner runner(api, plan, options.seed, stream);
    outcome = RunFrames(options, runner, statistics);
  }
  if (stream != nullptr) Check(api, api.cuStreamDestroy(stream), "destroy the stream");
  const auto print = options.json ? PrintJson : PrintText;
  print(program.name, options, session, plan, statistics, outcome);
  const bool written =
      options.frames_file.empty() || WriteFrames(program.name, options.frames_file, outcome.frames);
  return FlushOutput(program.name) == kExitOk && written ? kExitOk : kExitFailed;
}

}  // namespace workloads
