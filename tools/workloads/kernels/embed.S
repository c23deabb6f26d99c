/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX texts, as NUL-terminated symbols (kernels/ptx.h). */
    .section .rodata
    .balign 16
    .globl workload_network_ptx
    .type workload_network_ptx, @object
workload_network_ptx:
    .incbin WORKLOAD_NETWORK_PTX
    .byte 0
    .size workload_network_ptx, . - workload_network_ptx
    .balign 16
    .globl workload_probe_ptx
    .type workload_probe_ptx, @object
workload_probe_ptx:
    .incbin WORKLOAD_PROBE_PTX
    .byte 0
    .size workload_probe_ptx, . - workload_probe_ptx
    .section .note.GNU-stack,"",@progbits
