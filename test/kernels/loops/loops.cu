// loops of every shape: while, do, for, nested, early exit, continue, several exits, two induction variables
#include "../support/kernel.h"

extern "C" __global__ void loops(const int *data, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int bound = data[i] & 31;
  int sum = 0;
  for (int k = 0; k < bound; k++) sum += data[k] * k;
  out[i] = sum;

  int v = data[i] | 1, turns = 0;
  while (v != 1 && turns < 60) { v = (v & 1) ? 3 * v + 1 : v >> 1; turns++; if (v > 1000000) break; }
  out[n + i] = turns;

  int d = bound, product = 1;
  do { product = product * 3 + d; d -= 2; } while (d > 0);
  out[2 * n + i] = product;

  int pairs = 0;
  for (int p = 0; p < bound; p++) {
    if (data[p] & 4) continue;
    for (int q = p + 1; q < bound; q++) {
      if (data[q] == data[p]) goto found;
      if ((data[q] ^ data[p]) & 1) pairs++;
      else if (pairs > 40) break;
    }
  }
  pairs = -pairs;
found:
  out[3 * n + i] = pairs;

  int low = 0, high = n - 1, meet = 0;
  for (; low < high; low += 3, high -= 2) meet += data[low] > data[high] ? low : -high;
  out[4 * n + i] = meet;

  unsigned g = unsigned(data[i]) & 1023u, h = unsigned(data[(i + 1) % n]) & 1023u;
  for (;;) {
    if (g == 0) { g = h; break; }
    if (h == 0) break;
    if (g > h) g -= h; else h -= g;
  }
  out[5 * n + i] = int(g);
}

extern "C" __global__ void tripleNest(int *out, int a, int b, int c) {
  int self = threadIdx.x, total = 0;
  for (int i = 0; i < a + self % 3; i++)
    for (int j = i; j < b; j++) {
      int inner = 0;
      for (int k = 0; k < c; k += 1 + (j & 1)) {
        if (k == i && j == self) break;
        inner += i * j + k;
      }
      total ^= inner + (total << 1);
    }
  out[self] = total;
}

#ifdef HOST
void launches(Host &host) {
  auto data = host.random<int>(96, 0, 4000);
  std::vector<int> out(96 * 6), nest(48);
  host.launch("", "loops", loops, 3, 32, 0, input("data", data), output("out", out), value(96));
  host.launch("nest", "tripleNest", tripleNest, 1, 48, 0, output("out", nest), value(5), value(9), value(7));
}
#endif
