// y = a x + y with a bounds guard and a grid-stride form
#include "../support/kernel.h"

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

extern "C" __global__ void saxpyStride(int n, float a, const float *__restrict__ x, float *__restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(a, x[i], y[i]);
}

#ifdef HOST
void launches(Host &host) {
  auto x = host.random<float>(512, -10, 10), y = host.random<float>(512, -10, 10);
  host.launch("", "saxpy", saxpy, 4, 128, 0, value(500), value(2.5f), input("x", x), inout("y", y));
  auto z = host.random<float>(512, -10, 10);
  host.launch("stride", "saxpyStride", saxpyStride, 2, 64, 0, value(509), value(-0.75f), input("x", x), inout("y", z));
}
#endif
