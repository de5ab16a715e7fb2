// mbarrier objects in shared memory: init, arrive with a state, test_wait in a loop, two phases
// needs sm_80
#include "../support/kernel.h"

#ifdef HOST
// A phase completes when its pending count reaches zero; the state carries the phase's parity.
static void initBarrier(unsigned long long *b, int count) { unsigned *w = (unsigned *)b; w[0] = unsigned(count) | unsigned(count) << 16; w[1] = 0; }
static unsigned long long arriveBarrier(unsigned long long *b) {
  unsigned *w = (unsigned *)b, phase = w[1];
  unsigned pending = (w[0] & 0xffff) - 1;
  w[0] = (w[0] & 0xffff0000u) | pending;
  if (pending == 0) { w[0] |= w[0] >> 16; w[1]++; }
  return phase;
}
static bool testBarrier(unsigned long long *b, unsigned long long state) { return ((unsigned *)b)[1] != state; }
#else
__device__ inline void initBarrier(unsigned long long *b, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(b)), "r"(count) : "memory");
}
__device__ inline unsigned long long arriveBarrier(unsigned long long *b) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
  return state;
}
__device__ inline bool testBarrier(unsigned long long *b, unsigned long long state) {
  unsigned done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(b)), "l"(state) : "memory");
  return done;
}
#endif

extern "C" __global__ void phases(const int *in, int *out, int rounds) {
  __shared__ unsigned long long barrier;
  __shared__ int data[64];
  int t = threadIdx.x;
  data[t] = in[t];
  if (t == 0) initBarrier(&barrier, 64);
  __syncthreads();
  for (int r = 0; r < rounds; r++) {
    int v = data[(t + 11) & 63];
    unsigned long long state = arriveBarrier(&barrier);
    while (!testBarrier(&barrier, state)) WAITING();
    data[t] = data[t] * 3 + v;
    state = arriveBarrier(&barrier);
    while (!testBarrier(&barrier, state)) WAITING();
  }
  out[t] = data[t];
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(64, -1000, 1000);
  std::vector<int> out(64), reference = in;
  host.launch("", "phases", phases, 1, 64, 0, input("in", in), output("out", out), value(5));
  for (int r = 0; r < 5; r++) {
    auto old = reference;
    for (int t = 0; t < 64; t++) reference[t] = old[t] * 3 + old[(t + 11) & 63];
  }
  host.check(out == reference, "rounds as written serially");
}
#endif
