// byte and short data: sign and zero extension, wrap-around, packed stores, clamping, alpha blending
#include "../support/kernel.h"

extern "C" __global__ void narrow(const signed char *a, const unsigned char *b, const short *c, const unsigned short *d, signed char *e, unsigned char *f, short *g, unsigned short *h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  e[i] = (signed char)(a[i] + b[i]);
  f[i] = (unsigned char)(b[i] * 3 - a[i]);
  g[i] = (short)(c[i] * a[i] + d[i]);
  h[i] = (unsigned short)(d[i] << 3 | (unsigned short)c[i] >> 13);
  e[i] ^= (signed char)(a[i] >> 2);
  if (c[i] < a[i]) g[i] = (short)-g[i];
  if (b[i] > (unsigned char)a[i]) f[i]++;
}

extern "C" __global__ void blend(const uchar4 *top, const uchar4 *bottom, uchar4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 t = top[i], b = bottom[i], r;
  int alpha = t.w;
  r.x = (unsigned char)((t.x * alpha + b.x * (255 - alpha) + 127) / 255);
  r.y = (unsigned char)((t.y * alpha + b.y * (255 - alpha) + 127) / 255);
  r.z = (unsigned char)((t.z * alpha + b.z * (255 - alpha) + 127) / 255);
  r.w = (unsigned char)min(255, alpha + b.w);
  out[i] = r;
}

extern "C" __global__ void clampBytes(const int *in, unsigned char *u, signed char *s, short4 *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = in[i];
  u[i] = (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
  s[i] = (signed char)max(-128, min(127, v));
  wide[i] = make_short4((short)max(-32768, min(32767, v * 100)), (short)v, (short)(v >> 4), (short)(v & 0x7fff));
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<signed char>(128);
  auto b = host.bits<unsigned char>(128);
  auto c = host.bits<short>(128);
  auto d = host.bits<unsigned short>(128);
  std::vector<signed char> e(128), s(96);
  std::vector<unsigned char> f(128), u(96);
  std::vector<short> g(128);
  std::vector<unsigned short> h(128);
  host.launch("", "narrow", narrow, 2, 64, 0, input("a", a), input("b", b), input("c", c), input("d", d), output("e", e), output("f", f), output("g", g), output("h", h));
  auto t = host.bits<uchar4>(100), w = host.bits<uchar4>(100);
  std::vector<uchar4> o(100);
  host.launch("blend", "blend", blend, 2, 64, 0, input("top", t), input("bottom", w), output("out", o), value(100));
  auto in = host.random<int>(96, -600, 600);
  std::vector<short4> wide(96);
  host.launch("clamp", "clampBytes", clampBytes, 3, 32, 0, input("in", in), output("u", u), output("s", s), output("wide", wide), value(95));
}
#endif
