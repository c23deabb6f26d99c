/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every record shared between processes has in common: version, size and layout checks.
 *
 * Rules of this directory: C11 and C++20, fixed-width fields, explicit zeroed padding, offsets and
 * ids but never pointers, bools or size_t. Time is u64 nanoseconds of CLOCK_MONOTONIC. A reader
 * that meets another major version refuses; a higher minor version only adds fields in padding.
 */
#ifndef SGPRS_ABI_ABI_H_
#define SGPRS_ABI_ABI_H_

#ifndef __cplusplus
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#else
#include <cstddef>
#include <cstdint>
#endif

#define SGPRS_ABI_MAJOR 2
#define SGPRS_ABI_MINOR 0

#define SGPRS_CACHE_LINE_BYTES 64
#define SGPRS_NAME_BYTES 64     /* task names, NUL-terminated */
#define SGPRS_MAX_PARTITIONS 32 /* per device pool */
#define SGPRS_MAX_STAGES 32     /* per job */
#define SGPRS_MAX_TASKS 1024    /* rows of the state segment = clients at one time */
#define SGPRS_UUID_BYTES 16

/* Layout checks: SGPRS_ABI_SIZE(type, bytes), SGPRS_ABI_OFFSET(type, field, bytes). */
#ifdef __cplusplus
#define SGPRS_ABI_ASSERT(cond, text) static_assert(cond, text)
#else
#define SGPRS_ABI_ASSERT(cond, text) _Static_assert(cond, text)
#endif
#define SGPRS_ABI_SIZE(type, bytes) SGPRS_ABI_ASSERT(sizeof(type) == (bytes), #type " size")
#define SGPRS_ABI_OFFSET(type, field, bytes) \
  SGPRS_ABI_ASSERT(offsetof(type, field) == (bytes), #type "." #field " offset")

/* Class of a task, given on the command line (`--class`). */
enum SgprsTaskClass {
  SGPRS_CLASS_HIGH = 0,        /* deadlines come first */
  SGPRS_CLASS_LOW = 1,         /* has a period and a deadline, gives way to high */
  SGPRS_CLASS_BEST_EFFORT = 2, /* no deadline: runs in what the others leave */
};

/* Level of a granted stage (papers.md 1.6): which queue and which stream priority. */
enum SgprsLevel {
  SGPRS_LEVEL_HIGH = 0,
  SGPRS_LEVEL_MEDIUM = 1,
  SGPRS_LEVEL_LOW = 2,
};

/* How the shim sees where one job ends and the next begins. */
enum SgprsJobRule {
  SGPRS_JOB_AUTO = 0,     /* first launch after a blocking synchronisation and a pause */
  SGPRS_JOB_LAUNCHES = 1, /* every `job_launches` launches */
  SGPRS_JOB_MARKED = 2,   /* sgprs_job_begin()/sgprs_job_end() of include/sgprs/sgprs.h */
};

/* Partition back-ends of the shim, in order of preference. Bits are 1 << value. */
enum SgprsBackend {
  SGPRS_BACKEND_GREEN = 0,
  SGPRS_BACKEND_MPS = 1,
  SGPRS_BACKEND_PRIORITY = 2,
  SGPRS_BACKEND_NONE = 3,
  SGPRS_BACKEND_COUNT = 4,
};

#endif /* SGPRS_ABI_ABI_H_ */
