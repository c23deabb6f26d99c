/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane: one sealed memfd per (process, device), made by the runtime and handed to the shim over
 * the control socket. It carries what was launched to the runtime, and grants back.
 *
 *    slot ring, in program order over ALL streams of the process
 *    ┌────────────┬──────────────┬─────────────┬──────────────┐
 *    │ completed  │   issued     │  recorded   │   free       │
 *    └────────────▲──────────────▲─────────────▲──────────────┘
 *                 │              │             └ recorded:  written by the application's threads
 *                 │              └ issued:     written by the shim's issuer
 *                 └ completed:   written by the shim's completer
 *
 *    granted: written by the runtime. An index UP TO which the issuer may go; it may lie beyond
 *    `recorded`, so that a granted stage flows without another word.
 *
 * Cursors are free-running u64 slot counts; slot of index i is slots[i & (slot_count - 1)].
 * A slot may be rewritten once it is issued; a reader in the runtime copies it, then checks
 * `index`.
 *
 * Words written by more than one process: doorbell sequences only (atomic add).
 * All fields are plain integers; runtime/lane wraps each access with its memory order.
 */
#ifndef SGPRS_ABI_LANE_H_
#define SGPRS_ABI_LANE_H_

#include "sgprs/abi/abi.h"

#define SGPRS_LANE_MAGIC 0x454e414cu /* "LANE" */
#define SGPRS_LANE_SLOTS 8192u       /* default; a power of two */
#define SGPRS_LANE_GRANTS 64u
#define SGPRS_LANE_COMPLETIONS 256u
#define SGPRS_LANE_KERNELS 2048u
#define SGPRS_KERNEL_NAME_BYTES 488 /* templates of PyTorch are that long */

/* Kind of a recorded driver call. */
enum SgprsSlotKind {
  SGPRS_SLOT_NONE = 0,
  SGPRS_SLOT_KERNEL = 1,
  SGPRS_SLOT_GRAPH = 2,
  SGPRS_SLOT_COPY = 3,
  SGPRS_SLOT_FILL = 4,
  SGPRS_SLOT_EVENT_RECORD = 5,
  SGPRS_SLOT_EVENT_WAIT = 6,
  SGPRS_SLOT_HOST_FUNCTION = 7,
  SGPRS_SLOT_FREE = 8, /* cuMemFreeAsync */
  SGPRS_SLOT_KIND_COUNT = 9,
};

enum SgprsSlotFlag {
  SGPRS_SLOT_JOB_FIRST = 1,   /* first launch of a job */
  SGPRS_SLOT_AFTER_SYNC = 2,  /* first launch after a blocking synchronisation */
  SGPRS_SLOT_COOPERATIVE = 4, /* needs all its blocks resident */
};

/* One recorded call. Written once by the recording thread before `recorded` moves past it. */
typedef struct SgprsSlot {
  uint64_t index;   /* its own index: tells a reader that the slot was rewritten */
  uint64_t time_ns; /* when it was recorded, if JOB_FIRST or AFTER_SYNC; else not later than that */
  uint64_t bytes;   /* copies and fills; else 0 */
  uint32_t job;     /* job ordinal of this process, from 1 */
  uint32_t kernel;  /* interned kernel id (kernels[]), 0 = none */
  uint32_t stream;  /* the shim's ordinal of the application's stream, 0 = NULL stream */
  uint32_t grid_x;
  uint16_t grid_y;
  uint16_t grid_z;
  uint16_t block_x;
  uint16_t block_y;
  uint16_t block_z;
  uint8_t kind;  /* SgprsSlotKind */
  uint8_t flags; /* SgprsSlotFlag bits */
  uint32_t shared_bytes;
  uint64_t gap_ns; /* JOB_FIRST: pause without CUDA calls before it; else 0 */
} SgprsSlot;
SGPRS_ABI_SIZE(SgprsSlot, 64);

#define SGPRS_GRANT_OPEN UINT64_MAX /* upto: to the end of the job, however long it is */

enum SgprsGrantFlag {
  SGPRS_GRANT_LAST_STAGE = 1,
  SGPRS_GRANT_LEARNING = 2, /* stage cuts unknown yet */
  SGPRS_GRANT_FORCED_SWITCH = 4,
};

/* Runtime -> issuer: slots [from, upto) of jobs <= `job` may be issued on `partition`. */
typedef struct SgprsGrant {
  uint64_t sequence; /* from 1; completions name it */
  uint64_t from;
  uint64_t upto;                /* or SGPRS_GRANT_OPEN */
  uint64_t time_ns;             /* when it was decided */
  uint64_t virtual_deadline_ns; /* absolute; UINT64_MAX = none */
  uint32_t job;
  uint32_t stage;
  uint16_t partition;
  uint8_t level; /* SgprsLevel */
  uint8_t flags; /* SgprsGrantFlag bits */
  uint32_t reserved0;
  uint64_t reserved1;
} SgprsGrant;
SGPRS_ABI_SIZE(SgprsGrant, 64);

enum SgprsCompletionFlag {
  SGPRS_COMPLETION_PARTIAL = 1, /* work issued so far is done; the grant goes on */
  SGPRS_COMPLETION_SELF = 2,    /* issued without a grant (runtime gone or silent) */
  SGPRS_COMPLETION_ERROR = 4,   /* the driver answered with an error */
  SGPRS_COMPLETION_SWITCHED = 8 /* ran in another partition than the work before it */
};

/* Completer -> runtime: everything before `upto` is complete. */
typedef struct SgprsCompletion {
  uint64_t grant; /* sequence of the grant, 0 with SELF */
  uint64_t upto;
  uint64_t first_issue_ns;
  uint64_t last_issue_ns;
  uint64_t complete_ns; /* when the completer saw it */
  uint64_t gpu_ns;      /* GPU time from the grant's first item to the marker, 0 = unknown */
  uint32_t job;
  uint32_t stage;
  uint16_t partition;
  uint16_t flags;        /* SgprsCompletionFlag bits */
  uint32_t driver_error; /* CUresult, 0 = none */
} SgprsCompletion;
SGPRS_ABI_SIZE(SgprsCompletion, 64);

/* Interned kernel name. Written once by the shim before `kernel_count` moves past it. */
typedef struct SgprsKernelName {
  uint64_t hash;       /* FNV-1a of the whole name */
  uint32_t name_bytes; /* of the whole name, may exceed what fits */
  uint32_t param_bytes;
  uint32_t reserved0;
  uint32_t reserved1;
  char name[SGPRS_KERNEL_NAME_BYTES]; /* NUL-terminated, cut if too long */
} SgprsKernelName;
SGPRS_ABI_SIZE(SgprsKernelName, 512);

/* A doorbell: ring = add 1 to `sequence`, then FUTEX_WAKE if `asleep`. Sleep = set `asleep`, look
 * once more, FUTEX_WAIT on `sequence`. */
typedef struct SgprsDoorbell {
  uint32_t sequence;
  uint32_t asleep;
  uint32_t reserved[14];
} SgprsDoorbell;
SGPRS_ABI_SIZE(SgprsDoorbell, 64);

/* Runtime -> shim settings, rewritten while the process runs. */
typedef struct SgprsLaneSettings {
  uint64_t period_ns;    /* 0 = not periodic */
  uint64_t pause_ns;     /* job border: least pause without CUDA calls */
  uint64_t job_launches; /* learnt or declared launches of one job; 0 = unknown */
  uint64_t alive_ns;     /* heartbeat: when the runtime last turned its loop */
  uint32_t job_rule;     /* SgprsJobRule */
  uint32_t reserved0;
  uint64_t reserved1[3];
} SgprsLaneSettings;
SGPRS_ABI_SIZE(SgprsLaneSettings, 64);

/* Shim -> runtime counters. One writer group: the shim. */
typedef struct SgprsLaneCounters {
  uint64_t kernels;          /* kernels recorded */
  uint64_t bypassed;         /* launches that went to the driver unrecorded */
  uint64_t self_granted;     /* slots issued without a grant */
  uint64_t drains;           /* times a call drained the lane */
  uint64_t unknown_calls;    /* calls of symbols without a row in hooked_calls.inc */
  uint64_t completions_lost; /* completion ring full */
  uint64_t kernels_direct;   /* kernels launched by the driver path without deferral */
  uint64_t blocked_upto;     /* slot count that the latest blocking call waits for */
} SgprsLaneCounters;
SGPRS_ABI_SIZE(SgprsLaneCounters, 64);

typedef struct SgprsLaneHeader {
  /* Constant after hand-over; the reader copies and checks it once. */
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint64_t total_bytes;
  uint64_t features; /* bits, none defined yet */
  uint32_t header_bytes;
  uint32_t slot_count;
  uint32_t grant_count;
  uint32_t completion_count;
  uint32_t kernel_count;
  uint32_t reserved0;
  uint64_t slots_offset;
  uint64_t grants_offset;
  uint64_t completions_offset;
  uint64_t kernels_offset;
  uint64_t client_id;
  uint8_t device_uuid[SGPRS_UUID_BYTES];
  uint8_t reserved1[24];

  /* Written by the application's threads (under the shim's record lock). */
  uint64_t recorded; /* 128 */
  uint64_t kernels_interned;
  uint64_t jobs; /* job ordinal of the latest slot */
  uint64_t reserved_app[5];

  /* Written by the runtime. */
  uint64_t granted; /* 192: first index not granted, never beyond `recorded` once the job is over */
  uint64_t grants_published;
  uint64_t completions_consumed;
  uint64_t reserved_runtime[5];

  /* Written by the issuer. */
  uint64_t issued; /* 256 */
  uint64_t grants_consumed;
  uint64_t reserved_issuer[6];

  /* Written by the completer. */
  uint64_t completed; /* 320 */
  uint64_t completions_published;
  uint64_t reserved_completer[6];

  SgprsDoorbell runtime_doorbell; /* 384: rung by the shim */
  SgprsDoorbell issuer_doorbell;  /* 448: rung by the runtime and by recording threads */
  SgprsLaneSettings settings;     /* 512: written by the runtime */
  SgprsLaneCounters counters;     /* 576: written by the shim */
  uint8_t reserved_tail[384];     /* 640 .. 1024 */
} SgprsLaneHeader;
SGPRS_ABI_SIZE(SgprsLaneHeader, 1024);
SGPRS_ABI_OFFSET(SgprsLaneHeader, recorded, 128);
SGPRS_ABI_OFFSET(SgprsLaneHeader, granted, 192);
SGPRS_ABI_OFFSET(SgprsLaneHeader, issued, 256);
SGPRS_ABI_OFFSET(SgprsLaneHeader, completed, 320);
SGPRS_ABI_OFFSET(SgprsLaneHeader, runtime_doorbell, 384);
SGPRS_ABI_OFFSET(SgprsLaneHeader, settings, 512);
SGPRS_ABI_OFFSET(SgprsLaneHeader, counters, 576);

#endif /* SGPRS_ABI_LANE_H_ */
