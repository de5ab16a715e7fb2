// number theory: sieve in shared memory, modular powers, Miller-Rabin in 64 bits, binary GCD, Collatz lengths
#include "../support/kernel.h"

extern "C" __global__ void sieve(unsigned *bits, int *count, int n) {
  __shared__ unsigned marks[32];
  __shared__ int total;
  if (threadIdx.x < 32) marks[threadIdx.x] = 0;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int p = 2; p * p < n; p++) {
    if (!(marks[p >> 5] >> (p & 31) & 1))
      for (int q = p * p + p * threadIdx.x; q < n; q += p * blockDim.x) atomicOr(&marks[q >> 5], 1u << (q & 31));
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    unsigned w = ~marks[threadIdx.x];
    if (threadIdx.x == 0) w &= ~3u;
    bits[threadIdx.x] = w;
    atomicAdd(&total, __popc(w));
  }
  __syncthreads();
  if (threadIdx.x == 0) *count = total;
}

__device__ inline unsigned long long powmod(unsigned long long b, unsigned long long e, unsigned long long m) {
  unsigned long long r = 1;
  for (b %= m; e; e >>= 1, b = b * b % m)
    if (e & 1) r = r * b % m;
  return r;
}

extern "C" __global__ void millerRabin(const unsigned *in, unsigned char *prime, unsigned *gcds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned n = in[i], bases[3] = {2, 7, 61};
  bool composite = n < 2 || (n > 2 && n % 2 == 0);
  if (!composite && n > 2) {
    unsigned d = n - 1;
    int s = 0;
    while (!(d & 1)) { d >>= 1; s++; }
    for (int k = 0; k < 3 && !composite; k++) {
      if (bases[k] % n == 0) continue;
      unsigned long long x = powmod(bases[k], d, n);
      if (x == 1 || x == n - 1) continue;
      composite = true;
      for (int r = 1; r < s; r++) {
        x = x * x % n;
        if (x == n - 1) { composite = false; break; }
      }
    }
  }
  prime[i] = !composite;
  unsigned a = n, b = in[i ^ 1];
  if (a == 0 || b == 0) { gcds[i] = a | b; return; }
  int shift = __ffs(int(a | b)) - 1;
  a >>= __ffs(int(a)) - 1;
  while (b) {
    b >>= __ffs(int(b)) - 1;
    if (a > b) { unsigned t = a; a = b; b = t; }
    b -= a;
  }
  gcds[i] = a << shift;
}

#ifdef HOST
void launches(Host &host) {
  std::vector<unsigned> bits(32);
  std::vector<int> count(1);
  host.launch("", "sieve", sieve, 1, 64, 0, output("bits", bits), output("count", count), value(1024));
  host.check(count[0] == 172, "172 primes below 1024");
  auto in = host.random<unsigned>(64, 0, 4000000000.0);
  for (unsigned i = 0; i < 20; i++) in[i] = i;
  in[20] = 4294967291u; in[21] = 3215031751u; in[22] = 2147483647u; in[23] = 561; in[24] = 61 * 60; in[25] = 12 * 61;
  std::vector<unsigned char> prime(64);
  std::vector<unsigned> gcds(64);
  host.launch("prime", "millerRabin", millerRabin, 2, 32, 0, input("in", in), output("prime", prime), output("gcds", gcds));
  host.check(prime[20] && prime[22] && !prime[23] && prime[2] && !prime[1], "known primes");
}
#endif
