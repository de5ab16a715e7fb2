// integer atomics: every operation, 32 and 64 bits, in global and shared memory, used and unused results
#include "../support/kernel.h"

extern "C" __global__ void atomicsGlobal(const int *in, int *s, unsigned *u, unsigned long long *w, int *seen) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[i];
  atomicAdd(&s[0], v);
  atomicSub(&s[1], v);
  atomicMin(&s[2], v);
  atomicMax(&s[3], v);
  atomicMin(&u[0], unsigned(v));
  atomicMax(&u[1], unsigned(v));
  atomicAnd(&u[2], unsigned(v) | 0xff);
  atomicOr(&u[3], unsigned(v) & 0x0f0f0f0fu);
  atomicXor(&u[4], unsigned(v));
  atomicInc(&u[5], 20u);
  atomicDec(&u[6], 30u);
  atomicAdd(&w[0], (unsigned long long)(long long)v);
  atomicMax(&w[1], (unsigned long long)v * 3);
  atomicMin(&w[2], (unsigned long long)unsigned(v) << 7);
  atomicXor(&w[3], 1ull << (i & 63));
  atomicOr(&w[4], 1ull << (unsigned(v) & 63));
  // Each slot is taken once: whoever gets a ticket marks it.
  int ticket = atomicAdd(&s[4], 1);
  atomicExch(&seen[ticket], 1);
}

extern "C" __global__ void atomicsShared(const int *in, int *out, unsigned long long *wide) {
  __shared__ int box[6];
  __shared__ unsigned long long big[2];
  int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
  if (t < 6) box[t] = t == 1 ? 2147483647 : t == 2 ? -2147483647 : 0;
  if (t < 2) big[t] = 0;
  __syncthreads();
  atomicAdd(&box[0], v);
  atomicMin(&box[1], v);
  atomicMax(&box[2], v);
  atomicOr(&box[3], v);
  atomicXor(&box[4], v);
  if (atomicCAS(&box[5], 0, 99) == 0) atomicAdd(&big[0], 1000000ull);  // exactly one wins
  atomicAdd(&big[1], 1ull << 32 | unsigned(t));
  __syncthreads();
  if (t < 6) out[blockIdx.x * 6 + t] = box[t];
  if (t < 2) wide[blockIdx.x * 2 + t] = big[t];
}

// Multiplication modulo a prime by compare-and-swap: commutative, so the order does not matter.
extern "C" __global__ void casLoop(const unsigned *in, unsigned *product) {
  unsigned factor = in[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned old = *(volatile unsigned *)product, seen;
  do {
    seen = old;
    old = atomicCAS(product, seen, unsigned((unsigned long long)seen * factor % 65521u));
  } while (old != seen);
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.bits<int>(128);
  std::vector<int> s = {1, 2, 3, 4, 0}, seen(128);
  std::vector<unsigned> u = {~0u, 0, ~0u, 0, 5, 0, 7};
  std::vector<unsigned long long> w = {1, 2, ~0ull, 0, 0};
  host.launch("", "atomicsGlobal", atomicsGlobal, 2, 64, 0, input("in", in), inout("s", s), inout("u", u), inout("w", w), output("seen", seen));
  for (int x : seen) host.check(x == 1, "every ticket is taken");
  std::vector<int> out(12);
  std::vector<unsigned long long> wide(4);
  host.launch("shared", "atomicsShared", atomicsShared, 2, 64, 0, input("in", in), output("out", out), output("wide", wide));
  auto f = host.random<unsigned>(64, 1, 65520);
  std::vector<unsigned> product = {1};
  host.launch("cas", "casLoop", casLoop, 2, 32, 0, input("in", f), inout("product", product));
}
#endif
