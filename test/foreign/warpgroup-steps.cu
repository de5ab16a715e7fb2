// asynchronous products of a warpgroup: sums stay in registers over two stages, read behind a wait; a fragment in registers
#include <cstdint>

__device__ uint64_t descriptor(const void *p) {
  const uint64_t at = __cvta_generic_to_shared(p);
  return (at & 0x3FFFF) >> 4 | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

__device__ void multiply(float (&d)[8], uint64_t a, uint64_t b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0;\n}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "l"(a), "l"(b), "r"(add));
}

__device__ void multiplyRegisters(float (&d)[8], const uint32_t (&a)[4], uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Sums over the steps; every step waits for the one before it.
extern "C" __global__ void __launch_bounds__(128) warpgroupSums(const uint4 *a, const uint4 *b, float *c, int steps, float scale) {
  __shared__ alignas(128) uint4 left[2][128], right[2][32];
  float d[8] = {};
  for (int k = 0; k < steps; k++) {
    left[k & 1][threadIdx.x] = a[k * 128 + threadIdx.x];
    if (threadIdx.x < 32) right[k & 1][threadIdx.x] = b[k * 32 + threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    fence();
    multiply(d, descriptor(left[k & 1]), descriptor(right[k & 1]), k > 0);
    commit();
    wait<0>();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) c[threadIdx.x * 8 + i] = d[i] * scale;
}

// Two products in flight at once, a fragment of the first from registers, and a product of both sums.
extern "C" __global__ void __launch_bounds__(128) warpgroupPair(const uint32_t *a, const uint4 *b, float *c, int steps) {
  __shared__ alignas(128) uint4 right[2][32];
  if (threadIdx.x < 64) right[threadIdx.x / 32][threadIdx.x % 32] = b[threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[8], e[8];
#pragma unroll
  for (int i = 0; i < 8; i++) d[i] = e[i] = 1.0f;
  for (int k = 0; k < steps; k++) {
    uint32_t fragment[4];
#pragma unroll
    for (int i = 0; i < 4; i++) fragment[i] = a[(k * 128 + threadIdx.x) * 4 + i] ^ 0x3C003C00u;
    fence();
    multiplyRegisters(d, fragment, descriptor(right[0]));
    commit();
    multiply(e, descriptor(right[0]), descriptor(right[1]), 1);
    commit();
    wait<1>();
    if (threadIdx.x == 0) c[1024 + k] = d[0];
    wait<0>();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) c[threadIdx.x * 8 + i] = d[i] * e[7 - i];
}
