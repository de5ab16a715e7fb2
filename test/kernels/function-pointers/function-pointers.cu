// indirect calls: a table of functions in memory, a function chosen by data, a callback argument, one level of recursion
#include "../support/kernel.h"

typedef int (*Operation)(int, int);
__device__ int opAdd(int a, int b) { return a + b; }
__device__ int opSub(int a, int b) { return a - b; }
__device__ int opMul(int a, int b) { return a * b; }
__device__ int opMax(int a, int b) { return a > b ? a : b; }
__device__ int opMix(int a, int b) { return (a ^ b << 3) + (a >> 2); }

__device__ Operation operations[5] = {opAdd, opSub, opMul, opMax, opMix};

__device__ __noinline__ int fold(const int *v, int n, Operation f, int start) {
  for (int k = 0; k < n; k++) start = f(start, v[k]);
  return start;
}
__device__ __noinline__ unsigned ackermannish(unsigned n, unsigned depth) {
  return depth == 0 || n < 2 ? n + 1 : ackermannish(n / 2, depth - 1) + ackermannish(n - 1 - n / 2, depth - 1) * 3;
}

extern "C" __global__ void indirect(const int *which, const int *data, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = operations[which[i]](data[i], i);
  out[n + i] = fold(data, 6, operations[which[(i + 1) % n]], i);
}

extern "C" __global__ void recursion(unsigned *out) { out[threadIdx.x] = ackermannish(threadIdx.x * 5, threadIdx.x % 6); }

#ifdef HOST
void launches(Host &host) {
  auto which = host.random<int>(64, 0, 4), data = host.random<int>(64, -90, 90);
  std::vector<int> out(128);
  host.launch("", "indirect", indirect, 2, 32, 0, input("which", which), input("data", data), output("out", out), value(61));
  std::vector<unsigned> r(48);
  host.launch("recursion", "recursion", recursion, 1, 48, 0, output("out", r));
}
#endif
