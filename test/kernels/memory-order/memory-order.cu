// ordered and scoped atomics by inline PTX: acquire, release, red, fences, 128-bit-free message passing
#include "../support/kernel.h"

#ifdef HOST
static void storeRelease(int *p, int v) { *p = v; }
static int loadAcquire(int *p) { return *p; }
static void redAdd(unsigned *p, unsigned v) { *p += v; }
static unsigned addAcqRel(unsigned *p, unsigned v) { unsigned o = *p; *p += v; return o; }
static void fenceCta() {}
#else
__device__ inline void storeRelease(int *p, int v) { asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory"); }
__device__ inline int loadAcquire(int *p) { int v; asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)) : "memory"); return v; }
__device__ inline void redAdd(unsigned *p, unsigned v) { asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory"); }
__device__ inline unsigned addAcqRel(unsigned *p, unsigned v) { unsigned o; asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(o) : "l"(__cvta_generic_to_global(p)), "r"(v) : "memory"); return o; }
__device__ inline void fenceCta() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
#endif

// Block b waits for block b - 1's message and passes a changed one on.
extern "C" __global__ void messages(int *flag, int *payload, unsigned *sum, int *out) {
  __shared__ int got;
  if (threadIdx.x == 0) {
    int m = 1;
    if (blockIdx.x > 0) {
      while (loadAcquire(&flag[blockIdx.x - 1]) == 0) WAITING();
      m = payload[blockIdx.x - 1];
    }
    payload[blockIdx.x] = m * 3 + 1;
    storeRelease(&flag[blockIdx.x], 1);
    got = m;
    fenceCta();
  }
  __syncthreads();
  redAdd(sum, unsigned(got + threadIdx.x));
  unsigned ticket = addAcqRel(sum + 1, 1);
  out[ticket] = 1;
}

#ifdef HOST
void launches(Host &host) {
  std::vector<int> flag(4), payload(4), out(128);
  std::vector<unsigned> sum(2);
  host.launch("", "messages", messages, 4, 32, 0, output("flag", flag), output("payload", payload), output("sum", sum), output("out", out));
  host.check(payload[3] == 121, "the message has passed through all");
}
#endif
