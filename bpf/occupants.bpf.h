/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * Per CPU: who ran lately, and which timer's callback is running now. Written on its own CPU with
 * interrupts off (sched_switch, hrtimer_expire_*), read there too.
 */
#ifndef SGPRS_BPF_OCCUPANTS_BPF_H_
#define SGPRS_BPF_OCCUPANTS_BPF_H_

#include "bpf/kernel_types.h"
#define OCCUPANTS 8u /* a power of two; older ones are forgotten */

struct occupant {
  uint64_t since_ns;
  uint32_t tid; /* 0 = idle */
  char comm[16];
};

struct cpu_state {
  uint64_t timer; /* whose callback runs now, 0 = none */
  uint64_t due_ns;
  uint64_t expire_ns;
  uint32_t switches;
  struct occupant ran[OCCUPANTS];
};

struct culprit {
  uint64_t ns;
  uint32_t tid;
  char comm[16];
};

static __always_inline void note_switch(struct cpu_state* cpu, uint32_t tid, const void* comm,
                                        uint64_t now) {
  struct occupant* o = &cpu->ran[cpu->switches++ & (OCCUPANTS - 1)];

  o->since_ns = now;
  o->tid = tid;
  if (tid) bpf_probe_read_kernel(o->comm, sizeof(o->comm), comm);
}

/* Who had this CPU longest in [from, to); the idle task does not count. */
static __always_inline void find_culprit(struct cpu_state* cpu, uint64_t from, uint64_t to,
                                         struct culprit* out) {
  uint64_t end = to;

  for (uint32_t i = 1; i <= OCCUPANTS; i++) {
    struct occupant* o = &cpu->ran[(cpu->switches - i) & (OCCUPANTS - 1)];
    uint64_t begin = o->since_ns > from ? o->since_ns : from;

    if (end <= from || !o->since_ns) break;
    if (o->tid && end > begin && end - begin > out->ns) {
      out->ns = end - begin;
      out->tid = o->tid;
      __builtin_memcpy(out->comm, o->comm, sizeof(out->comm));
    }
    end = o->since_ns;
  }
}

#endif /* SGPRS_BPF_OCCUPANTS_BPF_H_ */
