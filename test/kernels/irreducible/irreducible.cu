// irreducible control flow: jumps into loops through goto, two entries to one cycle
#include "../support/kernel.h"

extern "C" __global__ void irreducible(const int *seed, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = unsigned(seed[i]);
  int steps = 0;
  unsigned acc = s;
  if (s & 1) goto odd;
even:
  acc = acc * 5 + 1;
  if (++steps > 20) goto end;
  if ((acc >> 7 & 3) == 0) goto end;
odd:
  acc ^= acc >> 3;
  steps++;
  if (acc & 4) goto even;
  acc += 0x9e37u;
  if (steps < 15) goto odd;
end:
  out[i] = int(acc) + steps;
}

// A cycle of three states entered at any of them.
extern "C" __global__ void threeWay(const int *seed, int *out, int *visits, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = seed[i], a = 0, b = 0, c = 0;
  switch (v % 3) {
    case 1: goto second;
    case 2: goto third;
  }
first:
  a++;
  v = v * 7 + 3;
  if (v & 8) goto third;
second:
  b++;
  v ^= v >> 2;
  if (a + b + c > 25) goto finish;
  if (v & 16) goto first;
third:
  c++;
  v += 11;
  if (a + b + c < 30) { if (v & 2) goto second; else goto first; }
finish:
  out[i] = v;
  visits[i] = a | b << 8 | c << 16;
}

#ifdef HOST
void launches(Host &host) {
  auto seed = host.random<int>(128, 0, 100000);
  std::vector<int> out(128), state(128), visits(128);
  host.launch("", "irreducible", irreducible, 2, 64, 0, input("seed", seed), output("out", out), value(126));
  host.launch("three", "threeWay", threeWay, 2, 64, 0, input("seed", seed), output("out", state), output("visits", visits), value(128));
}
#endif
