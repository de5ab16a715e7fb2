// forms of sm_90: elect.sync, mbarrier.try_wait by parity, cluster index registers, redux in a loop, blocks of a stated shape
// needs sm_90
#include "../support/kernel.h"

#ifdef HOST
#define __block_size__(...)
static bool elected() { return __match_any_sync(~0u, 1) && fiber::lane() == 0; }
static void initBarrier(unsigned long long *b, int count) { unsigned *w = (unsigned *)b; w[0] = w[1] = 0; w[0] = unsigned(count); }
static void arrive(unsigned long long *b, unsigned count) { unsigned *w = (unsigned *)b; if (++w[1] % count == 0) w[0] += 0x10000; }
static bool tryWait(unsigned long long *b, unsigned parity) { return (((unsigned *)b)[0] >> 16 & 1) != parity; }
static unsigned clusterRank() { return 0; }
static unsigned clusterSize() { return 1; }
#else
__device__ inline bool elected() {
  unsigned r;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(r));
  return r;
}
__device__ inline void initBarrier(unsigned long long *b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(b)), "r"(count) : "memory");
}
__device__ inline void arrive(unsigned long long *b, unsigned) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
}
__device__ inline bool tryWait(unsigned long long *b, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(b)), "r"(parity) : "memory");
  return done;
}
__device__ inline unsigned clusterRank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ inline unsigned clusterSize() { unsigned r; asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
#endif

extern "C" __global__ void electAndWait(const int *in, int *out, unsigned *leaders, int rounds) {
  __shared__ unsigned long long barrier;
  __shared__ int data[96];
  int t = threadIdx.x;
  data[t] = in[blockIdx.x * 96 + t];
  if (t == 0) initBarrier(&barrier, 96);
  __syncthreads();
  if (elected()) atomicAdd(leaders, 1u + clusterRank() + 10 * clusterSize());
  for (int r = 0; r < rounds; r++) {
    int v = __reduce_max_sync(~0u, data[(t + 32) % 96]);
    arrive(&barrier, 96);
    while (!tryWait(&barrier, 0)) WAITING();
    data[t] = data[t] * 2 - v;
    arrive(&barrier, 96);
    while (!tryWait(&barrier, 1)) WAITING();
  }
  out[blockIdx.x * 96 + t] = data[t];
}

extern "C" __global__ void __block_size__((32, 2, 1)) statedShape(const int *in, int *out) {
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int first = blockIdx.x * blockDim.x * blockDim.y;
  int sum = 0;
  for (int i = 0; i < blockDim.y; i++) sum = sum * 3 + in[first + (t + i * blockDim.x) % (blockDim.x * blockDim.y)];
  out[first + t] = sum;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(192, -100, 100);
  std::vector<int> out(192);
  std::vector<unsigned> leaders(1);
  host.launch("", "electAndWait", electAndWait, 2, 96, 0, input("in", in), output("out", out), output("leaders", leaders), value(4));
  std::vector<int> shaped(192);
  host.launch("shape", "statedShape", statedShape, 3, dim3(32, 2, 1), 0, input("in", in), output("shaped", shaped));
  host.check(leaders[0] == 66, "six warps elect one lane each");
}
#endif
