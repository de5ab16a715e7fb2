// waiting on memory: a baton handed from warp to warp and block to block, a ticket lock within a warp, look-back scan
#include "../support/kernel.h"

extern "C" __global__ void baton(int *turn, int *order, unsigned *value) {
  __shared__ volatile int inside;
  int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
  if (threadIdx.x == 0) inside = 0;
  __syncthreads();
  if (lane == 0) {
    while (inside != warp) WAITING();
    int mine = blockIdx.x * warps + warp;
    while (*(volatile int *)turn != mine) WAITING();
    order[mine] = warp + 10 * blockIdx.x;
    *value = *(volatile unsigned *)value * 31u + mine;
    __threadfence();
    *(volatile int *)turn = mine + 1;
    inside = warp + 1;
  }
}

// Every lane takes the lock in turn: ends only if diverged lanes make progress.
extern "C" __global__ void lockInWarp(int *lock, int *counter) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int *)counter = *(volatile int *)counter + int(threadIdx.x) + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    } else {
      WAITING();
    }
  }
}

// Scan over blocks: each waits for its left neighbour's inclusive prefix.
extern "C" __global__ void lookBack(const unsigned *in, unsigned *out, unsigned long long *status) {
  __shared__ unsigned before, sums[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  sums[t] = in[i];
  __syncthreads();
  for (int d = 1; d < 64; d <<= 1) {
    unsigned v = t >= d ? sums[t - d] : 0;
    __syncthreads();
    sums[t] += v;
    __syncthreads();
  }
  if (t == 0) {
    unsigned prefix = 0;
    if (blockIdx.x > 0) {
      unsigned long long s;
      while (!((s = ((volatile unsigned long long *)status)[blockIdx.x - 1]) >> 32)) WAITING();
      prefix = unsigned(s);
    }
    before = prefix;
    __threadfence();
    ((volatile unsigned long long *)status)[blockIdx.x] = 1ull << 32 | (prefix + sums[63]);
  }
  __syncthreads();
  out[i] = before + sums[t];
}

#ifdef HOST
void launches(Host &host) {
  std::vector<int> turn(1), order(12), lock(1), counter(1);
  std::vector<unsigned> v = {7};
  host.launch("", "baton", baton, 3, 128, 0, output("turn", turn), output("order", order), inout("value", v));
  host.launch("lock", "lockInWarp", lockInWarp, 1, 32, 0, output("lock", lock), output("counter", counter));
  host.check(counter[0] == 32 * 33 / 2, "the lock loses nothing");
  auto in = host.random<unsigned>(320, 0, 1000);
  std::vector<unsigned> out(320);
  std::vector<unsigned long long> status(5);
  host.launch("lookback", "lookBack", lookBack, 5, 64, 0, input("in", in), output("out", out), output("status", status));
  unsigned s = 0;
  for (int i = 0; i < 320; i++) host.check(out[i] == (s += in[i]), "the scan of the whole array");
}
#endif
