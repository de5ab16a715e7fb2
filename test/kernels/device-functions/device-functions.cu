// calls: functions that stay functions, structures by value and returned, pointers to locals, a chain of calls
#include "../support/kernel.h"

struct Vec3 { float x, y, z; };
struct Mixed { char c; double d; short s; int i; };

__device__ __noinline__ Vec3 cross(Vec3 a, Vec3 b) {
  return {fmaf(a.y, b.z, -(a.z * b.y)), fmaf(a.z, b.x, -(a.x * b.z)), fmaf(a.x, b.y, -(a.y * b.x))};
}
__device__ __noinline__ float dot(const Vec3 &a, const Vec3 &b) { return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z)); }
__device__ __noinline__ Mixed step(Mixed m, int k) {
  m.c = char(m.c + k);
  m.d = m.d * 0.5 + m.s;
  m.s = short(m.s * 3 - k);
  m.i ^= m.c << 4;
  return m;
}
__device__ __noinline__ void divide(int a, int b, int *quotient, int *remainder) {
  *quotient = a / b;
  *remainder = a % b;
}
__device__ __noinline__ unsigned collatz(unsigned n) { return n & 1 ? 3 * n + 1 : n / 2; }
__device__ __noinline__ int chain(unsigned n, int limit) {
  int steps = 0;
  while (n != 1 && steps < limit) { n = collatz(n); steps++; }
  return steps;
}

extern "C" __global__ void vectors(const Vec3 *a, const Vec3 *b, Vec3 bias, Vec3 *out, float *volume) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Vec3 c = cross(a[i], b[i]);
  c.x += bias.x; c.y += bias.y; c.z += bias.z;
  Vec3 d = cross(c, a[i]);
  out[i] = d;
  volume[i] = dot(d, b[i]);
}

extern "C" __global__ void calls(const int *in, int *out, double *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Mixed m = {char(in[i]), double(i), short(in[i] >> 3), in[i]};
  for (int k = 0; k < 3; k++) m = step(m, k + i);
  int q, r;
  divide(in[i], i + 1, &q, &r);
  out[i] = m.i + m.s + m.c;
  out[n + i] = q * 1000 + r;
  out[2 * n + i] = chain(unsigned(i + 1), 200);
  wide[i] = m.d;
}

#ifdef HOST
void launches(Host &host) {
  std::vector<Vec3> a(64), b(64), out(64);
  for (auto *v : {&a, &b}) for (auto &p : *v) { auto f = host.random<float>(3, -2, 2); p = {f[0], f[1], f[2]}; }
  std::vector<float> volume(64);
  host.launch("", "vectors", vectors, 2, 32, 0, input("a", a), input("b", b), value(Vec3{0.5f, -0.25f, 1}), output("out", out), output("volume", volume));
  auto in = host.random<int>(64, -30000, 30000);
  std::vector<int> o(192);
  std::vector<double> wide(64);
  host.launch("chain", "calls", calls, 2, 32, 0, input("in", in), output("out", o), output("wide", wide), value(60));
}
#endif
