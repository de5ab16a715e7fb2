// early returns at several depths, predicated stores, stores of narrow types under conditions
#include "../support/kernel.h"

extern "C" __global__ void earlyReturn(const int *in, int *out, unsigned char *small, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = in[i];
  if (v == 0) { out[i] = 1; return; }
  if (v < 0) {
    if (v < -100) return;
    out[i] = -v;
    if (v & 1) { small[i] = 9; return; }
    small[i] = 8;
  }
  for (int k = 0; k < 10; k++) {
    if (v == k * k) { out[i] = k; return; }
    if (v > 500 && k == 5) return;
    out[i] += k;
  }
  if (v % 2 == 0) out[i] ^= 0x100;
  if (v % 3 == 0) small[i] = (unsigned char)v;
  if (v % 5 == 0) small[i] += 1;
  if (v > 50) out[i] = v; else if (v > 20) small[i] = 77;
}

extern "C" __global__ void predicated(const float *a, float *b, int *c, short *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool inside = i < n;
  float v = inside ? a[i] : 0.0f;
  if (inside && v > 0.5f) b[i] = v;
  if (inside && v <= 0.5f && v > 0.0f) c[i] = i;
  if (inside && (v < -0.5f) != (i % 2 == 0)) d[i] = (short)(i - 7);
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(192, -200, 200);
  for (int i = 0; i < 192; i += 7) in[i] = int(host.next() % 12) * int(host.next() % 12);
  for (int i = 5; i < 192; i += 50) in[i] = 700 + i;
  auto out = host.random<int>(192, 0, 5);
  auto small = host.random<unsigned char>(192, 0, 5);
  host.launch("", "earlyReturn", earlyReturn, 3, 64, 0, input("in", in), inout("out", out), inout("small", small), value(187));
  auto a = host.random<float>(128, -1, 1);
  std::vector<float> b(128);
  std::vector<int> c(128);
  std::vector<short> d(128);
  host.launch("predicated", "predicated", predicated, 2, 64, 0, input("a", a), output("b", b), output("c", c), output("d", d), value(121));
}
#endif
