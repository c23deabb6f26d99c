/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* What the probes and their loader (runtime/kernel) share besides the record itself. */
#ifndef SGPRS_BPF_PROBE_SHARED_H_
#define SGPRS_BPF_PROBE_SHARED_H_

#ifdef __cplusplus
#include <cstdint>
#else
#include <stdint.h>
#endif

#define SGPRS_PROBE_SYSCALLS 512 /* numbers from here on are never a wait */

/* Read-only data of every object, in a section of its own: set before loading, constant after. */
#define SGPRS_PROBE_SETTINGS_SECTION ".rodata.settings"
struct SgprsProbeSettings {
  uint64_t min_wait_ns;       /* shorter waits make no record, unless a timer ended them */
  uint64_t wake_reader_bytes; /* unread bytes from which on the reader is woken */
  uint32_t clock_nanosleep;   /* its number */
  uint32_t reserved0;
  uint8_t wait_of_syscall[SGPRS_PROBE_SYSCALLS]; /* SgprsWait */
};

/* Index into the map `counts`. */
enum SgprsProbeCount {
  SGPRS_PROBE_SENT = 0,       /* records handed to the reader */
  SGPRS_PROBE_LOST = 1,       /* records that found the ring full */
  SGPRS_PROBE_SHORT = 2,      /* waits too short for a record */
  SGPRS_PROBE_MISMATCHED = 3, /* the call that ended is not the one slept in: stamps thrown away */
  SGPRS_PROBE_THREADS = 4,    /* threads followed so far */
  SGPRS_PROBE_NO_MEMORY = 5,  /* threads that can not be followed */
  SGPRS_PROBE_COUNTS = 6,
};

#endif /* SGPRS_BPF_PROBE_SHARED_H_ */
