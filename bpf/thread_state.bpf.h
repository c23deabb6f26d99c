/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * A followed thread from event to event, whatever the events came from: leaves a CPU, is woken,
 * enters a CPU, returns from a system call. One thread's events never overlap: the scheduler's own
 * order is the lock.
 */
#ifndef SGPRS_BPF_THREAD_STATE_BPF_H_
#define SGPRS_BPF_THREAD_STATE_BPF_H_

#include "bpf/kernel_types.h"
#include "bpf/occupants.bpf.h"
#include "bpf/release_maps.bpf.h"

/* -512 .. -516: the kernel's own codes for "a signal came, this call is begun again". */
#define RESTARTS(ret) ((ret) <= -512 && (ret) >= -516)
#define INTERRUPTED -4       /* EINTR */
#define ANY_CALL 0xffffu     /* asleep in a call whose number is known at its return only */
#define WAIT_IN_ANY_CALL 255 /* the SgprsWait of that, until then */

static __always_inline uint8_t wait_of(unsigned long nr) {
  return nr < SGPRS_PROBE_SYSCALLS ? settings.wait_of_syscall[nr] : SGPRS_WAIT_NONE;
}

/* `wait`, `nr`: the call it sleeps in; SGPRS_WAIT_NONE = none of those that are waits. */
static __always_inline void leave_cpu(struct thread* t, enum off_cpu off, uint8_t wait,
                                      unsigned long nr, uint64_t now) {
  struct SgprsWakeRecord* r = &t->record;

  if (t->on_ns) r->run_ns += now - t->on_ns;
  r->switches_seen++;
  t->on_ns = 0;
  t->off_ns = now;
  t->queued_ns = off == OFF_QUEUED ? now : 0;
  t->off = off == OFF_BLOCKED && wait ? OFF_WAIT : off;
  if (t->off != OFF_WAIT) return;
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

/* Runs where the waker runs: inside a timer's callback if a timer is what wakes. */
static __always_inline void woken(struct thread* t, struct cpu_state* cpu) {
  struct SgprsWakeRecord* r = &t->record;
  uint64_t now = bpf_ktime_get_ns();

  if (t->off == OFF_NOT || t->queued_ns) return;
  t->queued_ns = now;
  if (t->off == OFF_BLOCKED) r->blocked_ns += now - t->off_ns;
  if (t->off == OFF_STOPPED) r->stopped_ns += now - t->off_ns;
  if (t->off != OFF_WAIT) return;
  r->wakeup_ns = now;
  if (cpu && cpu->timer) {
    r->flags |= SGPRS_WAKE_TIMER;
    r->due_ns = cpu->due_ns;
    r->expire_ns = cpu->expire_ns;
  }
  r->waker_tid = (uint32_t)bpf_get_current_pid_tgid();
  bpf_get_current_comm(r->waker_comm, SGPRS_COMM_BYTES);
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

/* `switches`: the kernel's count of this thread's, for the next record. */
static __always_inline void start_over(struct thread* t, uint32_t tid, uint64_t switches,
                                       uint64_t now) {
  struct SgprsWakeRecord* r = &t->record;
  uint32_t sequence = r->sequence;
  uint64_t client_id = r->client_id;

  __builtin_memset(r, 0, sizeof(*r));
  r->client_id = client_id;
  r->sequence = sequence;
  r->tid = tid;
  t->switches = switches;
  t->on_ns = now;
}

static __always_inline void send(struct SgprsWakeRecord* r) {
  bool wake = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= settings.wake_reader_bytes;
  struct SgprsWakeRecord* out;

  r->sequence++;
  out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
  if (!out) {
    count(SGPRS_PROBE_LOST);
    return;
  }
  __builtin_memcpy(out, r, sizeof(*out));
  bpf_ringbuf_submit(out, wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  count(SGPRS_PROBE_SENT);
}

/* Back from call `nr`, which it slept in, or which is overdue (flags say so). */
static __always_inline void finish_call(struct thread* t, unsigned long nr, long ret, uint32_t tid,
                                        uint64_t switches) {
  struct SgprsWakeRecord* r = &t->record;
  uint64_t now = bpf_ktime_get_ns();
  uint64_t asleep = r->wakeup_ns - r->sleep_ns;

  if (r->syscall == ANY_CALL) {
    r->syscall = nr;
    r->wait = wait_of(nr);
  }
  if (r->sleep_ns && nr != r->syscall) {
    count(SGPRS_PROBE_MISMATCHED);
    start_over(t, tid, switches, now);
    return;
  }
  if (RESTARTS(ret) || ret == INTERRUPTED) r->flags |= SGPRS_WAKE_INTERRUPTED;
  /* Too short for a record: part of what the thread did. Without a wakeup nobody knows how long it
   * was: a record that its reader counts as incomplete. */
  if (!r->wait || (!(r->flags & (SGPRS_WAKE_TIMER | SGPRS_WAKE_NO_SLEEP)) && r->wakeup_ns &&
                   asleep < settings.min_wait_ns)) {
    if (r->wakeup_ns) r->blocked_ns += asleep;
    if (r->on_cpu_ns > r->wakeup_ns) r->queued_ns += r->on_cpu_ns - r->wakeup_ns;
    r->sleep_ns = r->due_ns = r->expire_ns = r->wakeup_ns = r->on_cpu_ns = 0;
    r->flags = r->wait = 0;
    count(SGPRS_PROBE_SHORT);
    return;
  }
  r->exit_ns = now;
  r->switches_counted = switches - t->switches;
  send(r);
  start_over(t, tid, switches, now);
}

#endif /* SGPRS_BPF_THREAD_STATE_BPF_H_ */
