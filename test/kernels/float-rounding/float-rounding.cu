// directed rounding: add, subtract, multiply, divide, root, fused multiply-add in all four modes, f32 and f64
#include "../support/kernel.h"

#define MODES(X) X(rn, 0) X(rz, 1) X(ru, 2) X(rd, 3)

extern "C" __global__ void rounding(const float *a, const float *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i], y = b[i];
#define F32(m, k)                                              \
  out[(k * 5 + 0) * n + i] = __fadd_##m(x, y);                 \
  out[(k * 5 + 1) * n + i] = __fmul_##m(x, y);                 \
  out[(k * 5 + 2) * n + i] = __fmaf_##m(x, y, -0.1f);          \
  out[(k * 5 + 3) * n + i] = __fdiv_##m(x, y);                 \
  out[(k * 5 + 4) * n + i] = __fsqrt_##m(fabsf(x));
  MODES(F32)
}

extern "C" __global__ void roundingDouble(const double *a, const double *b, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = a[i], y = b[i];
#define F64(m, k)                                              \
  out[(k * 5 + 0) * n + i] = __dadd_##m(x, y);                 \
  out[(k * 5 + 1) * n + i] = __dmul_##m(x, y);                 \
  out[(k * 5 + 2) * n + i] = __fma_##m(x, y, 0.3);             \
  out[(k * 5 + 3) * n + i] = __ddiv_##m(x, y);                 \
  out[(k * 5 + 4) * n + i] = __dsqrt_##m(fabs(x));
  MODES(F64)
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<float>(64, -100, 100), b = host.random<float>(64, -3, 3);
  a[0] = 1; b[0] = 0x1p-30f; a[1] = 3e38f; b[1] = 2.9f; a[2] = -3e38f; b[2] = 2.5f; a[3] = 1.17549435e-38f; b[3] = 0.3f; a[4] = 1e-44f; b[4] = -0.7f; a[5] = -0.0f; b[5] = 1;
  std::vector<float> out(64 * 20);
  host.launch("", "rounding", rounding, 2, 32, 0, input("a", a), input("b", b), output("out", out), value(64));
  auto c = host.random<double>(32, -100, 100), d = host.random<double>(32, -3, 3);
  c[0] = 1; d[0] = 0x1p-60; c[1] = 1.7e308; d[1] = -2.3; c[2] = 2.3e-308; d[2] = 0.1;
  std::vector<double> wide(32 * 20);
  host.launch("double", "roundingDouble", roundingDouble, 1, 32, 0, input("a", c), input("b", d), output("out", wide), value(32));
}
#endif
