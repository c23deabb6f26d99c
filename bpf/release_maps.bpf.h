/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* Settings, maps and per-thread state that every object has. */
#ifndef SGPRS_BPF_RELEASE_MAPS_BPF_H_
#define SGPRS_BPF_RELEASE_MAPS_BPF_H_

#include "bpf/kernel_types.h"
#include "bpf/occupants.bpf.h"
#include "bpf/probe_shared.h"
#include "sgprs/abi/wake_record.h"

const volatile struct SgprsProbeSettings settings SEC(SGPRS_PROBE_SETTINGS_SECTION);

enum off_cpu { OFF_NOT, OFF_QUEUED, OFF_BLOCKED, OFF_STOPPED, OFF_WAIT };

struct thread {
  struct SgprsWakeRecord record;
  uint64_t on_ns;     /* on a CPU since; 0 = is not */
  uint64_t off_ns;    /* off the CPU since */
  uint64_t queued_ns; /* runnable since; 0 = is not */
  uint64_t switches;  /* the kernel's count at the record before */
  uint32_t off;       /* off_cpu */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct cpu_state);
} cpus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18); /* the loader sets it */
} records SEC(".maps");

/* By SgprsProbeCount. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SGPRS_PROBE_COUNTS);
  __type(key, uint32_t);
  __type(value, uint64_t);
} counts SEC(".maps");

static __always_inline void count(uint32_t what) {
  uint64_t* value = bpf_map_lookup_elem(&counts, &what);

  if (value) ++*value;
}

static __always_inline struct cpu_state* this_cpu(void) {
  uint32_t zero = 0;

  return bpf_map_lookup_elem(&cpus, &zero);
}

#endif /* SGPRS_BPF_RELEASE_MAPS_BPF_H_ */
