// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "tools/simgpu/math/arguments.h"
#include "tools/simgpu/math/bodies.h"
#include "tools/simgpu/math/number.h"

namespace sgprs::simgpu::math {
namespace {

using Norm = BatchNormArguments;

// False: too large to compute.
bool Read(const SimgpuLaunch* launch, Norm* norm) {
  MathArguments arguments;
  memcpy(&arguments, launch->params[0], sizeof(arguments));
  *norm = arguments.batch_norm;
  double elements = 1;
  for (int32_t size : norm->size) elements *= size;
  return elements <= kMostElements && ElementBytes(norm->type) != 0;
}

double Parameter(const Norm& norm, const void* array, int64_t channel) {
  return Load(array, norm.type_parameters, channel).real();
}

void SetParameter(const Norm& norm, void* array, int64_t channel, double value) {
  if (array != nullptr) Store(array, norm.type_parameters, channel, value);
}

// Calls visit(index in x, index in y) for each element of a channel.
template <typename Visit>
void ForEach(const Norm& norm, int64_t channel, const Visit& visit) {
  int64_t at[Norm::kDims] = {0, channel, 0, 0, 0};
  for (at[0] = 0; at[0] < norm.size[0]; ++at[0]) {
    for (at[2] = 0; at[2] < norm.size[2]; ++at[2]) {
      for (at[3] = 0; at[3] < norm.size[3]; ++at[3]) {
        for (at[4] = 0; at[4] < norm.size[4]; ++at[4]) {
          int64_t x = 0;
          int64_t y = 0;
          for (int i = 0; i < Norm::kDims; ++i) {
            x += at[i] * norm.x_stride[i];
            y += at[i] * norm.y_stride[i];
          }
          visit(x, y);
        }
      }
    }
  }
}

double PerChannel(const Norm& norm) {
  return static_cast<double>(norm.size[0]) * norm.size[2] * norm.size[3] * norm.size[4];
}

void Normalise(const Norm& norm, int64_t channel, double mean, double inverse) {
  const double scale = Parameter(norm, norm.scale, channel) * inverse;
  const double shift = Parameter(norm, norm.bias, channel) - mean * scale;
  ForEach(norm, channel, [&](int64_t x, int64_t y) {
    Store(norm.y, norm.type, y, Load(norm.x, norm.type, x).real() * scale + shift);
  });
}

void Statistics(const Norm& norm, int64_t channel) {
  const double count = PerChannel(norm);
  double sum = 0;
  ForEach(norm, channel, [&](int64_t x, int64_t) { sum += Load(norm.x, norm.type, x).real(); });
  const double mean = sum / count;
  double squares = 0;
  ForEach(norm, channel, [&](int64_t x, int64_t) {
    const double off = Load(norm.x, norm.type, x).real() - mean;
    squares += off * off;
  });
  SetParameter(norm, norm.saved_mean, channel, mean);
  SetParameter(norm, norm.saved_inverse, channel, 1 / std::sqrt(squares / count + norm.epsilon));
  if (norm.mean == nullptr || norm.variance == nullptr) return;
  // The running variance is the unbiased one.
  const double variance = count > 1 ? squares / (count - 1) : 0;
  auto blend = [&](void* array, double value) {
    SetParameter(norm, array, channel,
                 (1 - norm.factor) * Parameter(norm, array, channel) + norm.factor * value);
  };
  blend(norm.mean, mean);
  blend(norm.variance, variance);
}

}  // namespace

void BatchNormInferenceBody(const SimgpuLaunch* launch) {
  Norm norm;
  if (!Read(launch, &norm)) return;
  for (int64_t channel = 0; channel < norm.size[1]; ++channel) {
    const double variance = Parameter(norm, norm.variance, channel);
    Normalise(norm, channel, Parameter(norm, norm.mean, channel),
              1 / std::sqrt(variance + norm.epsilon));
  }
}

void BatchNormStatisticsBody(const SimgpuLaunch* launch) {
  Norm norm;
  if (!Read(launch, &norm)) return;
  for (int64_t channel = 0; channel < norm.size[1]; ++channel) Statistics(norm, channel);
}

void BatchNormApplyBody(const SimgpuLaunch* launch) {
  Norm norm;
  if (!Read(launch, &norm)) return;
  for (int64_t channel = 0; channel < norm.size[1]; ++channel) {
    Normalise(norm, channel, Parameter(norm, norm.saved_mean, channel),
              Parameter(norm, norm.saved_inverse, channel));
  }
}

void BatchNormReduceBody(const SimgpuLaunch* launch) {
  Norm norm;
  if (!Read(launch, &norm)) return;
  for (int64_t channel = 0; channel < norm.size[1]; ++channel) {
    const double mean = Parameter(norm, norm.saved_mean, channel);
    const double inverse = Parameter(norm, norm.saved_inverse, channel);
    double bias = 0;
    double scale = 0;
    ForEach(norm, channel, [&](int64_t x, int64_t y) {
      const double dy = Load(norm.y, norm.type, y).real();
      bias += dy;
      scale += dy * (Load(norm.x, norm.type, x).real() - mean) * inverse;
    });
    SetParameter(norm, norm.dbias, channel, bias);
    SetParameter(norm, norm.dscale, channel, scale);
  }
}

void BatchNormBackwardBody(const SimgpuLaunch* launch) {
  Norm norm;
  if (!Read(launch, &norm)) return;
  const double count = PerChannel(norm);
  for (int64_t channel = 0; channel < norm.size[1]; ++channel) {
    const double mean = Parameter(norm, norm.saved_mean, channel);
    const double inverse = Parameter(norm, norm.saved_inverse, channel);
    const double factor = Parameter(norm, norm.scale, channel) * inverse;
    const double bias = Parameter(norm, norm.dbias, channel) / count;
    const double scale = Parameter(norm, norm.dscale, channel) / count;
    ForEach(norm, channel, [&](int64_t x, int64_t y) {
      const double normalised = (Load(norm.x, norm.type, x).real() - mean) * inverse;
      const double dy = Load(norm.y, norm.type, y).real();
      Store(norm.dx, norm.type, x, factor * (dy - bias - normalised * scale));
    });
  }
}

}  // namespace sgprs::simgpu::math
