// generators: xorwow, Philox 4x32-10, PCG32, Mersenne-like tempering; a Monte Carlo count
#include "../support/kernel.h"

extern "C" __global__ void xorwow(const unsigned *seed, unsigned *out, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = seed[i], y = x * 69069u + 1, z = y ^ 0x1234567u, w = z << 1 | 1, v = w + 5, d = 6615241u;
  for (int k = 0; k < rounds; k++) {
    unsigned t = x ^ x >> 2;
    x = y; y = z; z = w; w = v;
    v = v ^ v << 4 ^ t ^ t << 1;
    d += 362437u;
    if (k >= rounds - 4) out[(k - rounds + 4) * n + i] = d + v;
  }
}

extern "C" __global__ void philox(uint2 key, uint4 *out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 c = make_uint4(i, 0, 0, 0);
#pragma unroll
  for (int r = 0; r < 10; r++) {
    unsigned hi0 = __umulhi(0xd2511f53u, c.x), lo0 = 0xd2511f53u * c.x, hi1 = __umulhi(0xcd9e8d57u, c.z), lo1 = 0xcd9e8d57u * c.z;
    c = make_uint4(hi1 ^ c.y ^ key.x, lo1, hi0 ^ c.w ^ key.y, lo0);
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  out[i] = c;
}

extern "C" __global__ void monteCarlo(unsigned long long seed, int trials, unsigned *inside, float *mean) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long s = seed + i * 0x9e3779b97f4a7c15ull;
  unsigned hits = 0;
  float sum = 0;
  for (int k = 0; k < trials; k++) {
    float p[2];
    for (int j = 0; j < 2; j++) {
      unsigned long long old = s;
      s = old * 6364136223846793005ull + 1442695040888963407ull;
      unsigned x = unsigned((old >> 18 ^ old) >> 27), r = unsigned(old >> 59);
      p[j] = float((x >> r | x << (-r & 31)) >> 8) * 0x1p-24f;
    }
    if (fmaf(p[0], p[0], p[1] * p[1]) < 1.0f) hits++;
    sum += p[0];
  }
  atomicAdd(inside, hits);
  mean[i] = sum / trials;
}

#ifdef HOST
void launches(Host &host) {
  auto seed = host.bits<unsigned>(64);
  std::vector<unsigned> out(256), inside(1);
  host.launch("", "xorwow", xorwow, 2, 32, 0, input("seed", seed), output("out", out), value(64), value(23));
  std::vector<uint4> four(64);
  host.launch("philox", "philox", philox, 2, 32, 0, value(make_uint2(0, 0)), output("out", four));
  host.check(four[0].x == 0x6627e8d5u && four[0].w == 0x9b00dbd8u, "Philox 4x32-10 of zero");
  std::vector<float> mean(64);
  host.launch("montecarlo", "monteCarlo", monteCarlo, 2, 32, 0, value(42ull), value(40), output("inside", inside), output("mean", mean));
}
#endif
