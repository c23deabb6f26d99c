/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * The few kernel structures that the probes read, with the few members they need. Offsets are
 * relocated at load time against the running kernel's BTF (CO-RE), so members may move and others
 * may lie between.
 */
#ifndef SGPRS_BPF_KERNEL_TYPES_H_
#define SGPRS_BPF_KERNEL_TYPES_H_

#include <stdbool.h>
#include <stdint.h>

/* libbpf's headers need the kernel's before them. clang-format would sort them. */
/* clang-format off */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

typedef int64_t ktime_t;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
  int pid;
  int tgid;
  struct task_struct* group_leader;
  unsigned long nvcsw;
  unsigned long nivcsw;
  char comm[16];
};

struct hrtimer_clock_base {
  ktime_t offset; /* this clock minus CLOCK_MONOTONIC */
};

struct hrtimer {
  ktime_t _softexpires; /* what was asked; the hard limit is this and the slack */
  struct hrtimer_clock_base* base;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
  unsigned long si;
  unsigned long dx;
  unsigned long di;
  unsigned long orig_ax;
#elif defined(__TARGET_ARCH_arm64)
  uint64_t regs[31];
  uint64_t orig_x0;
  int32_t syscallno;
#else
#error "say here where this architecture keeps the number and arguments of a system call"
#endif
};

#pragma clang attribute pop

/* prev_state of sched_switch. */
#define TASK_STOPPED_OR_TRACED 0x000c

#if defined(__TARGET_ARCH_x86)
#define SYSCALL_NUMBER(regs) ((regs)->orig_ax)
#define SYSCALL_ARG0(regs) ((regs)->di)
#define SYSCALL_ARG1(regs) ((regs)->si)
#define SYSCALL_ARG2(regs) ((regs)->dx)
#else
#define SYSCALL_NUMBER(regs) ((unsigned long)(regs)->syscallno)
#define SYSCALL_ARG0(regs) ((regs)->orig_x0)
#define SYSCALL_ARG1(regs) ((regs)->regs[1])
#define SYSCALL_ARG2(regs) ((regs)->regs[2])
#endif

#endif /* SGPRS_BPF_KERNEL_TYPES_H_ */
