// SPDX-License-Identifier: Apache-2.0
// The shim's other half as the tests of interpose need it: hooks and drains that log.
#include "fake_driver.h"
#include "shim/interpose/interpose.h"

extern "C" {

CUresult Hook_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, CUstream stream,
                             void** params, void** extra) {
  LogLine("H cuLaunchKernel");
  return SGPRS_REAL(cuLaunchKernel)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

CUresult Hook_cuCtxSynchronize() {
  LogLine("H cuCtxSynchronize");
  return SGPRS_REAL(cuCtxSynchronize)();
}

void SgprsDrainForCall(sgprs::shim::CallIndex index) {
  LogLine("D %s", sgprs::shim::CallName(index));
}

}  // extern "C"
