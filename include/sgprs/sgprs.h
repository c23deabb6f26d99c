/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional: mark jobs by hand (`sgprs run --job marked`). Programs need nothing of SGPRS to be
 * scheduled; this is for those whose job borders can not be seen from outside.
 *
 *   sgprs_job_begin();   the next launch begins a job
 *   ... launches ...
 *   sgprs_job_end();     the job is over; what follows until the next begin belongs to it still
 *
 * Links nothing: without the preloaded shim both calls do nothing. Any thread; never block, never
 * fail. C99 and C++.
 */
#ifndef SGPRS_SGPRS_H_
#define SGPRS_SGPRS_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Exported by the shim; weak, so that they are null without it. */
__attribute__((weak)) void sgprs_shim_job_begin(void);
__attribute__((weak)) void sgprs_shim_job_end(void);

static inline void sgprs_job_begin(void) {
  if (sgprs_shim_job_begin) sgprs_shim_job_begin();
}
static inline void sgprs_job_end(void) {
  if (sgprs_shim_job_end) sgprs_shim_job_end();
}

#ifdef __cplusplus
}
#endif

#endif /* SGPRS_SGPRS_H_ */
