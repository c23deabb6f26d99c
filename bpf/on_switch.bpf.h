/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* What a context switch means for a followed thread. */
#ifndef SGPRS_BPF_ON_SWITCH_BPF_H_
#define SGPRS_BPF_ON_SWITCH_BPF_H_

#include "bpf/kernel_types.h"
#include "bpf/occupants.bpf.h"
#include "bpf/release_maps.bpf.h"

static __always_inline void leave_cpu(struct thread* t, struct task_struct* task, bool preempt,
                                      unsigned int state, uint64_t now) {
  struct SgprsWakeRecord* r = &t->record;
  struct pt_regs* regs;
  unsigned long nr;
  uint8_t wait;

  if (t->on_ns) r->run_ns += now - t->on_ns;
  r->switches_seen++;
  t->on_ns = 0;
  t->off_ns = now;
  t->queued_ns = 0;
  if (preempt || !state) {
    t->off = OFF_QUEUED;
    t->queued_ns = now;
    return;
  }
  t->off = state & TASK_STOPPED_OR_TRACED ? OFF_STOPPED : OFF_BLOCKED;
  if (t->off == OFF_STOPPED) return;
  regs = (struct pt_regs*)bpf_task_pt_regs(task);
  nr = SYSCALL_NUMBER(regs);
  wait = nr < SGPRS_PROBE_SYSCALLS ? wait_of_syscall[nr] : SGPRS_WAIT_NONE;
  if (!wait) return;
  t->off = OFF_WAIT;
  if (!r->sleep_ns) {
    r->sleep_ns = now;
    r->wait = wait;
    r->syscall = nr;
  }
  /* Woken for nothing and asleep again within one call: only the last wakeup counts. */
  r->flags = 0;
  r->due_ns = r->expire_ns = r->wakeup_ns = r->on_cpu_ns = r->ran_ns = 0;
  r->ran_tid = 0;
}

static __always_inline void enter_cpu(struct thread* t, struct cpu_state* cpu, uint64_t now) {
  struct SgprsWakeRecord* r = &t->record;
  struct culprit who = {};

  t->on_ns = now;
  if (t->off == OFF_WAIT) {
    r->on_cpu_ns = now;
    r->cpu = bpf_get_smp_processor_id();
    if (t->queued_ns) find_culprit(cpu, t->queued_ns, now, &who);
    r->ran_ns = who.ns;
    r->ran_tid = who.tid;
    __builtin_memcpy(r->ran_comm, who.comm, sizeof(who.comm));
  } else if (t->queued_ns) {
    r->queued_ns += now - t->queued_ns;
    if (now - t->queued_ns > r->preempt_ns) {
      find_culprit(cpu, t->queued_ns, now, &who);
      r->preempt_ns = now - t->queued_ns;
      r->preempt_tid = who.tid;
      __builtin_memcpy(r->preempt_comm, who.comm, sizeof(who.comm));
    }
  }
  t->off = OFF_NOT;
  t->queued_ns = 0;
}

#endif /* SGPRS_BPF_ON_SWITCH_BPF_H_ */
