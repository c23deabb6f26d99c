// SPDX-License-Identifier: Apache-2.0
// The one kernel: to = to * a + from + b, for `words` words, by its first block; `rounds` says how
// long it takes on the simulated device and changes nothing.
#ifndef SGPRS_TESTS_STRESS_SHIM_ORDER_KERNEL_H_
#define SGPRS_TESTS_STRESS_SHIM_ORDER_KERNEL_H_

#include <cstdint>
#include <string>

namespace shim_order {

struct KernelParams {
  uint64_t to;
  uint64_t from;
  uint32_t words;
  uint32_t a;
  uint32_t b;
  uint32_t rounds;
};

inline constexpr char kKernelName[] = "so_step";
inline constexpr int kNames = 256;  // so_step_0 ...: the same kernel, to be told apart in a log

inline constexpr char kPtxHeader[] = R"(
.version 6.0
.target sm_70
.address_size 64
)";
inline constexpr char kPtxBody[] = R"(
.visible .entry NAME(
	.param .u64 NAME_param_0,
	.param .u64 NAME_param_1,
	.param .u32 NAME_param_2,
	.param .u32 NAME_param_3,
	.param .u32 NAME_param_4,
	.param .u32 NAME_param_5
)
.maxntid 64, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<8>;
	ld.param.u64 	%rd1, [NAME_param_0];
	ld.param.u64 	%rd2, [NAME_param_1];
	ld.param.u32 	%r1, [NAME_param_2];
	ld.param.u32 	%r2, [NAME_param_3];
	ld.param.u32 	%r3, [NAME_param_4];
	mov.u32 	%r4, %tid.x;
	setp.ge.u32 	%p1, %r4, %r1;
	@%p1 bra 	DONE;
	mov.u32 	%r8, %ctaid.x;
	setp.ne.u32 	%p2, %r8, 0;
	@%p2 bra 	DONE;
	cvta.to.global.u64 	%rd3, %rd1;
	cvta.to.global.u64 	%rd4, %rd2;
	mul.wide.u32 	%rd5, %r4, 4;
	add.s64 	%rd6, %rd3, %rd5;
	add.s64 	%rd7, %rd4, %rd5;
	ld.global.u32 	%r5, [%rd6];
	ld.global.u32 	%r6, [%rd7];
	mad.lo.u32 	%r7, %r5, %r2, %r6;
	add.u32 	%r7, %r7, %r3;
	st.global.u32 	[%rd6], %r7;
DONE:
	ret;
}
)";

// The module: so_step, and with `named` so_step_0 to so_step_255.
inline std::string Ptx(bool named) {
  std::string text = kPtxHeader;
  for (int i = -1; i < (named ? kNames : 0); ++i) {
    const std::string name = i < 0 ? kKernelName : kKernelName + ("_" + std::to_string(i));
    std::string entry = kPtxBody;
    for (size_t at; (at = entry.find("NAME")) != std::string::npos;) entry.replace(at, 4, name);
    text += entry;
  }
  return text;
}

// The largest parameters that a kernel can have: to[i] = first + last, for 64 words.
struct LargeParams {
  uint64_t to;
  uint32_t first;
  uint32_t between[8187];
  uint32_t last;
};
inline constexpr size_t kLargeBytes = 32764;

inline constexpr char kLargeName[] = "so_large";
inline constexpr char kLargePtx[] = R"(
.version 8.1
.target sm_70
.address_size 64

.visible .entry so_large(
	.param .align 4 .b8 so_large_param_0[32764]
)
{
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<4>;
	ld.param.u32 	%r1, [so_large_param_0+8];
	ld.param.u32 	%r2, [so_large_param_0+32760];
	add.u32 	%r1, %r1, %r2;
	ld.param.u32 	%r2, [so_large_param_0];
	ld.param.u32 	%r3, [so_large_param_0+4];
	mov.b64 	%rd1, {%r2, %r3};
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd3, %r2, 4;
	add.s64 	%rd2, %rd2, %rd3;
	st.global.u32 	[%rd2], %r1;
	ret;
}
)";

}  // namespace shim_order

#endif  // SGPRS_TESTS_STRESS_SHIM_ORDER_KERNEL_H_
