// dense switch over 12 consecutive values, with gaps filled by a default and one fall-through
#include "../support/kernel.h"

extern "C" __global__ void switchDense(const int *selector, const int *a, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = a[i], r;
  switch (selector[i]) {
    case 0: r = v + 1; break;
    case 1: r = v * v; break;
    case 2: r = v ^ 0x5a5a; break;
    case 3: r = v << 3; break;
    case 4: r = v >> 2; break;
    case 5: r = v / 7; break;
    case 6: v += 11;  // falls through
    case 7: r = -v; break;
    case 8: r = v % 13; break;
    case 9: r = v & 0xff0; break;
    case 10: r = v | 0x81; break;
    case 12: r = ~v; break;
    default: r = -1;
  }
  out[i] = r;
}

// The same arms write different places, so that they cannot become selects.
extern "C" __global__ void switchScatter(const int *selector, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int *row = out + i * 8;
  switch (selector[i]) {
    case 0: row[0] = i; row[1] = 3 * i; break;
    case 1: row[7] = i * i; break;
    case 2: row[2] = 9; row[3] = i ^ 4; row[4] = i << 2; break;
    case 3: for (int k = 0; k < 8; k++) row[k] += k * i; break;
    case 4: row[5] = i - 100; break;
    case 5: row[6] = ~i; row[0] = 5; break;
    case 6: row[3] = i / 3; break;
    case 7: row[1] = i % 5; row[7] = 1; break;
    case 8: return;
    case 9: row[4] = __popc(i); break;
    default: row[0] = -9;
  }
  row[2] += 1000;
}

#ifdef HOST
void launches(Host &host) {
  auto selector = host.random<int>(256, -2, 14), a = host.random<int>(256, -100000, 100000);
  std::vector<int> out(256), wide(128 * 8);
  host.launch("", "switchDense", switchDense, 2, 128, 0, input("selector", selector), input("a", a), output("out", out), value(250));
  auto small = host.random<int>(128, -1, 11);
  host.launch("scatter", "switchScatter", switchScatter, 2, 64, 0, input("selector", small), output("out", wide), value(128));
}
#endif
