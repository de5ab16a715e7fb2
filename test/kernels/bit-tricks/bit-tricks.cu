// bit manipulation: counts, reversal, byte permutes, funnel shifts, bit fields, three-input logic, clamped shifts
#include "../support/kernel.h"

#ifdef HOST
static unsigned extractU(unsigned v, unsigned at, unsigned n) { return unsigned(uint64_t(v) >> min(at, 63u)) & (n >= 32 ? ~0u : (1u << n) - 1); }
static int extractS(int v, unsigned at, unsigned n) {
  if (n == 0) return 0;
  unsigned last = min(at + n - 1, 31u), r = extractU(unsigned(v), at, n), sign = unsigned(v) >> last & 1;
  if (at > 31) return sign ? -1 : 0;
  return sign ? int(r | (last - at + 1 >= 32 ? 0 : ~0u << (last - at + 1))) : int(r);
}
static unsigned insert(unsigned field, unsigned v, unsigned at, unsigned n) {
  uint64_t mask = at >= 32 ? 0 : ((n >= 32 ? 0xffffffffull : (1ull << n) - 1) << at) & 0xffffffff;
  return unsigned((v & ~mask) | ((at >= 32 ? 0 : uint64_t(field) << at) & mask));
}
static unsigned lop96(unsigned a, unsigned b, unsigned c) { return a ^ b ^ c; }
static unsigned lopCA(unsigned a, unsigned b, unsigned c) { return (a & b) | (~a & c); }
static unsigned shlClamped(unsigned v, unsigned n) { return n > 31 ? 0 : v << n; }
static int sarClamped(int v, unsigned n) { return v >> min(n, 31u); }
static int highestBit(int v) { unsigned u = v < 0 ? ~v : v; return u ? 31 - __clz(u) : -1; }
#else
__device__ inline unsigned extractU(unsigned v, unsigned at, unsigned n) { unsigned r; asm("bfe.u32 %0,%1,%2,%3;" : "=r"(r) : "r"(v), "r"(at), "r"(n)); return r; }
__device__ inline int extractS(int v, unsigned at, unsigned n) { int r; asm("bfe.s32 %0,%1,%2,%3;" : "=r"(r) : "r"(v), "r"(at), "r"(n)); return r; }
__device__ inline unsigned insert(unsigned f, unsigned v, unsigned at, unsigned n) { unsigned r; asm("bfi.b32 %0,%1,%2,%3,%4;" : "=r"(r) : "r"(f), "r"(v), "r"(at), "r"(n)); return r; }
__device__ inline unsigned lop96(unsigned a, unsigned b, unsigned c) { unsigned r; asm("lop3.b32 %0,%1,%2,%3,0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ inline unsigned lopCA(unsigned a, unsigned b, unsigned c) { unsigned r; asm("lop3.b32 %0,%1,%2,%3,0xCA;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
__device__ inline unsigned shlClamped(unsigned v, unsigned n) { unsigned r; asm("shl.b32 %0,%1,%2;" : "=r"(r) : "r"(v), "r"(n)); return r; }
__device__ inline int sarClamped(int v, unsigned n) { int r; asm("shr.s32 %0,%1,%2;" : "=r"(r) : "r"(v), "r"(n)); return r; }
__device__ inline int highestBit(int v) { int r; asm("bfind.s32 %0,%1;" : "=r"(r) : "r"(v)); return r; }
#endif

extern "C" __global__ void bitTricks(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = a[i], y = b[i], *o = out + i;
  o[0 * n] = __popc(x) + 64u * __clz(int(y)) + 4096u * __ffs(int(x));
  o[1 * n] = __brev(x) ^ __byte_perm(x, y, 0x1640);
  o[2 * n] = __byte_perm(x, y, y & 0x7777);
  o[3 * n] = __funnelshift_l(x, y, y) ^ __funnelshift_r(x, y, x);
  o[4 * n] = __funnelshift_lc(x, y, y & 63) + __funnelshift_rc(x, y, x & 63);
  o[5 * n] = extractU(x, y & 31, y >> 8 & 31);
  o[6 * n] = unsigned(extractS(int(x), y & 31, y >> 8 & 31));
  o[7 * n] = insert(y, x, y & 31, x & 31);
  o[8 * n] = lop96(x, y, i) + lopCA(x, y, ~x >> 3);
  o[9 * n] = shlClamped(x, y & 63) ^ unsigned(sarClamped(int(x), y & 63));
  o[10 * n] = unsigned(highestBit(int(x >> (y & 31))));
  o[11 * n] = __umulhi(x, y) ^ unsigned(__mulhi(int(x), int(y)));
  o[12 * n] = __usad(x, y, 5) + __sad(int(x), int(y), 7);
  o[13 * n] = __uhadd(x, y) ^ unsigned(__hadd(int(x), int(y))) ^ unsigned(__rhadd(int(x), int(y)));
  o[14 * n] = __umul24(x, y) + unsigned(__mul24(int(x), int(y)));
  unsigned m = x;  // interleave the low halves (Morton order)
  m = (m & 0xffff) | (y & 0xffff) << 16;
  unsigned t = (m ^ m >> 8) & 0x0000ff00u; m ^= t ^ t << 8;
  t = (m ^ m >> 4) & 0x00f000f0u; m ^= t ^ t << 4;
  t = (m ^ m >> 2) & 0x0c0c0c0cu; m ^= t ^ t << 2;
  t = (m ^ m >> 1) & 0x22222222u; m ^= t ^ t << 1;
  o[15 * n] = m;
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<unsigned>(96), b = host.bits<unsigned>(96);
  a[0] = 0; a[1] = ~0u; b[2] = 0; b[3] = 0x80000000u;
  std::vector<unsigned> out(96 * 16);
  host.launch("", "bitTricks", bitTricks, 3, 32, 0, input("a", a), input("b", b), output("out", out), value(96));
}
#endif
