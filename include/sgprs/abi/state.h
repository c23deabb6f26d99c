/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state segment: what tools read. The runtime is the only writer; tools map it read-only, so
 * watching costs the runtime nothing. Each row has a seqcount: odd while it is being written; a
 * reader copies the row, then checks that the count is even and unchanged, else tries again.
 */
#ifndef SGPRS_ABI_STATE_H_
#define SGPRS_ABI_STATE_H_

#include "sgprs/abi/abi.h"

#define SGPRS_STATE_MAGIC 0x54415453u /* "STAT" */
#define SGPRS_HISTOGRAM_BUCKETS 32    /* bucket i counts values in [2^i, 2^(i+1)) microseconds */

typedef struct SgprsTaskCounters {
#define SGPRS_COUNTER(name, unit, help) uint64_t name;
#include "sgprs/abi/task_counters.inc"
#undef SGPRS_COUNTER
} SgprsTaskCounters;
SGPRS_ABI_SIZE(SgprsTaskCounters, 18 * 8);

enum SgprsTaskState {
  SGPRS_TASK_NONE = 0,      /* row is free */
  SGPRS_TASK_JOINING = 1,   /* lane handed over, partitions not built yet */
  SGPRS_TASK_LEARNING = 2,  /* signature not known yet */
  SGPRS_TASK_SCHEDULED = 3, /* stages are cut and placed */
  SGPRS_TASK_BYPASSED = 4,  /* the shim gave up on deferral */
  SGPRS_TASK_GONE = 5,      /* process over; row kept for the report until reused */
};

typedef struct SgprsTaskRow {
  uint32_t seqcount;
  uint32_t state; /* SgprsTaskState */
  uint64_t client_id;
  char name[SGPRS_NAME_BYTES];
  char program[SGPRS_NAME_BYTES];
  uint32_t pid;
  uint32_t task_class; /* SgprsTaskClass */
  uint64_t period_ns;
  uint64_t deadline_ns; /* relative */
  uint32_t backend;     /* SgprsBackend */
  uint32_t stages;      /* learnt number of stages, 0 = still learning */
  uint32_t partition;   /* of the latest stage */
  uint32_t level;       /* of the latest stage */
  uint64_t joined_ns;
  uint64_t first_release_ns;
  uint64_t last_release_ns;
  uint64_t last_complete_ns;
  uint64_t last_response_ns; /* completion - release of the latest job */
  uint64_t worst_response_ns;
  uint64_t job_launches; /* of the learnt signature */
  uint64_t cost_ns;      /* estimated cost of a whole job in the largest partition */
  SgprsTaskCounters counters;
  uint32_t response_histogram[SGPRS_HISTOGRAM_BUCKETS];
  uint64_t jobs_held;      /* since 1.1: times that a job was held to its next release */
  uint64_t longest_hold;   /* since 1.1: most releases in a row that were held */
  uint32_t window_slots;   /* since 1.1: k of (m,k), 0 = not told */
  uint32_t worst_window;   /* since 1.1: fewest releases met in any k in a row */
  uint32_t over_admission; /* since 1.1: 1 = did not fit when it was judged (admission warn) */
  uint32_t padding;
  uint64_t reserved[4];
} SgprsTaskRow;
SGPRS_ABI_SIZE(SgprsTaskRow, 584);

typedef struct SgprsPartitionRow {
  uint32_t seqcount;
  uint32_t index;
  uint32_t first_sm;
  uint32_t sm_count;  /* planned */
  uint32_t sm_actual; /* smallest that a client got, 0 = none built yet */
  uint32_t running;   /* stages granted and not complete */
  uint32_t queued;    /* stages assigned and not granted */
  uint32_t stalled;   /* 1 = its oldest stage is over the bound */
  uint64_t busy_ns;   /* time with at least one stage granted */
  uint64_t stages_completed;
  uint64_t switches_in; /* stages that came from another partition */
  uint64_t reserved[8];
} SgprsPartitionRow;
SGPRS_ABI_SIZE(SgprsPartitionRow, 120);

typedef struct SgprsStateHeader {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint64_t total_bytes;
  uint32_t header_bytes;
  uint32_t task_rows;
  uint32_t task_row_bytes;
  uint32_t partition_rows;
  uint32_t partition_row_bytes;
  uint32_t seqcount; /* guards what follows */
  uint64_t tasks_offset;
  uint64_t partitions_offset;
  uint32_t pid; /* of sgprsd */
  uint32_t partition_count;
  uint64_t started_ns;
  uint64_t alive_ns; /* heartbeat */
  char policy[SGPRS_NAME_BYTES];
  char device_name[SGPRS_NAME_BYTES]; /* empty until a client told */
  uint32_t sm_count;
  uint32_t clients;
  uint64_t clients_total;
  uint64_t clients_refused;
  uint64_t clients_cut; /* hostile or broken */
  uint64_t decisions;
  uint64_t decision_ns; /* time spent deciding */
  uint64_t grants;
  char overload[16];  /* since 1.1: "late", "hold" */
  char admission[16]; /* since 1.1: "off", "warn", "reject" */
  uint64_t reserved[4];
} SgprsStateHeader;
SGPRS_ABI_SIZE(SgprsStateHeader, 328);

#endif /* SGPRS_ABI_STATE_H_ */
