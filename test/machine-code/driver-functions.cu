// Calls of functions that the driver provides, with values that are live across them.
#include <cassert>
#include <cstdio>

extern "C" __global__ void printed(int n, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = x[i + n], c = a * b;
  for (int k = 0; k < 3; ++k) {
    if (k > (i & 1)) printf("%d: %f of %s, %lld\n", i, c, "three", (long long)i << 33);
    c = c * a + b;
  }
  y[i] = c - a;
}

extern "C" __global__ void asserted(const int *x, int *y, unsigned n) {
  unsigned i = threadIdx.x;
  assert(x[i] < 100);
  y[i] = x[i] + 1;
}

extern "C" __global__ void allocated(int **list, int n) {
  int i = threadIdx.x;
  int *p = (int *)malloc(sizeof(int) * (n & 15));
  if (i & 1) free(list[i + 32]);
  list[i] = p;
}
