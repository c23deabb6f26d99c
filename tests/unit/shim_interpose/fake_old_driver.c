/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that has only what direct.c needs to start: everything else is missing in it. */
#include "fake_driver.h"

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  LogLine("R cuInit %u", flags);
  return 0;
}
int cuDriverGetVersion(int* version);
int cuDriverGetVersion(int* version) {
  *version = 11000;
  return 0;
}
int cuLaunchKernel(void);
int cuLaunchKernel(void) { return 0; }
