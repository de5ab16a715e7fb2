// dot products of packed bytes and shorts: dp4a, dp2a, and a small integer convolution
#include "../support/kernel.h"

extern "C" __global__ void dotBytes(const int *a, const int *b, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __dp4a(a[i], b[i], i);
  out[n + i] = int(__dp4a(unsigned(a[i]), unsigned(b[i]), unsigned(i)));
  out[2 * n + i] = __dp2a_lo(a[i], b[i], 7) ^ __dp2a_hi(a[i], b[i], -7);
  int sum = 0;
  for (int k = 0; k < 8; k++) sum = __dp4a(a[(i + k) % n], b[k], sum);
  out[3 * n + i] = sum;
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<int>(64), b = host.bits<int>(64);
  std::vector<int> out(256);
  host.launch("", "dotBytes", dotBytes, 2, 32, 0, input("a", a), input("b", b), output("out", out), value(64));
}
#endif
