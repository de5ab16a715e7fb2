// byte-wise SIMD video functions and saturating arithmetic over packed words
#include "../support/kernel.h"

#ifdef HOST
template <class F> static unsigned bytes(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  for (int k = 0; k < 32; k += 8) r |= (unsigned(f(int(a >> k & 255), int(b >> k & 255))) & 255) << k;
  return r;
}
template <class F> static unsigned halves(unsigned a, unsigned b, F f) {
  return (unsigned(f(int(short(a)), int(short(b)))) & 0xffff) | unsigned(f(int(short(a >> 16)), int(short(b >> 16)))) << 16;
}
static unsigned __vadd4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return x + y; }); }
static unsigned __vsub4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return x - y; }); }
static unsigned __vabsdiffu4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return std::abs(x - y); }); }
static unsigned __vmaxu4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return max(x, y); }); }
static unsigned __vaddus4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return min(x + y, 255); }); }
static unsigned __vavgu4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return (x + y + 1) / 2; }); }
static unsigned __vcmpgtu4(unsigned a, unsigned b) { return bytes(a, b, [](int x, int y) { return x > y ? 255 : 0; }); }
static unsigned __vaddss2(unsigned a, unsigned b) { return halves(a, b, [](int x, int y) { return max(-32768, min(32767, x + y)); }); }
static unsigned __vmins2(unsigned a, unsigned b) { return halves(a, b, [](int x, int y) { return min(x, y); }); }
static int addSaturated(int a, int b) { long long s = (long long)a + b; return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : int(s); }
static int subSaturated(int a, int b) { long long s = (long long)a - b; return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : int(s); }
#else
__device__ inline int addSaturated(int a, int b) { int r; asm("add.sat.s32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
__device__ inline int subSaturated(int a, int b) { int r; asm("sub.sat.s32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
#endif

extern "C" __global__ void video(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = a[i], y = b[i];
  out[i] = __vadd4(x, y);
  out[n + i] = __vsub4(x, y);
  out[2 * n + i] = __vabsdiffu4(x, y);
  out[3 * n + i] = __vmaxu4(x, y);
  out[4 * n + i] = __vaddus4(x, y);
  out[5 * n + i] = __vavgu4(x, y);
  out[6 * n + i] = __vcmpgtu4(x, y);
  out[7 * n + i] = __vaddss2(x, y);
  out[8 * n + i] = __vmins2(x, y);
  out[9 * n + i] = unsigned(addSaturated(int(x), int(y)));
  out[10 * n + i] = unsigned(subSaturated(int(x), int(y)));
  float f = __saturatef(float(int(x)) * 1e-9f);
  out[11 * n + i] = unsigned(f * 255.0f);
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<unsigned>(64), b = host.bits<unsigned>(64);
  a[0] = 0x7fffffff; b[0] = 1; a[1] = 0x80000000; b[1] = 1; a[2] = b[2] = 0xffffffff;
  std::vector<unsigned> out(64 * 12);
  host.launch("", "video", video, 2, 32, 0, input("a", a), input("b", b), output("out", out), value(64));
}
#endif
