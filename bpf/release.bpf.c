// SPDX-License-Identifier: GPL-2.0
// When was a job really released? Follows each thread of the registered thread groups through its
// waits: asleep, timer due, timer expired, woken, on a CPU, back in user space; and says who ran
// meanwhile. One record a wait, without waking the reader.
//
// A group is registered by giving its leader's pidfd a value in `groups`. What is kept of a thread
// lives in its task storage, so it is gone with the thread, and ids are never mistaken.

#include "bpf/kernel_types.h"
#include "bpf/on_switch.bpf.h"
#include "bpf/release_maps.bpf.h"
#include "sgprs/abi/wake_record.h"

static __always_inline struct cpu_state* this_cpu(void) {
  uint32_t zero = 0;
  return bpf_map_lookup_elem(&cpus, &zero);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_timer, struct hrtimer* timer) {
  struct cpu_state* cpu = this_cpu();

  if (!cpu) return 0;
  cpu->timer = (uint64_t)timer;
  cpu->due_ns = timer->_softexpires - timer->base->offset;
  cpu->expire_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_timer_end, struct hrtimer* timer) {
  struct cpu_state* cpu = this_cpu();

  if (cpu && cpu->timer == (uint64_t)timer) cpu->timer = 0;
  return 0;
}

// Runs where the waker runs: inside a timer's callback if a timer is what wakes.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* task) {
  struct thread* t = bpf_task_storage_get(&threads, task, 0, 0);
  struct cpu_state* cpu;
  struct task_struct* waker;
  uint64_t now;

  if (!t || t->off == OFF_NOT || t->queued_ns) return 0;
  now = bpf_ktime_get_ns();
  t->queued_ns = now;
  if (t->off == OFF_BLOCKED) t->record.blocked_ns += now - t->off_ns;
  if (t->off == OFF_STOPPED) t->record.stopped_ns += now - t->off_ns;
  if (t->off != OFF_WAIT) return 0;
  cpu = this_cpu();
  t->record.wakeup_ns = now;
  if (cpu && cpu->timer) {
    t->record.flags |= SGPRS_WAKE_TIMER;
    t->record.due_ns = cpu->due_ns;
    t->record.expire_ns = cpu->expire_ns;
  }
  waker = bpf_get_current_task_btf();
  t->record.waker_tid = waker->pid;
  bpf_probe_read_kernel(t->record.waker_comm, SGPRS_COMM_BYTES, waker->comm);
  return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct* prev, struct task_struct* next,
             unsigned int prev_state) {
  struct cpu_state* cpu = this_cpu();
  uint64_t now = bpf_ktime_get_ns();
  struct thread* t = bpf_task_storage_get(&threads, prev, 0, 0);

  if (!cpu) return 0;
  if (t) leave_cpu(t, prev, preempt, prev_state, now);
  t = bpf_task_storage_get(&threads, next, 0, 0);
  if (t) enter_cpu(t, cpu, now);
  note_switch(cpu, next->pid, next->comm, now);
  return 0;
}

static __always_inline void send(struct thread* t, uint64_t switches, uint64_t now) {
  struct SgprsWakeRecord *r = &t->record, *out;
  bool wake;

  r->exit_ns = now;
  r->switches_counted = switches - t->switches;
  r->sequence++;
  wake = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= wake_reader_bytes;
  out = bpf_ringbuf_reserve(&records, sizeof(*out), 0);
  if (!out) {
    count(SGPRS_PROBE_LOST);
    return;
  }
  __builtin_memcpy(out, r, sizeof(*out));
  bpf_ringbuf_submit(out, wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  count(SGPRS_PROBE_SENT);
}

static __always_inline void start_over(struct thread* t, struct task_struct* task, uint64_t now) {
  struct SgprsWakeRecord* r = &t->record;
  uint32_t sequence = r->sequence;
  uint64_t client_id = r->client_id;

  __builtin_memset(r, 0, sizeof(*r));
  r->client_id = client_id;
  r->sequence = sequence;
  r->tid = task->pid;
  t->switches = task->nvcsw + task->nivcsw;
  t->on_ns = now;
}

/* The first system call of a registered thread: from here on it is followed. */
static __always_inline void follow(struct task_struct* task) {
  struct group* group = bpf_task_storage_get(&groups, task->group_leader, 0, 0);
  struct thread* t;

  if (!group) return;
  t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!t) {
    count(SGPRS_PROBE_NO_MEMORY);
    return;
  }
  t->record.client_id = group->client_id;
  start_over(t, task, bpf_ktime_get_ns());
  count(SGPRS_PROBE_THREADS);
}

/* An absolute sleep that was over before it began says when it was due. */
static __always_inline bool overdue(struct SgprsWakeRecord* r, struct pt_regs* regs, long ret) {
  struct {
    int64_t s, ns;
  } until;

  if (SYSCALL_NUMBER(regs) != clock_nanosleep_nr || ret) return false;
  if (SYSCALL_ARG0(regs) != 1 || SYSCALL_ARG1(regs) != 1) return false; /* MONOTONIC, ABSTIME */
  if (bpf_probe_read_user(&until, sizeof(until), (void*)SYSCALL_ARG2(regs))) return false;
  r->due_ns = until.s * 1000000000ull + until.ns;
  r->wait = SGPRS_WAIT_TIMER;
  r->syscall = clock_nanosleep_nr;
  r->flags = SGPRS_WAKE_NO_SLEEP;
  return true;
}

/* -512 .. -516: the kernel's own codes for "a signal came, this call is begun again". */
#define RESTARTS(ret) ((ret) <= -512 && (ret) >= -516)

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs* regs, long ret) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* t = bpf_task_storage_get(&threads, task, 0, 0);
  struct SgprsWakeRecord* r;
  uint64_t now, asleep;

  if (!t) {
    follow(task);
    return 0;
  }
  r = &t->record;
  if (!r->sleep_ns && !overdue(r, regs, ret)) return 0;
  now = bpf_ktime_get_ns();
  if (r->sleep_ns && SYSCALL_NUMBER(regs) != r->syscall) {
    count(SGPRS_PROBE_MISMATCHED);
    start_over(t, task, now);
    return 0;
  }
  if (RESTARTS(ret) || ret == -4 /* EINTR */) r->flags |= SGPRS_WAKE_INTERRUPTED;
  asleep = r->wakeup_ns - r->sleep_ns;
  /* Without a wakeup nobody knows how long it was: a record that its reader counts as incomplete. */
  if (!(r->flags & (SGPRS_WAKE_TIMER | SGPRS_WAKE_NO_SLEEP)) && r->wakeup_ns &&
      asleep < min_wait_ns) {
    /* Too short for a record: part of what the thread did. */
    r->blocked_ns += asleep;
    if (r->on_cpu_ns > r->wakeup_ns) r->queued_ns += r->on_cpu_ns - r->wakeup_ns;
    r->sleep_ns = r->due_ns = r->expire_ns = r->wakeup_ns = r->on_cpu_ns = 0;
    r->flags = r->wait = 0;
    count(SGPRS_PROBE_SHORT);
    return 0;
  }
  send(t, task->nvcsw + task->nivcsw, now);
  start_over(t, task, now);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
