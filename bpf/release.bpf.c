// SPDX-License-Identifier: GPL-2.0
// When was a job really released? Follows each thread of the registered thread groups through its
// waits: asleep, timer due, timer expired, woken, on a CPU, back in user space; and says who ran
// meanwhile. One record a wait, without waking the reader.
//
// A group is registered by giving its leader's pidfd a value in `groups`. What is kept of a thread
// lives in its task storage, so it is gone with the thread, and ids are never mistaken.
#include "bpf/kernel_types.h"
#include "bpf/release_maps.bpf.h"
#include "bpf/thread_state.bpf.h"
#include "sgprs/abi/wake_record.h"

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, uint64_t); /* client id */
} groups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread);
} threads SEC(".maps");

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

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* task) {
  struct thread* t = bpf_task_storage_get(&threads, task, 0, 0);

  if (t) woken(t, this_cpu());
  return 0;
}

static __always_inline void leave(struct thread* t, struct task_struct* task, bool preempt,
                                  unsigned int state, uint64_t now) {
  enum off_cpu off = preempt || !state                ? OFF_QUEUED
                     : state & TASK_STOPPED_OR_TRACED ? OFF_STOPPED
                                                      : OFF_BLOCKED;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  unsigned long nr = SYSCALL_NUMBER(regs);

  leave_cpu(t, off, wait_of(nr), nr, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct* prev, struct task_struct* next,
             unsigned int prev_state) {
  struct cpu_state* cpu = this_cpu();
  uint64_t now = bpf_ktime_get_ns();
  struct thread* t = bpf_task_storage_get(&threads, prev, 0, 0);

  if (!cpu) return 0;
  if (t) leave(t, prev, preempt, prev_state, now);
  t = bpf_task_storage_get(&threads, next, 0, 0);
  if (t) enter_cpu(t, cpu, now);
  note_switch(cpu, next->pid, next->comm, now);
  return 0;
}

static __always_inline uint64_t switches_of(struct task_struct* task) {
  return task->nvcsw + task->nivcsw;
}

/* The first system call of a registered thread: from here on it is followed. */
static __always_inline void follow(struct task_struct* task) {
  uint64_t* group = bpf_task_storage_get(&groups, task->group_leader, 0, 0);
  struct thread* t;

  if (!group) return;
  t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!t) {
    count(SGPRS_PROBE_NO_MEMORY);
    return;
  }
  t->record.client_id = *group;
  start_over(t, task->pid, switches_of(task), bpf_ktime_get_ns());
  count(SGPRS_PROBE_THREADS);
}

/* An absolute sleep that was over before it began says when it was due. */
static __always_inline bool overdue(struct SgprsWakeRecord* r, struct pt_regs* regs, long ret) {
  struct {
    int64_t s, ns;
  } until;

  if (SYSCALL_NUMBER(regs) != settings.clock_nanosleep || ret) return false;
  if (SYSCALL_ARG0(regs) != 1 || SYSCALL_ARG1(regs) != 1) return false; /* MONOTONIC, ABSTIME */
  if (bpf_probe_read_user(&until, sizeof(until), (void*)SYSCALL_ARG2(regs))) return false;
  r->due_ns = until.s * 1000000000ull + until.ns;
  r->wait = SGPRS_WAIT_TIMER;
  r->syscall = settings.clock_nanosleep;
  r->flags = SGPRS_WAKE_NO_SLEEP;
  return true;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs* regs, long ret) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* t = bpf_task_storage_get(&threads, task, 0, 0);

  if (!t) {
    follow(task);
    return 0;
  }
  if (!t->record.sleep_ns && !overdue(&t->record, regs, ret)) return 0;
  finish_call(t, SYSCALL_NUMBER(regs), ret, task->pid, switches_of(task));
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
