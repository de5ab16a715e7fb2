// open-addressing hash table: inserts by compare-and-swap, look-ups, counts of equal keys
#include "../support/kernel.h"

__device__ __forceinline__ unsigned scramble(unsigned k) {
  k ^= k >> 16; k *= 0x85ebca6bu; k ^= k >> 13; k *= 0xc2b2ae35u;
  return k ^ k >> 16;
}

extern "C" __global__ void hashCount(const unsigned *keys, int n, const unsigned *queries, unsigned *counts, unsigned *distinct) {
  __shared__ unsigned slot[256], count[256], used;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) { slot[i] = 0; count[i] = 0; }
  if (threadIdx.x == 0) used = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned k = keys[i], h = scramble(k) & 255;
    for (;;) {
      unsigned old = atomicCAS(&slot[h], 0u, k);
      if (old == 0 || old == k) {
        if (old == 0) atomicAdd(&used, 1u);
        atomicAdd(&count[h], 1u);
        break;
      }
      h = (h + 1) & 255;
    }
  }
  __syncthreads();
  unsigned q = queries[threadIdx.x], h = scramble(q) & 255, r = 0;
  while (slot[h] != 0) {
    if (slot[h] == q) { r = count[h]; break; }
    h = (h + 1) & 255;
  }
  counts[threadIdx.x] = r;
  if (threadIdx.x == 0) *distinct = used;
}

#ifdef HOST
void launches(Host &host) {
  auto keys = host.random<unsigned>(400, 1, 180), queries = host.random<unsigned>(64, 1, 220);
  std::vector<unsigned> counts(64), distinct(1);
  host.launch("", "hashCount", hashCount, 1, 64, 0, input("keys", keys), value(400), input("queries", queries), output("counts", counts), output("distinct", distinct));
  for (int i = 0; i < 64; i++) {
    unsigned c = 0;
    for (unsigned k : keys) c += k == queries[i];
    host.check(c == counts[i], "counts of equal keys");
  }
}
#endif
