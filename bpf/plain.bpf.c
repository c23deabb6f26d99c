// SPDX-License-Identifier: GPL-2.0
// release.bpf.c for a kernel without BTF: nothing is relocated, everything comes from the fields of
// classic tracepoints. Needs root and tracefs. What it can not do: pid namespaces (groups are
// registered by thread group id), sleeps overdue before they began, the kernel's own count of
// context switches; a sleep in a page fault counts as one in the next system call.
#include "bpf/kernel_types.h"
#include "bpf/release_maps.bpf.h"
#include "bpf/thread_state.bpf.h"
#include "sgprs/abi/wake_record.h"

#define MOST_GROUPS 1024
#define MOST_THREADS 16384

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MOST_GROUPS);
  __type(key, uint32_t);   /* thread group id */
  __type(value, uint64_t); /* client id */
} groups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, MOST_THREADS);
  __type(key, uint32_t); /* thread id */
  __type(value, struct thread);
} threads SEC(".maps");

/* A new thread's state, too large for the stack. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct thread);
} empty SEC(".maps");

/* /sys/kernel/tracing/events/.../format; these have not moved since 5.18. */
struct waking_event {
  uint64_t common;
  char comm[16];
  int32_t tid;
};
struct switch_event {
  uint64_t common;
  char prev_comm[16];
  int32_t prev_tid, prev_priority;
  int64_t prev_state;
  char next_comm[16];
  int32_t next_tid;
};
struct timer_event {
  uint64_t common;
  uint64_t timer;
  int64_t now; /* expire_entry: of the timer's clock */
};
struct timer_start_event {
  uint64_t common;
  uint64_t timer, function;
  int64_t expires, soft_expires;
};
struct exit_event {
  uint64_t common;
  int64_t nr, ret;
};

/* What a running timer was asked for, in its own clock. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, uint64_t);
  __type(value, int64_t);
} timers SEC(".maps");

SEC("tp/timer/hrtimer_start")
int on_timer_start(struct timer_start_event* e) {
  uint64_t timer = e->timer;
  int64_t due = e->soft_expires;

  bpf_map_update_elem(&timers, &timer, &due, BPF_ANY);
  return 0;
}

SEC("tp/timer/hrtimer_expire_entry")
int on_timer(struct timer_event* e) {
  struct cpu_state* cpu = this_cpu();
  uint64_t timer = e->timer;
  int64_t* due = bpf_map_lookup_elem(&timers, &timer);
  uint64_t now = bpf_ktime_get_ns();
  int64_t offset = e->now - (int64_t)now; /* of the timer's clock to ours, and a little */

  if (!cpu || !due) return 0;
  if (offset > -1000000 && offset < 1000000) offset = 0; /* it is our clock */
  cpu->timer = timer;
  cpu->due_ns = *due - offset;
  cpu->expire_ns = now;
  return 0;
}

SEC("tp/timer/hrtimer_expire_exit")
int on_timer_end(struct timer_event* e) {
  struct cpu_state* cpu = this_cpu();

  if (cpu && cpu->timer == e->timer) cpu->timer = 0;
  return 0;
}

SEC("tp/sched/sched_waking")
int on_waking(struct waking_event* e) {
  uint32_t tid = e->tid;
  struct thread* t = bpf_map_lookup_elem(&threads, &tid);

  if (t) woken(t, this_cpu());
  return 0;
}

SEC("tp/sched/sched_switch")
int on_switch(struct switch_event* e) {
  struct cpu_state* cpu = this_cpu();
  uint64_t now = bpf_ktime_get_ns();
  uint32_t prev = e->prev_tid, next = e->next_tid;
  int64_t state = e->prev_state & 0xff; /* 0 = runnable; bit 8 says preempted */
  struct thread* t = bpf_map_lookup_elem(&threads, &prev);

  if (!cpu) return 0;
  if (t) {
    leave_cpu(t,
              !state                           ? OFF_QUEUED
              : state & TASK_STOPPED_OR_TRACED ? OFF_STOPPED
                                               : OFF_BLOCKED,
              WAIT_IN_ANY_CALL, ANY_CALL, now);
  }
  t = bpf_map_lookup_elem(&threads, &next);
  if (t) enter_cpu(t, cpu, now);
  note_switch(cpu, next, e->next_comm, now);
  return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int on_exit(struct exit_event* e) {
  uint64_t id = bpf_get_current_pid_tgid();
  uint32_t tid = (uint32_t)id, group = id >> 32, zero = 0;
  struct thread* t = bpf_map_lookup_elem(&threads, &tid);
  uint64_t* client_id = bpf_map_lookup_elem(&groups, &group);

  if (!client_id) return 0;
  if (!t) {
    struct thread* fresh = bpf_map_lookup_elem(&empty, &zero);

    if (!fresh || bpf_map_update_elem(&threads, &tid, fresh, BPF_ANY)) {
      count(SGPRS_PROBE_NO_MEMORY);
      return 0;
    }
    count(SGPRS_PROBE_THREADS);
    t = bpf_map_lookup_elem(&threads, &tid);
    if (!t) return 0;
  }
  if (t->record.client_id != *client_id) {
    t->record.client_id = *client_id;
    t->record.sequence = 0;
    start_over(t, tid, 0, bpf_ktime_get_ns());
  }
  if (!t->record.sleep_ns) return 0;
  /* Nobody else's count to compare with. */
  finish_call(t, e->nr, e->ret, tid, t->switches + t->record.switches_seen);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
