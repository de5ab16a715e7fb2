// division and remainder, by variables and by constants, signed and unsigned, 8 to 64 bits
#include "../support/kernel.h"

extern "C" __global__ void divVariable(const int *a, const int *b, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = a[i], y = b[i];
  out[i] = x / y;
  out[n + i] = x % y;
  out[2 * n + i] = int(unsigned(x) / unsigned(y));
  out[3 * n + i] = int(unsigned(x) % unsigned(y));
  short s = short(x), t = short(y | 1);
  out[4 * n + i] = s / t * 65536 + s % t;
  signed char c = (signed char)x, d = (signed char)(y | 2);
  out[5 * n + i] = c / d * 256 + c % d;
  out[6 * n + i] = (x & 255) / ((y & 15) + 1) + (x & 255) % ((y & 15) + 1) * 1000;
}

extern "C" __global__ void divConstant(const int *a, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = a[i];
  unsigned u = unsigned(x);
  out[i] = x / 3 ^ x % 3;
  out[n + i] = x / -7 + x % 7 * 10;
  out[2 * n + i] = x / 16 + x % 16;
  out[3 * n + i] = int(u / 10 + u % 10);
  out[4 * n + i] = int(u / 641 ^ u % 6700417);
  out[5 * n + i] = x / 1000000007 + x % 60;
  out[6 * n + i] = int(u / 7 + u % 12345);
  out[7 * n + i] = int((unsigned short)u / 5 + (unsigned short)u % 100 + (unsigned char)u / 3 + (signed char)x / 6);
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.bits<int>(96), b = host.bits<int>(96);
  for (int i = 0; i < 96; i++) {
    b[i] >>= host.next() % 31;
    if (b[i] == 0 || b[i] == -1) b[i] = 9;
  }
  a[0] = INT32_MIN; b[0] = 10; a[1] = 0; a[2] = INT32_MAX; b[2] = INT32_MIN; a[3] = -1; b[3] = 2;
  std::vector<int> out(96 * 7), constant(96 * 8);
  host.launch("", "divVariable", divVariable, 3, 32, 0, input("a", a), input("b", b), output("out", out), value(96));
  host.launch("constant", "divConstant", divConstant, 3, 32, 0, input("a", a), output("out", constant), value(96));
}
#endif
