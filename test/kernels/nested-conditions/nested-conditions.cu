// nested conditions: && and || with side effects, ternaries, else-if ladders
#include "../support/kernel.h"

extern "C" __global__ void nested(const int *a, const int *b, const int *c, int *out, int *trace, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i], z = c[i], r = 0, t = 0;
  if (x > 0 && (y < 10 || z == 3) && !(x == y && y == z)) {
    if (x > y) {
      r = x - y;
      if (z & 1) r += 100;
      else if (z & 2) r += 200;
      else if (z & 4) r -= 300;
    } else if (x == y) {
      r = z * 7;
    } else {
      r = y > z ? (x > z ? 1 : 2) : (y < 0 ? 3 : 4);
    }
  } else if ((x < -5 || y < -5) && (z < -5 || x + y + z > 0)) {
    r = -1;
    if (x < y && y < z) { r = -2; out[i] = 77; t |= 1; }
  } else {
    for (int k = 0; k < 4; k++)
      if ((x >> k & 1) != (y >> k & 1) || (z >> k & 1)) r += 1 << k;
  }
  if (r > 50 || (t++, x > 3 && ++t > 1 && y > 3)) t += 10;
  bool p = x > y, q = y > z, s = z > x;
  if ((p && q) || (q && s) || (s && p)) t |= 64;
  if (p != q && (!s || x % 3 == 0)) t |= 128;
  out[i] += r;
  trace[i] = t;
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<int>(256, -12, 15), b = host.random<int>(256, -12, 15), c = host.random<int>(256, -12, 15), out = host.random<int>(256, 0, 1000);
  std::vector<int> trace(256);
  host.launch("", "nested", nested, 2, 128, 0, input("a", a), input("b", b), input("c", c), inout("out", out), output("trace", trace), value(255));
}
#endif
