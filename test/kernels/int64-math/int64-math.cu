// 64-bit integers: products, high halves, quotients, remainders, shifts, comparisons, mixed signedness
#include "../support/kernel.h"

extern "C" __global__ void int64Math(const long long *a, const long long *b, long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = a[i], y = b[i];
  unsigned long long u = x, v = y;
  long long *o = out + i * 16;
  o[0] = x * y;
  o[1] = __mul64hi(x, y);
  o[2] = __umul64hi(u, v);
  long long d = y | 1;
  o[3] = d == -1 ? 0 : x / d;
  o[4] = d == -1 ? 0 : x % d;
  o[5] = u / (v | 1);
  o[6] = u % (v | 1);
  o[7] = u << (v & 63);
  o[8] = x >> (v & 63);
  o[9] = u >> (v & 63);
  o[10] = x < y ? x : y;
  o[11] = u < v ? u : v;
  o[12] = (long long)(int)x * (int)y;
  o[13] = (unsigned long long)(unsigned)u * (unsigned)v + (u >> 32);
  o[14] = x / 1000000007ll + x % 10ll;
  o[15] = u / 10ull ^ u % 3600000ull;
}

extern "C" __global__ void shifts64(const unsigned long long *a, unsigned long long *out, int n) {
  int i = threadIdx.x;
  unsigned long long x = a[i], r = 0;
  for (int s = 1; s < 64; s += 7) {
    r ^= x << s | x >> (64 - s);
    r += (unsigned long long)((long long)x >> s) & 0xfffffffff0ull;
  }
  r ^= (x & 0xff00ff00ff00ff00ull) >> 8 | (x & 0x00ff00ff00ff00ffull) << 8;
  out[i] = r;
  out[n + i] = x << 32 | x >> 32;
  out[2 * n + i] = (x << 5) + x * 31 - (x >> 33);
  out[3 * n + i] = __popcll(x) + 100ull * __clzll((long long)x >> (i & 31)) + 10000ull * __ffsll((long long)x) + (__brevll(x) << 20);
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<long long>(64), b = host.bits<long long>(64);
  for (int i = 0; i < 32; i++) b[i] >>= host.next() % 60;
  a[0] = INT64_MIN; a[1] = 0; a[2] = -1; b[1] = INT64_MIN; b[2] = 7; b[3] = 0;
  std::vector<long long> out(64 * 16);
  host.launch("", "int64Math", int64Math, 1, 64, 0, input("a", a), input("b", b), output("out", out), value(63));
  auto u = host.bits<unsigned long long>(64);
  u[0] = 0;
  std::vector<unsigned long long> s(256);
  host.launch("shifts", "shifts64", shifts64, 1, 64, 0, input("a", u), output("out", s), value(64));
}
#endif
