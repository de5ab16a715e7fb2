// asynchronous copies to shared memory (cp.async) with commit and wait groups: double buffering
// needs sm_80
#include "../support/kernel.h"

#ifdef HOST
static void copy16(void *to, const void *from) { std::memcpy(to, from, 16); }
static void copy4Zero(void *to, const void *from, int size) { std::memset(to, 0, 4); std::memcpy(to, from, size); }
static void commit() {}
template <int N> static void waitGroups() {}
#else
__device__ __forceinline__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
__device__ __forceinline__ void copy4Zero(void *to, const void *from, int size) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)), "r"(size) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void waitGroups() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
#endif

// A running sum of tiles while the next one is on its way.
extern "C" __global__ void pipelined(const float4 *in, float4 *out, int tiles) {
  __shared__ __align__(16) float4 stage[2][32];
  int t = threadIdx.x;
  const float4 *mine = in + blockIdx.x * tiles * 32;
  float4 sum = make_float4(0, 0, 0, 0);
  copy16(&stage[0][t], &mine[t]);
  commit();
  for (int k = 0; k < tiles; k++) {
    if (k + 1 < tiles) {
      copy16(&stage[(k + 1) & 1][t], &mine[(k + 1) * 32 + t]);
      commit();
      waitGroups<1>();
    } else {
      waitGroups<0>();
    }
    __syncthreads();
    float4 v = stage[k & 1][(t + 7) & 31];
    sum = make_float4(sum.x + v.x, sum.y + v.y * 2, sum.z + v.z, sum.w - v.w);
    __syncthreads();
  }
  out[blockIdx.x * 32 + t] = sum;
}

extern "C" __global__ void guarded(const int *in, int *out, int n) {
  __shared__ int buffer[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  copy4Zero(&buffer[threadIdx.x], in + (i < n ? i : 0), i < n ? 4 : 0);
  commit();
  waitGroups<0>();
  __syncthreads();
  out[i] = buffer[63 - threadIdx.x] + 1;
}

#ifdef HOST
void launches(Host &host) {
  std::vector<float4> in(2 * 5 * 32), out(64);
  for (auto &v : in) { auto f = host.random<float>(4, -4, 4); v = make_float4(f[0], f[1], f[2], f[3]); }
  host.launch("", "pipelined", pipelined, 2, 32, 0, input("in", in), output("out", out), value(5));
  auto k = host.random<int>(128, -99, 99);
  std::vector<int> o(128);
  host.launch("guarded", "guarded", guarded, 2, 64, 0, input("in", k), output("out", o), value(100));
}
#endif
