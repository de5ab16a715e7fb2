// xxHash: 32 and 64 bits over byte ranges of every length, unaligned tails
#include "../support/kernel.h"

__device__ __forceinline__ unsigned rotl32(unsigned x, int r) { return x << r | x >> (32 - r); }
__device__ __forceinline__ unsigned long long rotl64(unsigned long long x, int r) { return x << r | x >> (64 - r); }
__device__ __forceinline__ unsigned read32(const unsigned char *p) { return p[0] | p[1] << 8 | p[2] << 16 | unsigned(p[3]) << 24; }
__device__ __forceinline__ unsigned long long read64(const unsigned char *p) { return read32(p) | (unsigned long long)read32(p + 4) << 32; }

#define P1 2654435761u
#define P2 2246822519u
#define P3 3266489917u
#define P4 668265263u
#define P5 374761393u

extern "C" __global__ void xxh32(const unsigned char *data, unsigned *out, unsigned seed, int n) {
  int length = blockIdx.x * blockDim.x + threadIdx.x;
  if (length > n) return;
  const unsigned char *p = data, *end = data + length;
  unsigned h;
  if (length >= 16) {
    unsigned a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
    do {
      a = rotl32(a + read32(p) * P2, 13) * P1;
      b = rotl32(b + read32(p + 4) * P2, 13) * P1;
      c = rotl32(c + read32(p + 8) * P2, 13) * P1;
      d = rotl32(d + read32(p + 12) * P2, 13) * P1;
      p += 16;
    } while (p + 16 <= end);
    h = rotl32(a, 1) + rotl32(b, 7) + rotl32(c, 12) + rotl32(d, 18);
  } else {
    h = seed + P5;
  }
  h += unsigned(length);
  for (; p + 4 <= end; p += 4) h = rotl32(h + read32(p) * P3, 17) * P4;
  for (; p < end; p++) h = rotl32(h + *p * P5, 11) * P1;
  h = (h ^ h >> 15) * P2;
  h = (h ^ h >> 13) * P3;
  out[length] = h ^ h >> 16;
}

#define Q1 11400714785074694791ull
#define Q2 14029467366897019727ull
#define Q3 1609587929392839161ull
#define Q4 9650029242287828579ull
#define Q5 2870177450012600261ull

__device__ __forceinline__ unsigned long long round64(unsigned long long acc, unsigned long long v) { return rotl64(acc + v * Q2, 31) * Q1; }

extern "C" __global__ void xxh64(const unsigned char *data, unsigned long long *out, unsigned long long seed, int n) {
  int length = blockIdx.x * blockDim.x + threadIdx.x;
  if (length > n) return;
  const unsigned char *p = data, *end = data + length;
  unsigned long long h;
  if (length >= 32) {
    unsigned long long v[4] = {seed + Q1 + Q2, seed + Q2, seed, seed - Q1};
    for (; p + 32 <= end; p += 32)
      for (int i = 0; i < 4; i++) v[i] = round64(v[i], read64(p + 8 * i));
    h = rotl64(v[0], 1) + rotl64(v[1], 7) + rotl64(v[2], 12) + rotl64(v[3], 18);
    for (int i = 0; i < 4; i++) h = (h ^ round64(0, v[i])) * Q1 + Q4;
  } else {
    h = seed + Q5;
  }
  h += (unsigned long long)length;
  for (; p + 8 <= end; p += 8) h = rotl64(h ^ round64(0, read64(p)), 27) * Q1 + Q4;
  if (p + 4 <= end) { h = rotl64(h ^ read32(p) * Q1, 23) * Q2 + Q3; p += 4; }
  for (; p < end; p++) h = rotl64(h ^ *p * Q5, 11) * Q1;
  h = (h ^ h >> 33) * Q2;
  h = (h ^ h >> 29) * Q3;
  out[length] = h ^ h >> 32;
}

#ifdef HOST
void launches(Host &host) {
  auto data = host.bits<unsigned char>(100);
  std::vector<unsigned> out(96);
  std::vector<unsigned long long> wide(96);
  host.launch("", "xxh32", xxh32, 3, 32, 0, input("data", data), output("out", out), value(0u), value(95));
  host.check(out[0] == 0x02cc5d05u, "XXH32 of nothing with seed 0");
  host.launch("64", "xxh64", xxh64, 3, 32, 0, input("data", data), output("out", wide), value(0ull), value(95));
  host.check(wide[0] == 0xef46db3751d8e999ull, "XXH64 of nothing with seed 0");
}
#endif
