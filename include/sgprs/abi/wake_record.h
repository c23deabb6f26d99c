/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * What a kernel probe (bpf/) says of one wait of one registered thread: from falling asleep to the
 * return of the system call, and what the thread did since the record before. Written by the
 * probes, read by runtime/kernel; travels in a BPF ring buffer, never on disk.
 *
 *   previous exit ... run, queued, blocked, stopped ... sleep   due  expire  wakeup  on_cpu   exit
 *   └─────────────── activity before the wait ─────────────┘     └──────── the wait ────────────┘
 *
 * A stamp that was not seen is 0. No order is promised: the reader checks it (runtime/kernel).
 */
#ifndef SGPRS_ABI_WAKE_RECORD_H_
#define SGPRS_ABI_WAKE_RECORD_H_

#include "sgprs/abi/abi.h"

#define SGPRS_COMM_BYTES 16

/* Which call the thread waited in. */
enum SgprsWait {
  SGPRS_WAIT_NONE = 0,
  SGPRS_WAIT_TIMER = 1,    /* nanosleep, clock_nanosleep */
  SGPRS_WAIT_FUTEX = 2,    /* locks, condition variables */
  SGPRS_WAIT_POLL = 3,     /* poll, select, epoll_wait */
  SGPRS_WAIT_READ = 4,     /* read and its kind: pipes, files, timerfd, eventfd */
  SGPRS_WAIT_SOCKET = 5,   /* recv*, accept* */
  SGPRS_WAIT_IO_URING = 6, /* io_uring_enter */
  SGPRS_WAIT_SIGNAL = 7,   /* pause, sigwait and the like */
  SGPRS_WAIT_COUNT = 8,
};

enum SgprsWakeFlag {
  SGPRS_WAKE_TIMER = 1,       /* a high-resolution timer ended the wait: due and expire are set */
  SGPRS_WAKE_INTERRUPTED = 2, /* a signal ended the call early */
  SGPRS_WAKE_NO_SLEEP = 4,    /* an absolute sleep whose time was over: due and exit only */
};

typedef struct SgprsWakeRecord {
  uint64_t client_id; /* what the thread group was registered with */
  uint32_t tid;       /* as the first pid namespace counts */
  uint32_t sequence;  /* of this thread, from 1: a gap is a lost record */
  uint8_t wait;       /* SgprsWait */
  uint8_t flags;      /* SgprsWakeFlag bits */
  uint16_t syscall;
  uint32_t cpu; /* it went on */
  uint64_t sleep_ns;
  uint64_t due_ns;    /* what was asked of the timer */
  uint64_t expire_ns; /* when its interrupt ran it */
  uint64_t wakeup_ns;
  uint64_t on_cpu_ns;
  uint64_t exit_ns;
  uint32_t waker_tid; /* thread current at the wakeup; an interrupt borrows whoever ran */
  uint32_t ran_tid;   /* who had this CPU longest between wakeup and on_cpu; 0 = nobody */
  uint64_t ran_ns;
  char waker_comm[SGPRS_COMM_BYTES];
  char ran_comm[SGPRS_COMM_BYTES];

  uint64_t run_ns;     /* on a CPU */
  uint64_t queued_ns;  /* runnable, another thread had the CPU */
  uint64_t blocked_ns; /* asleep in other calls and page faults, and waits too short for a record */
  uint64_t stopped_ns; /* by SIGSTOP or a debugger */
  uint64_t preempt_ns; /* the longest single stretch of queued_ns */
  uint32_t preempt_tid;      /* who had the CPU longest in it */
  uint32_t switches_seen;    /* by the probe since the record before */
  uint32_t switches_counted; /* by the kernel; more than seen: events went missing */
  uint32_t reserved0;
  char preempt_comm[SGPRS_COMM_BYTES];
} SgprsWakeRecord;
SGPRS_ABI_SIZE(SgprsWakeRecord, 192);

#endif /* SGPRS_ABI_WAKE_RECORD_H_ */
