// SPDX-License-Identifier: Apache-2.0
// Source of the fixtures in this directory: see README.md.
struct alignas(16) Big {
  double a;
  int b[5];
};
struct Small {
  char a, b, c;
};
__constant__ float table[4] = {1.0f, 2.0f, -3.5f, 4.0f};
__device__ int counter = 7;
__device__ double zeroes[100];
__device__ int matrix[2][3] = {{1, 2}, {4}};
__device__ int* pointer = &counter;
extern __shared__ float dynamic[];
__device__ __noinline__ float helper(float x) {
  __shared__ float s[64];
  s[threadIdx.x] = x;
  __syncthreads();
  return s[63 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(256)
    scale(float* out, const float* in, float factor, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) out[i] = tile[255 - threadIdx.x] * factor * table[i & 3] + helper(factor);
}
extern "C" __global__ void mixed(char a, double b, Small s, Big big, short c, unsigned char d,
                                 long long e) {
  counter += a + int(b) + s.c + big.b[4] + c + d + int(e) + matrix[a & 1][0] + *pointer;
  zeroes[a] = dynamic[a];
}
extern "C" __global__ void empty() {}
template <typename T>
__global__ void templated(T* x, T v) {
  *x = v;
}
template __global__ void templated<double>(double*, double);
struct Large {
  int values[1050];
};
extern "C" __global__ void large(int x, Large p, int* o) {
  int b[300];
#pragma unroll 1
  for (int i = 0; i < 300; i++) b[i] = o[i];
  o[1] = b[x] + p.values[x];
}
