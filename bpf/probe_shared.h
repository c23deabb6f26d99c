/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* What the probes and their loader (runtime/kernel) share besides the record itself. */
#ifndef SGPRS_BPF_PROBE_SHARED_H_
#define SGPRS_BPF_PROBE_SHARED_H_

#define SGPRS_PROBE_SYSCALLS 512 /* numbers from here on are never a wait */

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
