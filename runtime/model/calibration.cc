// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/model/fluid_model.h"
#include "runtime/model/kernel_shapes.h"
#include "runtime/model/networks.h"

namespace sgprs::model {
namespace {

Kernels KernelsOf(std::string_view network) { return FindNetwork(network)->make().kernels; }

struct Operation {
  const char* name;
  Kernels kernels;
  std::vector<double> us;  // at kSms
};

constexpr uint32_t kSms[] = {8, 16, 24, 34, 52, 54, 68};

// 1.8 gives speed-ups over an estimated one-SM time, and the time at 68 SMs: T(n) = T68 * S68 /
// S(n).
std::vector<double> Times(double us_at_68, std::vector<double> speedups) {
  std::vector<double> times;
  for (double speedup : speedups) times.push_back(us_at_68 * speedups.back() / speedup);
  return times;
}

std::vector<Operation> Operations() {
  const double map = 128 * 56 * 56;
  Kernels convolution;
  Convolution(64, 128, 58, 3, &convolution);
  return {
      {"conv", convolution, Times(96.9, {7.1, 12.1, 15.8, 21.8, 23.2, 31.9, 31.8})},
      {"maxpool",
       {Elementwise(map / 4, kFloatBytes * map * 7 / 4)},  // values and 64-bit indices out
       Times(12.6, {5.7, 8.6, 10.3, 12.1, 13.7, 13.4, 14.3})},
      {"fc", {FullyConnected(2048, 1000)}, Times(30.8, {5.1, 6.9, 7.0, 7.2, 7.2, 7.0, 7.2})},
      {"relu",
       {Elementwise(map, 2 * kFloatBytes * map)},
       Times(11.1, {4.2, 5.4, 5.9, 6.4, 6.8, 6.5, 6.5})},
      {"bn",
       {Elementwise(map, kFloatBytes * map), Elementwise(map, 2 * kFloatBytes * map)},
       Times(28.0, {3.5, 4.2, 4.5, 4.9, 4.8, 4.6, 4.9})},
      {"resnet18", KernelsOf("resnet18-upstream"),
       Times(2031, {6.5, 10.5, 13.4, 16.6, 20.7, 20.9, 22.6})},
  };
}

double MicrosecondsAlone(const DeviceDescription& device, const Kernels& kernels, uint32_t sms) {
  double us = 0;
  for (const KernelGeometry& kernel : kernels) us += KernelCost(device, kernel).TimeNs(sms) / 1000;
  return us;
}

// Networks that loop, each on its own stream, until the model's time is over.
class Loops {
 public:
  explicit Loops(const DeviceDescription& device) : model_(device) {
    for (const KernelGeometry& kernel : KernelsOf("resnet18-upstream")) {
      costs_.push_back(std::make_shared<const KernelCost>(device, kernel));
    }
  }
  // Returns its number.
  size_t Add(uint64_t context, uint32_t limit) {
    loops_.push_back({context, limit, 0, 0});
    return loops_.size() - 1;
  }
  void RunFor(uint64_t ns) {
    // Staggered, as programs are.
    for (size_t i = 0; i < loops_.size(); ++i) Launch(i, i * 37'000);
    std::vector<KernelEnd> ends;
    while (model_.NextEventNs() <= ns) {
      ends.clear();
      model_.Advance(model_.NextEventNs(), &ends);
      for (const KernelEnd& end : ends) Next(end.tag, end.end_ns);
    }
    ran_ns_ = static_cast<double>(ns);
  }
  double PerSecond(size_t loop) const {
    const double parts =
        static_cast<double>(loops_[loop].next) / static_cast<double>(costs_.size());
    return (static_cast<double>(loops_[loop].rounds) + parts) / ran_ns_ * 1e9;
  }
  double PerSecond() const {
    double sum = 0;
    for (size_t i = 0; i < loops_.size(); ++i) sum += PerSecond(i);
    return sum;
  }

 private:
  struct Loop {
    uint64_t context;
    uint32_t limit;
    size_t next;
    uint64_t rounds;
  };
  void Launch(size_t loop, uint64_t at_ns) {
    KernelLaunch launch;
    launch.cost = costs_[loops_[loop].next];
    launch.tag = loop;
    launch.context = loops_[loop].context;
    launch.context_limit = loops_[loop].limit;
    model_.AddKernel(launch, at_ns);
  }
  void Next(size_t loop, uint64_t at_ns) {
    if (++loops_[loop].next == costs_.size()) {
      loops_[loop].next = 0;
      ++loops_[loop].rounds;
    }
    Launch(loop, at_ns);
  }

  FluidModel model_;
  std::vector<std::shared_ptr<const KernelCost>> costs_;
  std::vector<Loop> loops_;
  double ran_ns_ = 0;
};

}  // namespace

std::vector<CalibrationRow> CalibrateAlone(const DeviceDescription& device) {
  std::vector<CalibrationRow> rows;
  for (const Operation& operation : Operations()) {
    for (size_t i = 0; i < std::size(kSms); ++i) {
      rows.push_back({std::string(operation.name) + " on " + std::to_string(kSms[i]) + " SMs, us",
                      operation.us[i], MicrosecondsAlone(device, operation.kernels, kSms[i]),
                      true});
    }
  }
  rows.push_back({"right resnet18 on 68 SMs, us", 1e6 / 724,
                  MicrosecondsAlone(device, KernelsOf("resnet18"), 68), false});
  return rows;
}

std::vector<CalibrationRow> CalibrateOccupied(const DeviceDescription& device) {
  constexpr uint32_t kContexts[] = {10, 20, 30, 40};
  constexpr double kMeasured[] = {10621.0 / 6627, 7454.0 / 4596, 6903.0 / 4312, 5941.0 / 4014};
  constexpr uint64_t kRunNs = 100'000'000;
  constexpr size_t kDummies = 4;
  std::vector<CalibrationRow> rows;
  for (size_t i = 0; i < std::size(kContexts); ++i) {
    Loops alone(device);
    alone.Add(i, kContexts[i]);
    alone.RunFor(kRunNs);
    Loops occupied(device);
    occupied.Add(i, kContexts[i]);
    for (size_t dummy = 0; dummy < kDummies; ++dummy) {
      const size_t context = (i + 1 + dummy % 3) % std::size(kContexts);
      occupied.Add(context, kContexts[context]);
    }
    occupied.RunFor(kRunNs);
    rows.push_back({"occupied / alone, " + std::to_string(kContexts[i]) + " SMs", kMeasured[i],
                    alone.PerSecond(0) / occupied.PerSecond(0), true});
  }
  return rows;
}

std::vector<CalibrationRow> CalibrateConcurrency(const DeviceDescription& device) {
  struct Case {
    size_t networks;
    size_t contexts;
    double over_subscription;
    double per_second;
  };
  constexpr Case kCases[] = {{5, 1, 1, 663},    {30, 1, 1, 522}, {30, 2, 1, 669},
                             {30, 2, 1.5, 672}, {30, 2, 2, 672}, {30, 3, 1, 721},
                             {30, 3, 1.5, 794}, {30, 3, 2, 793}, {30, 5, 1, 793},
                             {30, 5, 1.5, 829}, {30, 5, 2, 838}};
  constexpr uint64_t kRunNs = 100'000'000;
  std::vector<CalibrationRow> rows;
  for (const Case& c : kCases) {
    const double share =
        std::floor(device.sm_count * c.over_subscription) / static_cast<double>(c.contexts);
    const uint32_t sms = std::min(device.sm_count, static_cast<uint32_t>(std::ceil(share / 2)) * 2);
    Loops loops(device);
    for (size_t i = 0; i < c.networks; ++i) loops.Add(i % c.contexts, sms);
    loops.RunFor(kRunNs);
    rows.push_back({std::to_string(c.networks) + " networks, " + std::to_string(c.contexts) +
                        " x " + std::to_string(sms) + " SMs, per s",
                    c.per_second, loops.PerSecond(), true});
  }
  return rows;
}

}  // namespace sgprs::model
