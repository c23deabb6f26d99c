// SPDX-License-Identifier: Apache-2.0
// The measurements that the cost parameters of the RTX 2080 Ti are fitted to (facts/papers.md 1.8
// and the raw-concurrency figures of 1.9), and what the model says in their place. README.md shows
// both.
#ifndef SGPRS_RUNTIME_MODEL_CALIBRATION_H_
#define SGPRS_RUNTIME_MODEL_CALIBRATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/device_description.h"
#include "runtime/model/kernel_cost.h"

namespace sgprs::model {

struct CalibrationRow {
  std::string what;
  double measured;
  double modelled;
  bool fitted;  // false: shown beside the measurement, not used in the fit
  double Error() const { return modelled / measured - 1; }
};

// One operation or the network alone on n SMs, us (1.8). Not fitted: the right ResNet18 (2.4).
std::vector<CalibrationRow> CalibrateAlone(const DeviceDescription& device);

// Time of the network beside four others over time alone, by context size (1.8).
std::vector<CalibrationRow> CalibrateOccupied(const DeviceDescription& device);

// Networks per second of N that loop in c contexts (1.9).
std::vector<CalibrationRow> CalibrateConcurrency(const DeviceDescription& device);

}  // namespace sgprs::model

#endif  // SGPRS_RUNTIME_MODEL_CALIBRATION_H_
