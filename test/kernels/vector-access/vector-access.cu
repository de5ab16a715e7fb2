// vector loads and stores of every width, read-only and streaming cache hints, unaligned tails
#include "../support/kernel.h"

extern "C" __global__ void vectorAccess(const uchar2 *a, const ushort4 *b, const float2 *c, const double2 *d, const longlong2 *e, uchar2 *oa, ushort4 *ob, float2 *oc, double2 *od, longlong2 *oe) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  uchar2 u = a[i];
  oa[i] = make_uchar2(u.y, (unsigned char)(u.x + 1));
  ushort4 s = b[i];
  ob[i] = make_ushort4(s.w, s.z, (unsigned short)(s.y ^ s.x), s.x);
  float2 f = c[i];
  oc[i] = make_float2(f.x * f.y, f.x - f.y);
  double2 g = d[i];
  od[i] = make_double2(g.y, g.x * 2);
  longlong2 l = e[i];
  oe[i] = make_longlong2(l.x + l.y, l.x ^ l.y);
}

extern "C" __global__ void cacheHints(const int *a, const float *b, const int4 *c, int *out, float *fout, int4 *vout) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __stcs(&out[i], __ldg(&a[i]) + __ldcs(&a[i ^ 1]));
  __stcg(&fout[i], __ldca(&b[i]) * 0.5f);
  int4 v = __ldcg(&c[i]);
  __stwt(&vout[i], make_int4(v.w, v.x, v.y, v.z));
}

extern "C" __global__ void copyBytes(const unsigned char *__restrict__ in, unsigned char *__restrict__ out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, words = n / 16;
  if (t < words) ((uint4 *)out)[t] = ((const uint4 *)in)[t];
  else if (t < words + n % 16) out[words * 16 + t - words] = in[words * 16 + t - words];
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<uchar2>(64);
  auto b = host.bits<ushort4>(64);
  std::vector<float2> c(64), oc(64);
  std::vector<double2> d(64), od(64);
  std::vector<longlong2> e(64), oe(64);
  for (auto &v : c) { auto f = host.random<float>(2, -5, 5); v = make_float2(f[0], f[1]); }
  for (auto &v : d) { auto f = host.random<double>(2, -5, 5); v = make_double2(f[0], f[1]); }
  for (auto &v : e) v = make_longlong2((long long)host.next(), (long long)host.next());
  std::vector<uchar2> oa(64);
  std::vector<ushort4> ob(64);
  host.launch("", "vectorAccess", vectorAccess, 2, 32, 0, input("a", a), input("b", b), input("c", c), input("d", d), input("e", e), output("oa", oa), output("ob", ob), output("oc", oc), output("od", od), output("oe", oe));
  auto p = host.random<int>(64, -9, 9);
  auto q = host.random<float>(64, -9, 9);
  std::vector<int4> r(64), vr(64);
  for (auto &v : r) v = make_int4(int(host.next()), int(host.next()), int(host.next()), int(host.next()));
  std::vector<int> out(64);
  std::vector<float> fout(64);
  host.launch("hints", "cacheHints", cacheHints, 2, 32, 0, input("a", p), input("b", q), input("c", r), output("out", out), output("fout", fout), output("vout", vr));
  auto in = host.bits<unsigned char>(503);
  std::vector<unsigned char> copy(503);
  host.launch("copy", "copyBytes", copyBytes, 1, 64, 0, input("in", in), output("out", copy), value(503));
  host.check(in == copy, "the copy is the same");
}
#endif
