/* SPDX-License-Identifier: Apache-2.0 */
/* One trampoline of 32 bytes for every exported cu* symbol, in CallIndex order, then one for every
 * unknown symbol; and the exported dlopen, dlmopen, dlsym, dlvsym. The code is per architecture; the
 * list of symbols is generated. Nothing here needs a relocation, so nothing costs at load time. */
#if defined(__x86_64__)
#include "shim/interpose/trampolines_x86_64.inc"
#elif defined(__aarch64__)
#include "shim/interpose/trampolines_aarch64.inc"
#else
#error "shim/interpose has no trampolines for this architecture"
#endif

    .text
    .balign 64
    .globl SgprsTrampolines
    .hidden SgprsTrampolines
SgprsTrampolines:
    .macro sgprs_export index, name
    .balign 32
    .globl \name
    .type \name, %function
\name:
    sgprs_trampoline \index
    .size \name, . - \name
    .endm
#include "shim/trampolines.gen.inc"

    .set sgprs_slot, SGPRS_CALL_COUNT
    .rept SGPRS_UNKNOWN_CALLS
    .balign 32
    sgprs_trampoline sgprs_slot
    .set sgprs_slot, sgprs_slot + 1
    .endr
    .balign 32
    .globl SgprsTrampolinesEnd
    .hidden SgprsTrampolinesEnd
SgprsTrampolinesEnd:

/* Both versions under which programs import these. Exported by the .symver names alone. */
    .macro sgprs_dl name, route
    .globl Sgprs_\name
    .hidden Sgprs_\name
    .type Sgprs_\name, %function
Sgprs_\name:
    sgprs_dl_body \route
    .size Sgprs_\name, . - Sgprs_\name
    .globl Sgprs_old_\name
    .set Sgprs_old_\name, Sgprs_\name
    .type Sgprs_old_\name, %function
    .globl Sgprs_new_\name
    .set Sgprs_new_\name, Sgprs_\name
    .type Sgprs_new_\name, %function
    .endm
    sgprs_dl dlopen, SgprsRouteDlopen
    sgprs_dl dlmopen, SgprsRouteDlmopen
    sgprs_dl dlsym, SgprsRouteDlsym
    sgprs_dl dlvsym, SgprsRouteDlvsym

    .symver Sgprs_new_dlopen, dlopen@@GLIBC_2.34
    .symver Sgprs_new_dlmopen, dlmopen@@GLIBC_2.34
    .symver Sgprs_new_dlsym, dlsym@@GLIBC_2.34
    .symver Sgprs_new_dlvsym, dlvsym@@GLIBC_2.34
#if defined(__x86_64__)
    .symver Sgprs_old_dlopen, dlopen@GLIBC_2.2.5
    .symver Sgprs_old_dlmopen, dlmopen@GLIBC_2.3.4
    .symver Sgprs_old_dlsym, dlsym@GLIBC_2.2.5
    .symver Sgprs_old_dlvsym, dlvsym@GLIBC_2.2.5
#else
    .symver Sgprs_old_dlopen, dlopen@GLIBC_2.17
    .symver Sgprs_old_dlmopen, dlmopen@GLIBC_2.17
    .symver Sgprs_old_dlsym, dlsym@GLIBC_2.17
    .symver Sgprs_old_dlvsym, dlvsym@GLIBC_2.17
#endif

    .section .note.GNU-stack, "", %progbits
