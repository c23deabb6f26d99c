/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job log: one record a job, in a ring of files that the runtime writes and tools read.
 *
 *   DIR/jobs.0  DIR/jobs.1 ... DIR/jobs.(file_count-1)
 *   each: SgprsLogHeader (4096 bytes), then records of SGPRS_LOG_RECORD_BYTES, appended
 *
 * A file that is full is followed by the next one, which is emptied first: the oldest records go.
 * `file_number` rises with each file begun, file N lies in jobs.(N mod file_count). Records carry
 * rising sequence numbers over all files and a check word, so that a record cut short (SIGKILL, a
 * full disk) or one that is being written is told from a whole one. A file's first records name
 * the tasks alive (SgprsLogTask) and what their stages are made of (SgprsLogContents), so that
 * every file can be read without the ones before it.
 *
 * Time is u64 ns of CLOCK_MONOTONIC; 0 = not seen. Native byte order: the magic tells.
 */
#ifndef SGPRS_ABI_JOB_LOG_H_
#define SGPRS_ABI_JOB_LOG_H_

#include "sgprs/abi/abi.h"

#define SGPRS_LOG_MAGIC 0x474f4c534f424a53ull /* "SJBOSLOG" */
#define SGPRS_LOG_MAJOR 1
#define SGPRS_LOG_MINOR 1 /* 1: SgprsLogContents */
#define SGPRS_LOG_HEADER_BYTES 4096
#define SGPRS_LOG_RECORD_BYTES 640
#define SGPRS_LOG_STAGES 8       /* stages in a job's own record */
#define SGPRS_LOG_MORE_STAGES 12 /* stages in each record after it */
#define SGPRS_LOG_CONTENTS 4     /* stages in one SgprsLogContents */
#define SGPRS_LOG_KERNELS 2      /* kernels named of each stage */
#define SGPRS_LOG_KERNEL_BYTES 60
#define SGPRS_LOG_COMM_BYTES 16

enum SgprsLogKind {
  SGPRS_LOG_TASK = 1,        /* SgprsLogTask */
  SGPRS_LOG_JOB = 2,         /* SgprsLogJob */
  SGPRS_LOG_MORE = 3,        /* SgprsLogMore: stages of the job record before it */
  SGPRS_LOG_CONTENTS_OF = 4, /* SgprsLogContents */
};

/* Where a task's releases come from (option `release`). */
enum SgprsReleaseRule {
  SGPRS_RELEASE_FIRST_LAUNCH = 0, /* when the first launch was recorded */
  SGPRS_RELEASE_TIMER = 1,        /* when the timer that it slept on was due */
  SGPRS_RELEASE_INPUT = 2,        /* when its input woke it */
  SGPRS_RELEASE_GRID = 3,         /* the point of the task's grid (runtime/sched/release_grid.h) */
  SGPRS_RELEASE_RULES = 4,
};

/* What the job waited for longest between its first launch and its first issue. */
enum SgprsHeldBy {
  SGPRS_HELD_NOTHING = 0,
  SGPRS_HELD_OWN_JOB = 1,   /* the job before it was not over */
  SGPRS_HELD_GATE = 2,      /* held back by the overload policy */
  SGPRS_HELD_PARTITION = 3, /* its partition was taken, by `held_client` if known */
  SGPRS_HELD_ISSUER = 4,    /* granted, but the process's issuer came late */
  SGPRS_HELD_RUNTIME = 5,   /* its partition was free, but sgprsd came late to decide */
};

enum SgprsLogJobFlag {
  SGPRS_LOG_MISSED = 1,
  SGPRS_LOG_OFF_SIGNATURE = 2,
  SGPRS_LOG_LEARNING = 4,
  SGPRS_LOG_STAMPS = 8,     /* due .. wait_exit come from the kernel's probes */
  SGPRS_LOG_NO_SLEEP = 16,  /* the job was due before the one before it was over */
  SGPRS_LOG_ACTIVITY = 32,  /* run .. stopped are known */
  SGPRS_LOG_PREEMPTED = 64, /* `culprit` had the CPU in user code, not before it */
};

enum SgprsLogStageFlag {
  SGPRS_LOG_STAGE_VIRTUAL_MET = 1,
  SGPRS_LOG_STAGE_SWITCHED = 2,
  SGPRS_LOG_STAGE_LEARNING = 4,
  SGPRS_LOG_STAGE_ERROR = 8,
};

/* Every record begins like this. */
typedef struct SgprsLogRecord {
  uint64_t sequence; /* from 1 */
  uint64_t check;    /* over the whole record with this word 0 (runtime/observe/job_log_check.h) */
  uint16_t kind;     /* SgprsLogKind */
  uint16_t reserved0;
  uint32_t dropped; /* records dropped between the one before and this one, cut to 32 bits */
} SgprsLogRecord;
SGPRS_ABI_SIZE(SgprsLogRecord, 24);

typedef struct SgprsLogStage {
  uint64_t granted_ns;
  uint64_t issued_ns;
  uint64_t gpu_start_ns;        /* gpu_end less its GPU time, 0 = not known */
  uint64_t gpu_end_ns;          /* when the completer saw it */
  uint64_t virtual_deadline_ns; /* UINT64_MAX = none */
  uint16_t partition;
  uint8_t level;        /* SgprsLevel */
  uint8_t flags;        /* SgprsLogStageFlag */
  uint32_t occupant_id; /* low half of the client id that was in the partition, 0 = nobody */
} SgprsLogStage;
SGPRS_ABI_SIZE(SgprsLogStage, 48);

typedef struct SgprsLogJob {
  SgprsLogRecord record;
  uint16_t flags;       /* SgprsLogJobFlag */
  uint8_t release_rule; /* SgprsReleaseRule that gave release_ns */
  uint8_t wait;         /* SgprsWait (wake_record.h) it came out of */
  uint8_t held_by;      /* SgprsHeldBy */
  uint8_t reserved0[3];
  uint64_t client_id;
  uint64_t job;

  /* In the order in which they happen. */
  uint64_t due_ns;
  uint64_t expire_ns;
  uint64_t wakeup_ns;
  uint64_t on_cpu_ns;
  uint64_t wait_exit_ns;
  uint64_t first_launch_ns;
  uint64_t first_grant_ns;
  uint64_t first_issue_ns;
  uint64_t complete_ns;

  uint64_t release_ns;  /* what the scheduler took for the release */
  uint64_t deadline_ns; /* absolute; UINT64_MAX = none */
  uint64_t gpu_ns;      /* of all its stages, 0 = not known */
  uint64_t held_ns;     /* by held_by */
  uint64_t held_client; /* 0 = not known */

  /* What its thread did from wait_exit on, up to its next wait. */
  uint64_t run_ns;
  uint64_t queued_ns;
  uint64_t blocked_ns;
  uint64_t stopped_ns;

  /* Who had the CPU while this thread could have run, in the longest such stretch. */
  uint64_t culprit_ns;
  uint32_t culprit_tid;
  uint32_t cpu;
  char culprit_comm[SGPRS_LOG_COMM_BYTES];

  uint32_t stage_count; /* of the job; beyond SGPRS_LOG_STAGES they follow in SgprsLogMore */
  uint32_t stages_lost; /* not logged: more than SGPRS_MAX_STAGES */
  uint64_t reserved1[3];
  SgprsLogStage stages[SGPRS_LOG_STAGES];
} SgprsLogJob;
SGPRS_ABI_SIZE(SgprsLogJob, SGPRS_LOG_RECORD_BYTES);

typedef struct SgprsLogMore {
  SgprsLogRecord record;
  uint64_t client_id;
  uint64_t job;
  uint32_t first_stage; /* of the ones here */
  uint32_t stage_count; /* here */
  uint64_t reserved0[2];
  SgprsLogStage stages[SGPRS_LOG_MORE_STAGES];
} SgprsLogMore;
SGPRS_ABI_SIZE(SgprsLogMore, SGPRS_LOG_RECORD_BYTES);

typedef struct SgprsLogTask {
  SgprsLogRecord record;
  uint64_t client_id;
  char name[SGPRS_NAME_BYTES];
  char program[SGPRS_NAME_BYTES];
  uint64_t period_ns;
  uint64_t deadline_ns; /* relative */
  uint64_t joined_ns;
  uint64_t gone_ns; /* 0 = alive */
  uint32_t pid;
  uint32_t task_class;
  uint32_t release_rule; /* SgprsReleaseRule asked for */
  uint32_t reserved0;
  uint64_t reserved1[54];
} SgprsLogTask;
SGPRS_ABI_SIZE(SgprsLogTask, SGPRS_LOG_RECORD_BYTES);

/* A kernel by its short name; launches = 0: none. */
typedef struct SgprsLogKernel {
  char name[SGPRS_LOG_KERNEL_BYTES];
  uint32_t launches; /* a job */
} SgprsLogKernel;
SGPRS_ABI_SIZE(SgprsLogKernel, 64);

/* What a task launches most in a stage, most often launched first. */
typedef struct SgprsLogStageKernels {
  SgprsLogKernel kernels[SGPRS_LOG_KERNELS];
} SgprsLogStageKernels;
SGPRS_ABI_SIZE(SgprsLogStageKernels, 128);

/* What a task's stages are made of, for its jobs from here on: `stage_count` stages in records of
 * SGPRS_LOG_CONTENTS, rising from first_stage = 0, which forgets what was said before. */
typedef struct SgprsLogContents {
  SgprsLogRecord record;
  uint64_t client_id;
  uint32_t first_stage; /* of the ones here */
  uint32_t stage_count; /* of a job */
  SgprsLogStageKernels stages[SGPRS_LOG_CONTENTS];
  uint64_t reserved0[11];
} SgprsLogContents;
SGPRS_ABI_SIZE(SgprsLogContents, SGPRS_LOG_RECORD_BYTES);

typedef struct SgprsLogPartition {
  uint32_t first_sm;
  uint32_t sm_count;
} SgprsLogPartition;

typedef struct SgprsLogHeader {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes;
  uint32_t record_bytes;
  uint32_t file_count;
  uint64_t file_number;    /* from 0 */
  uint64_t file_records;   /* most records of one file */
  uint64_t first_sequence; /* of the first record here */
  uint64_t begun_ns;       /* CLOCK_MONOTONIC, and ... */
  uint64_t begun_unix_ns;  /* ... the wall clock at the same time */
  uint64_t dropped;        /* records dropped before this file was begun */
  uint8_t boot_id[16];     /* times of another boot do not compare */
  uint32_t pid;            /* of sgprsd */
  uint32_t probe_level;    /* runtime/kernel/probe_level.h */
  uint32_t sm_count;
  uint32_t partition_count;
  SgprsLogPartition partitions[SGPRS_MAX_PARTITIONS];
  char policy[SGPRS_NAME_BYTES];
  char device_name[SGPRS_NAME_BYTES];
  uint64_t check; /* over the header with this word 0 */
  uint8_t reserved0[3600];
} SgprsLogHeader;
SGPRS_ABI_SIZE(SgprsLogHeader, SGPRS_LOG_HEADER_BYTES);

#endif /* SGPRS_ABI_JOB_LOG_H_ */
