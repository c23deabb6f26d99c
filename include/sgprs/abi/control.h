/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the control socket: Unix SOCK_SEQPACKET, one message a packet, fixed sizes, at most
 * SGPRS_CONTROL_MAX_BYTES. The peer's identity (pid, uid) is what the socket says, never a field.
 *
 *   shim  -> runtime   HELLO                      (first message, within 2 s of connecting)
 *   shim  <- runtime   WELCOME + lane memfd | REFUSE
 *   shim  -> runtime   READY                      (partitions are built; may repeat)
 *   shim  -> runtime   GOODBYE                    (orderly exit; closing the socket says the same)
 *   tool  -> runtime   STATE                      -> STATE + read-only memfd of the state segment
 *   tool  -> runtime   COMMAND                    -> REPLY
 *
 * A connection stays open as long as its client lives: hang-up on either side is the death notice.
 */
#ifndef SGPRS_ABI_CONTROL_H_
#define SGPRS_ABI_CONTROL_H_

#include "sgprs/abi/abi.h"

#define SGPRS_CONTROL_MAGIC 0x4c545243u /* "CRTL" */
#define SGPRS_CONTROL_MAX_BYTES 4096
#define SGPRS_CONTROL_TEXT_BYTES 4032

enum SgprsMessageType {
  SGPRS_MESSAGE_HELLO = 1,
  SGPRS_MESSAGE_WELCOME = 2,
  SGPRS_MESSAGE_REFUSE = 3,
  SGPRS_MESSAGE_READY = 4,
  SGPRS_MESSAGE_GOODBYE = 5,
  SGPRS_MESSAGE_STATE = 6,
  SGPRS_MESSAGE_COMMAND = 7,
  SGPRS_MESSAGE_REPLY = 8,
};

typedef struct SgprsMessageHeader {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint16_t type;  /* SgprsMessageType */
  uint16_t flags; /* 0 */
  uint32_t bytes; /* of the whole message, this header included */
} SgprsMessageHeader;
SGPRS_ABI_SIZE(SgprsMessageHeader, 16);

/* What a process says of itself when it registers. */
typedef struct SgprsHello {
  SgprsMessageHeader header;
  char name[SGPRS_NAME_BYTES];    /* task name, NUL-terminated */
  char program[SGPRS_NAME_BYTES]; /* base name of the executable, NUL-terminated */
  uint64_t period_ns;             /* 0 = not periodic */
  uint64_t deadline_ns;           /* relative; 0 = the period */
  uint64_t job_launches;          /* with SGPRS_JOB_LAUNCHES */
  uint32_t task_class;            /* SgprsTaskClass */
  uint32_t job_rule;              /* SgprsJobRule */
  uint8_t device_uuid[SGPRS_UUID_BYTES];
  char device_name[SGPRS_NAME_BYTES];
  uint32_t sm_count;     /* of the device */
  uint32_t sm_minimum;   /* least SMs of a partition, and ... */
  uint32_t sm_alignment; /* ... what its size must be a multiple of */
  uint32_t backends;     /* bits 1 << SgprsBackend that passed the probe */
  uint64_t signature;    /* 0; reserved for the profile's key */
  uint32_t release;      /* since 1.1: SgprsReleaseRule (job_log.h) + 1; 0 = not said */
  uint32_t padding;
  uint64_t reserved[3];
} SgprsHello;
SGPRS_ABI_SIZE(SgprsHello, 312);

typedef struct SgprsPartitionPlan {
  uint32_t first_sm; /* where its interval begins, in SMs of the device's order */
  uint32_t sm_count; /* size asked for; what the device gave is in READY */
} SgprsPartitionPlan;
SGPRS_ABI_SIZE(SgprsPartitionPlan, 8);

/* Followed, in SCM_RIGHTS, by the lane's memfd. */
typedef struct SgprsWelcome {
  SgprsMessageHeader header;
  uint64_t client_id;
  uint64_t lane_bytes;
  uint32_t partition_count;
  uint32_t backend_wanted; /* SgprsBackend, the first one to try */
  SgprsPartitionPlan partitions[SGPRS_MAX_PARTITIONS];
  uint64_t reserved[4];
} SgprsWelcome;
SGPRS_ABI_SIZE(SgprsWelcome, 328);

enum SgprsRefuseCode {
  SGPRS_REFUSE_VERSION = 1,
  SGPRS_REFUSE_FULL = 2,
  SGPRS_REFUSE_UID = 3,
  SGPRS_REFUSE_BAD_MESSAGE = 4,
  SGPRS_REFUSE_DEVICE = 5,
  SGPRS_REFUSE_ADMISSION = 6,
};

typedef struct SgprsRefuse {
  SgprsMessageHeader header;
  uint32_t code; /* SgprsRefuseCode */
  uint32_t reserved;
  char text[232]; /* one line, NUL-terminated */
} SgprsRefuse;
SGPRS_ABI_SIZE(SgprsRefuse, 256);

typedef struct SgprsReady {
  SgprsMessageHeader header;
  uint32_t backend; /* SgprsBackend in use */
  uint32_t partition_count;
  uint32_t sm_counts[SGPRS_MAX_PARTITIONS]; /* what the device gave */
} SgprsReady;
SGPRS_ABI_SIZE(SgprsReady, 152);

/* GOODBYE and the request of STATE are a bare header. */

/* COMMAND: `text` is a line of words ("policy naive"). REPLY: status 0 and JSON, else one line. */
typedef struct SgprsCommand {
  SgprsMessageHeader header;
  uint32_t status;     /* REPLY: 0 or an exit code for the tool */
  uint32_t text_bytes; /* without the NUL */
  char text[SGPRS_CONTROL_TEXT_BYTES];
} SgprsCommand;
SGPRS_ABI_SIZE(SgprsCommand, 4056);

#endif /* SGPRS_ABI_CONTROL_H_ */
