// double precision: division, square root, fused multiply-add, polynomial evaluation, Newton steps, classification
#include "../support/kernel.h"

extern "C" __global__ void doubleMath(const double *a, const double *b, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i];
  out[i] = x / y;
  out[n + i] = sqrt(fabs(x)) - fmin(x, y) * fmax(x, 0.5);
  out[2 * n + i] = fma(x, y, -x) + fma(-x, x, y);
  double p = 1.0 / 40320;
  const double c[] = {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
#pragma unroll
  for (int k = 0; k < 8; k++) p = fma(p, x * 0.0625, c[k]);
  out[3 * n + i] = p;
  double r = 1.0, v = fabs(y) + 1;
  for (int k = 0; k < 6; k++) r = 0.5 * (r + v / r);
  out[4 * n + i] = r;
  out[5 * n + i] = floor(x) + ceil(y) + trunc(x * y) + rint(x - y);
  out[6 * n + i] = copysign(x, y) + (x > y ? 1.0 : x < -y ? 2.0 : 3.0);
  out[7 * n + i] = __longlong_as_double((__double_as_longlong(x) & 0x000fffffffffffffll) | 0x3ff0000000000000ll);
  out[8 * n + i] = __hiloint2double(__double2hiint(y) ^ 1 << 20, __double2loint(x));
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<double>(64, -20, 20), b = host.random<double>(64, -7, 7);
  a[0] = 4.9e-324; b[0] = 3; a[1] = 1e308; b[1] = 1e-5; a[2] = -0.0; b[2] = 5; a[3] = 2.5; b[3] = -3.5; a[4] = 1e-310; b[4] = 1e-3;
  std::vector<double> out(64 * 9);
  host.launch("", "doubleMath", doubleMath, 1, 64, 0, input("a", a), input("b", b), output("out", out), value(64));
}
#endif
