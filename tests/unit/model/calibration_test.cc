// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/model/networks.h"

namespace sgprs::model {
namespace {

void ExpectFit(const std::vector<CalibrationRow>& rows, double worst, double rms) {
  double sum = 0;
  for (const CalibrationRow& row : rows) {
    EXPECT_LE(std::abs(row.Error()), worst)
        << row.what << ": " << row.modelled << " instead of " << row.measured;
    sum += row.Error() * row.Error();
  }
  EXPECT_LE(std::sqrt(sum / static_cast<double>(rows.size())), rms);
}

// The bounds are those that README.md states.
TEST(CalibrationTest, AloneOnSomeSms) {
  ExpectFit(CalibrateAlone(*FindDevice("rtx2080ti")), 0.45, 0.16);
}

TEST(CalibrationTest, NetworkAndConvolutionFitBetter) {
  for (const CalibrationRow& row : CalibrateAlone(*FindDevice("rtx2080ti"))) {
    if (row.what.rfind("resnet18", 0) == 0 || row.what.rfind("conv", 0) == 0) {
      EXPECT_LE(std::abs(row.Error()), 0.15) << row.what;
    }
    if (!row.fitted) {
      EXPECT_LE(std::abs(row.Error()), 0.13) << row.what;
    }
  }
}

TEST(CalibrationTest, OthersSlowIt) {
  ExpectFit(CalibrateOccupied(*FindDevice("rtx2080ti")), 0.22, 0.14);
}

TEST(CalibrationTest, ManyNetworksAtOnce) {
  ExpectFit(CalibrateConcurrency(*FindDevice("rtx2080ti")), 0.21, 0.08);
}

TEST(CalibrationTest, TheNetworkIsTheMeasuredOne) {
  EXPECT_EQ(FindNetwork("resnet18-upstream")->make().kernels.size(), 121u);
  double flops = 0;
  for (const KernelGeometry& kernel : FindNetwork("resnet18")->make().kernels)
    flops += kernel.flops;
  EXPECT_NEAR(flops / 3.6e9, 1, 0.05);  // ResNet18: 1.8 G multiply-adds
}

}  // namespace
}  // namespace sgprs::model
