// formatted output and an assertion that holds: variadic calls through a stack of arguments
#include "../support/kernel.h"

#include <assert.h>
#include <stdio.h>

extern "C" __global__ void report(const int *in, int *out, double scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[i];
  assert(v >= -1000 && v <= 1000);
  if (v % 16 == 0) printf("thread %d: value %d, scaled %.3f, hex %08x, char %c, text %s\n", i, v, v * scale, unsigned(v), 'a' + i % 26, v < 0 ? "negative" : "not negative");
  if (i == 0) printf("no arguments\n");
  out[i] = v * 2 + i;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(64, -1000, 1000);
  std::vector<int> out(64);
  host.launch("", "report", report, 2, 32, 0, input("in", in), output("out", out), value(0.125));
}
#endif
