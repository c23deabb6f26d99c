#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the binary fixtures anew. Needs nvcc 13.0; neither the build nor the tests do.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
"$nvcc" -arch=sm_75 -ptx sample.cu -o sample.ptx
"$nvcc" -arch=sm_75 -cubin sample.cu -o sample.sm_75.cubin
"$nvcc" -arch=sm_90 -cubin sample.cu -o sample.sm_90.cubin
members="-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75"
# shellcheck disable=SC2086
"$nvcc" -fatbin $members -compress-mode=size sample.cu -o sample.zstd.fatbin
"$nvcc" -fatbin -gencode arch=compute_75,code=compute_75 -compress-mode=speed sample.cu -o sample.lz4.fatbin
"$nvcc" -fatbin -gencode 'arch=compute_75,code=[sm_75,compute_75]' -compress-mode=none sample.cu -o sample.plain.fatbin
"$nvcc" -fatbin -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' -compress-mode=size sample.cu -o sample.sm_90a.fatbin
