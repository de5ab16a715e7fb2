// carry chains: add.cc/addc/sub.cc/subc by inline PTX, 128-bit integers by the compiler, a 256-bit Montgomery product
#include "../support/kernel.h"

extern "C" __global__ void add256(const unsigned *a, const unsigned *b, unsigned *sum, unsigned *difference, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned *x = a + 8 * i, *y = b + 8 * i;
  unsigned s[9], d[9];
#ifdef HOST
  unsigned long long c = 0, borrow = 0;
  for (int k = 0; k < 8; k++) {
    c += (unsigned long long)x[k] + y[k];
    s[k] = unsigned(c);
    c >>= 32;
    unsigned long long t = (unsigned long long)x[k] - y[k] - borrow;
    d[k] = unsigned(t);
    borrow = t >> 63;
  }
  s[8] = unsigned(c);
  d[8] = borrow ? ~0u : 0;
#else
  asm("add.cc.u32 %0,%9,%17; addc.cc.u32 %1,%10,%18; addc.cc.u32 %2,%11,%19; addc.cc.u32 %3,%12,%20;"
      "addc.cc.u32 %4,%13,%21; addc.cc.u32 %5,%14,%22; addc.cc.u32 %6,%15,%23; addc.cc.u32 %7,%16,%24; addc.u32 %8,0,0;"
      : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]), "=r"(s[4]), "=r"(s[5]), "=r"(s[6]), "=r"(s[7]), "=r"(s[8])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]), "r"(y[1]), "r"(y[2]),
        "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
  asm("sub.cc.u32 %0,%9,%17; subc.cc.u32 %1,%10,%18; subc.cc.u32 %2,%11,%19; subc.cc.u32 %3,%12,%20;"
      "subc.cc.u32 %4,%13,%21; subc.cc.u32 %5,%14,%22; subc.cc.u32 %6,%15,%23; subc.cc.u32 %7,%16,%24; subc.u32 %8,0,0;"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7]), "=r"(d[8])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]), "r"(y[1]), "r"(y[2]),
        "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
#endif
  for (int k = 0; k < 9; k++) { sum[9 * i + k] = s[k]; difference[9 * i + k] = d[k]; }
}

extern "C" __global__ void int128(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
  int i = threadIdx.x;
  unsigned __int128 x = (unsigned __int128)a[2 * i + 1] << 64 | a[2 * i], y = (unsigned __int128)b[2 * i + 1] << 64 | b[2 * i];
  unsigned __int128 r[4] = {x + y, x - y, x * y, x << (b[2 * i] & 127) ^ y >> (a[2 * i] & 127)};
  for (int k = 0; k < 4; k++) { out[8 * i + 2 * k] = (unsigned long long)r[k]; out[8 * i + 2 * k + 1] = (unsigned long long)(r[k] >> 64); }
}

// One row of a product: d = a * b + d with carries, by mad.lo.cc / madc.hi.cc.
__device__ __forceinline__ void rowMad(unsigned *d, const unsigned *a, unsigned b) {
#ifdef HOST
  unsigned long long c = 0;
  for (int k = 0; k < 4; k++) { c += (unsigned long long)a[k] * b + d[k]; d[k] = unsigned(c); c >>= 32; }
  for (int k = 4; k < 6; k++) { c += d[k]; d[k] = unsigned(c); c >>= 32; }
#else
  asm("mad.lo.cc.u32 %0,%6,%10,%0; madc.lo.cc.u32 %1,%7,%10,%1; madc.lo.cc.u32 %2,%8,%10,%2; madc.lo.cc.u32 %3,%9,%10,%3;"
      "addc.cc.u32 %4,%4,0; addc.u32 %5,%5,0;"
      "mad.hi.cc.u32 %1,%6,%10,%1; madc.hi.cc.u32 %2,%7,%10,%2; madc.hi.cc.u32 %3,%8,%10,%3; madc.hi.cc.u32 %4,%9,%10,%4; addc.u32 %5,%5,0;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b));
#endif
}

// Montgomery product modulo a 128-bit odd number: (a b / 2^128) mod m, to within one subtraction.
extern "C" __global__ void montgomery(const unsigned *a, const unsigned *b, const unsigned *m, unsigned inverse, unsigned *out) {
  int i = threadIdx.x;
  unsigned t[6] = {}, x[4], p[4];
  for (int k = 0; k < 4; k++) { x[k] = a[4 * i + k]; p[k] = m[k]; }
  for (int k = 0; k < 4; k++) {
    rowMad(t, x, b[4 * i + k]);
    rowMad(t, p, t[0] * inverse);
    for (int j = 0; j < 5; j++) t[j] = t[j + 1];
    t[5] = 0;
  }
  for (int k = 0; k < 5; k++) out[5 * i + k] = t[k];
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<unsigned>(32 * 8), b = host.bits<unsigned>(32 * 8);
  for (int k = 0; k < 8; k++) { a[k] = ~0u; b[k] = k == 0; }
  std::vector<unsigned> s(32 * 9), d(32 * 9);
  host.launch("", "add256", add256, 1, 32, 0, input("a", a), input("b", b), output("sum", s), output("difference", d), value(32));
  auto u = host.bits<unsigned long long>(64), v = host.bits<unsigned long long>(64);
  std::vector<unsigned long long> wide(256);
  host.launch("128", "int128", int128, 1, 32, 0, input("a", u), input("b", v), output("out", wide));
  std::vector<unsigned> m = {0xfffffff1, 0xffffffff, 0xffffffff, 0x7fffffff}, out(160);
  unsigned inverse = 1;
  for (int k = 0; k < 5; k++) inverse *= 2 - m[0] * inverse;
  for (int i = 3; i < 256; i += 4) { a[i] &= 0x3fffffff; b[i] &= 0x3fffffff; }
  host.launch("montgomery", "montgomery", montgomery, 1, 32, 0, input("a", a), input("b", b), input("m", m), value(0u - inverse), output("out", out));
}
#endif
