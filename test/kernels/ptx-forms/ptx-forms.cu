// instruction forms that a C++ compiler seldom writes: set, slct, cnot, prmt modes, saturating cvt, setp with combination, bmsk
#include "../support/kernel.h"

#ifdef HOST
#define FORM(name, result, a, b, c, text, meaning) \
  static unsigned name(unsigned a, unsigned b, unsigned c) { return meaning; }
#else
#define FORM(name, result, a, b, c, text, meaning)                             \
  __device__ __forceinline__ unsigned name(unsigned a, unsigned b, unsigned c) { \
    unsigned r;                                                                \
    asm volatile(text : "=r"(r) : "r"(a), "r"(b), "r"(c));                     \
    return r;                                                                  \
  }
#endif

#ifdef HOST
static unsigned prmtAt(unsigned a, unsigned b, const int *k) {
  uint64_t v = uint64_t(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= unsigned(v >> 8 * k[i] & 255) << 8 * i;
  return r;
}
// PTX ISA 9.0, 9.7.9 (prmt): the byte selections of the special modes.
static unsigned f4e(unsigned a, unsigned b, unsigned c) { int s = c & 3, k[] = {s, s + 1, s + 2, s + 3}; return prmtAt(a, b, k); }
static unsigned b4e(unsigned a, unsigned b, unsigned c) { int s = c & 3, k[] = {s, (s + 7) & 7, (s + 6) & 7, (s + 5) & 7}; return prmtAt(a, b, k); }
static unsigned rc8(unsigned a, unsigned b, unsigned c) { int s = c & 3, k[] = {s, s, s, s}; return prmtAt(a, b, k); }
static unsigned ecl(unsigned a, unsigned b, unsigned c) { int s = c & 3, k[] = {max(s, 0), max(s, 1), max(s, 2), 3}; return prmtAt(a, b, k); }
static unsigned ecr(unsigned a, unsigned b, unsigned c) { int s = c & 3, k[] = {0, min(s, 1), min(s, 2), s}; return prmtAt(a, b, k); }
static unsigned rc16(unsigned a, unsigned b, unsigned c) { int s = c & 1, k[] = {2 * s, 2 * s + 1, 2 * s, 2 * s + 1}; return prmtAt(a, b, k); }
static unsigned signs(unsigned a, unsigned b, unsigned c) {
  uint64_t v = uint64_t(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned n = c >> 4 * i & 15, byte = unsigned(v >> 8 * (n & 7) & 255);
    r |= (n & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
  }
  return r;
}
static int clampTo(long long v, long long low, long long high) { return int(v < low ? low : v > high ? high : v); }
static float asFloat(unsigned v) { return __uint_as_float((v & 0x807fffffu) | 0x40000000u); }
#endif

FORM(set32, u32, a, b, c, "set.lt.u32.s32 %0, %1, %2;", int(a) < int(b) ? ~0u : 0)
FORM(setAnd, u32, a, b, c, "{ .reg .pred p; setp.ne.u32 p, %3, 0; set.ge.and.u32.u32 %0, %1, %2, p; }", a >= b && c != 0 ? ~0u : 0)
FORM(setpPair, u32, a, b, c, "{ .reg .pred p, q, s; setp.gt.u32 s, %3, 77; setp.lt.xor.s32 p|q, %1, %2, s; selp.u32 %0, 5, 9, p; @q add.u32 %0, %0, 100; }",
     ((int(a) < int(b)) != (c > 77) ? 5u : 9u) + ((!(int(a) < int(b))) != (c > 77) ? 100u : 0))
FORM(slctInt, u32, a, b, c, "slct.u32.s32 %0, %1, %2, %3;", int(c) >= 0 ? a : b)
FORM(cnot, u32, a, b, c, "cnot.b32 %0, %1;", a == 0 ? 1u : 0)
FORM(prmtF4e, u32, a, b, c, "prmt.b32.f4e %0, %1, %2, %3;", f4e(a, b, c))
FORM(prmtB4e, u32, a, b, c, "prmt.b32.b4e %0, %1, %2, %3;", b4e(a, b, c))
FORM(prmtRc8, u32, a, b, c, "prmt.b32.rc8 %0, %1, %2, %3;", rc8(a, b, c))
FORM(prmtEcl, u32, a, b, c, "prmt.b32.ecl %0, %1, %2, %3;", ecl(a, b, c))
FORM(prmtEcr, u32, a, b, c, "prmt.b32.ecr %0, %1, %2, %3;", ecr(a, b, c))
FORM(prmtRc16, u32, a, b, c, "prmt.b32.rc16 %0, %1, %2, %3;", rc16(a, b, c))
FORM(prmtSign, u32, a, b, c, "prmt.b32 %0, %1, %2, %3;", signs(a, b, c))
FORM(cvtSatU8, u32, a, b, c, "{ .reg .u32 t; shr.s32 t, %1, 20; cvt.sat.u8.s32 %0, t; }", unsigned(clampTo(int(a) >> 20, 0, 255)))
FORM(cvtSatS8, u32, a, b, c, "{ .reg .s32 t; shr.s32 t, %1, 20; cvt.sat.s8.s32 %0, t; }", unsigned(clampTo(int(a) >> 20, -128, 127)))
FORM(cvtSatS16, u32, a, b, c, "{ .reg .s16 t; cvt.sat.s16.u32 t, %1; cvt.u32.u16 %0, t; }", unsigned(clampTo(a, 0, 32767)))
FORM(cvtSatU32, u32, a, b, c, "cvt.sat.u32.s32 %0, %1;", int(a) < 0 ? 0u : a)
FORM(mad24Hi, u32, a, b, c, "mad24.hi.u32 %0, %1, %2, %3;", unsigned((uint64_t(a & 0xffffff) * (b & 0xffffff)) >> 16) + c)
FORM(bfindShift, u32, a, b, c, "bfind.shiftamt.u32 %0, %1;", a == 0 ? ~0u : unsigned(__clz(int(a))))
FORM(bmsk, u32, a, b, c, "{ .reg .u32 s, t; and.b32 s, %1, 31; and.b32 t, %2, 31; bmsk.clamp.b32 %0, s, t; }", ((b & 31) == 0 ? 0u : ((b & 31) + (a & 31) >= 32 ? ~0u : (1u << ((b & 31) + (a & 31))) - 1) & ~((1u << (a & 31)) - 1)))
FORM(szext, u32, a, b, c, "{ .reg .u32 t; and.b32 t, %2, 31; szext.clamp.s32 %0, %1, t; }", (b & 31) == 0 ? 0u : unsigned(int(a << (32 - (b & 31))) >> (32 - (b & 31))))
FORM(madHi, u32, a, b, c, "mad.hi.s32 %0, %1, %2, %3;", unsigned(__mulhi(int(a), int(b))) + c)
FORM(madSat, u32, a, b, c, "mad.hi.sat.s32 %0, %1, %2, %3;", unsigned(clampTo((long long)__mulhi(int(a), int(b)) + int(c), INT32_MIN, INT32_MAX)))
FORM(andNot, u32, a, b, c, "{ .reg .pred p, q; setp.lt.u32 p, %1, %2; setp.ge.u32 q, %2, %3; xor.pred p, p, q; not.pred q, q; and.pred p, p, q; selp.b32 %0, %1, %3, p; }",
     ((a < b) != (b >= c)) && !(b >= c) ? a : c)
FORM(fSat, u32, a, b, c, "{ .reg .f32 x, y; cvt.rn.f32.s32 x, %1; mul.f32 x, x, 0f2F800000; add.rn.sat.f32 y, x, 0f3E800000; mov.b32 %0, y; }",
     __float_as_uint(__saturatef(float(int(a)) * 0x1p-32f + 0.25f)))
FORM(roundEven, u32, a, b, c, "{ .reg .f32 x; cvt.rn.f32.s32 x, %1; mul.f32 x, x, 0f31800000; cvt.rni.f32.f32 x, x; cvt.rzi.s32.f32 %0, x; }",
     unsigned(int(std::nearbyint(float(int(a)) * 0x1p-28f))))

extern "C" __global__ void forms(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = a[i], y = b[i], z = c[i], *o = out + i;
  o[0 * n] = set32(x, y, z);
  o[1 * n] = setAnd(x, y, z & 1);
  o[2 * n] = setpPair(x, y, z & 127);
  o[3 * n] = slctInt(x, y, z);
  o[4 * n] = cnot(x & y & 3, 0, 0);
  o[5 * n] = prmtF4e(x, y, z);
  o[6 * n] = prmtB4e(x, y, z);
  o[7 * n] = prmtRc8(x, y, z);
  o[8 * n] = prmtEcl(x, y, z);
  o[9 * n] = prmtEcr(x, y, z);
  o[10 * n] = prmtRc16(x, y, z);
  o[11 * n] = prmtSign(x, y, z & 0xffff);
  o[12 * n] = cvtSatU8(x, y, z);
  o[13 * n] = cvtSatS8(x, y, z);
  o[14 * n] = cvtSatS16(x >> (z & 31), y, z);
  o[15 * n] = cvtSatU32(x, y, z);
  o[16 * n] = mad24Hi(x, y, z);
  o[17 * n] = bfindShift(x >> (z & 31), y, z);
  o[18 * n] = bmsk(x, y, z);
  o[19 * n] = szext(x, y, z);
  o[20 * n] = madHi(x, y, z);
  o[21 * n] = madSat(x, y, z);
  o[22 * n] = andNot(x, y, z);
  o[23 * n] = fSat(x, y, z);
  o[24 * n] = roundEven(x, y, z);
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<unsigned>(64), b = host.bits<unsigned>(64), c = host.bits<unsigned>(64);
  a[0] = 0; a[1] = 0x7fffffff; b[1] = 0x7fffffff; c[1] = 0x7fffffff;
  for (int i = 2; i < 64; i++) if (i % 5 == 0) b[i] = a[i];
  std::vector<unsigned> out(64 * 25);
  host.launch("", "forms", forms, 2, 32, 0, input("a", a), input("b", b), input("c", c), output("out", out), value(64));
}
#endif
