/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sgprs doctor -- CMD` reads: one file a process, DIR/PID[-N].calls, which the shim maps and
 * counts in while the process runs, so that it is whole however the process ends. Written by the
 * shim alone (relaxed atomic adds); read when the process is gone. A forked child counts in its
 * parent's file; a program that is executed starts its own.
 */
#ifndef SGPRS_ABI_CALL_COUNTS_H_
#define SGPRS_ABI_CALL_COUNTS_H_

#include "sgprs/abi/abi.h"

#define SGPRS_CALLS_MAGIC 0x4c4c4143u /* "CALL" */
#define SGPRS_CALL_NAME_BYTES 72
#define SGPRS_CALLS_TEXT_BYTES 192

/* What the shim does with a symbol (shim/hooked_calls.inc). */
enum SgprsCallTreatment {
  SGPRS_CALL_FORWARD = 0,
  SGPRS_CALL_RECORD = 1,
  SGPRS_CALL_ANSWER = 2,
  SGPRS_CALL_DRAIN = 3,
  SGPRS_CALL_UNKNOWN = 4, /* newer than the shim's headers: drained */
};

/* Why a launch went to the driver unrecorded. */
enum SgprsEscape {
  SGPRS_ESCAPE_NONE = 0,
  SGPRS_ESCAPE_UNSCHEDULED = 1, /* no runtime, or recording has ended */
  SGPRS_ESCAPE_CONTEXT = 2,     /* another context or device than the scheduled one */
  SGPRS_ESCAPE_STREAM = 3,      /* a stream that the back-end can not stand in for */
  SGPRS_ESCAPE_PARAMETERS = 4,  /* the driver does not tell the kernel's parameters */
  SGPRS_ESCAPE_ARGUMENTS = 5,   /* arguments that the driver was asked to judge, and took */
  SGPRS_ESCAPE_ATTRIBUTES = 6,  /* a launch attribute that can not be held */
  SGPRS_ESCAPE_GRAPH = 7,       /* a graph made where the shim did not see it */
  SGPRS_ESCAPE_LEGACY = 8,      /* cuLaunch, cuLaunchGrid, launches on several devices */
  SGPRS_ESCAPE_COUNT = 9,
};

typedef struct SgprsCallRow {
  char name[SGPRS_CALL_NAME_BYTES]; /* NUL-terminated; empty: a symbol that was never called */
  uint64_t calls;
  uint64_t recorded;  /* of them: a slot of the lane */
  uint64_t drained;   /* of them: what was held went first */
  uint64_t escaped;   /* of them: launches that went to the driver unrecorded */
  uint32_t treatment; /* SgprsCallTreatment */
  uint32_t reserved0;
  uint64_t reserved1[2];
} SgprsCallRow;
SGPRS_ABI_SIZE(SgprsCallRow, 128);

typedef struct SgprsCallCounts {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t pid;
  uint32_t row_count; /* rows follow the header */
  char program[SGPRS_NAME_BYTES];
  uint64_t registered;                  /* 1 once the process was scheduled */
  uint64_t escapes[SGPRS_ESCAPE_COUNT]; /* launches, by reason */
  uint64_t graph_launches;              /* recorded */
  uint64_t graphs_fixed;                /* executable graphs without a copy for each partition */
  uint64_t graph_copies;
  char said[SGPRS_CALLS_TEXT_BYTES];        /* the latest line on stderr */
  char graph_fixed[SGPRS_CALLS_TEXT_BYTES]; /* the latest reason */
  uint64_t reserved[1];
} SgprsCallCounts;
SGPRS_ABI_SIZE(SgprsCallCounts, 576);

#endif /* SGPRS_ABI_CALL_COUNTS_H_ */
