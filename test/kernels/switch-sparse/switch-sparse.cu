// sparse switch: far apart values, negative values, ranges, a nested dense switch
#include "../support/kernel.h"

extern "C" __global__ void switchSparse(const int *key, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = key[i];
  unsigned r = 0;
  switch (k) {
    case -2147483647 - 1: r = 1; break;
    case -70000: r = out[i] + 2; break;
    case -1: r = 3u * unsigned(i); break;
    case 17: r = 4 + (out[i] >> 3); break;
    case 1000: case 1001: case 1002: case 1003:
      switch (i & 3) {
        case 0: r = 50; break;
        case 1: r = 51 + out[i]; break;
        case 2: r = 52 ^ out[i]; break;
        default: r = 53 - out[i]; break;
      }
      break;
    case 65536: r = 6 * out[i]; break;
    case 1 << 24: r = 7; break;
    case 2147483647: r = ~out[i]; break;
    default: r = k > 0 ? 100u : 200u;
  }
  out[i] = r;
}

// 64-bit keys: compare-and-branch trees over register pairs
extern "C" __global__ void switchLong(const long long *key, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r;
  switch (key[i]) {
    case 0: r = 10; break;
    case 1LL << 33: r = 20 + i; break;
    case -(1LL << 40): r = 30 - i; break;
    case 0x123456789abcdefLL: r = 40 * i; break;
    case 5: r = i ^ 50; break;
    default: r = -i;
  }
  out[i] = r;
}

#ifdef HOST
void launches(Host &host) {
  const int keys[] = {INT32_MIN, -70000, -1, 17, 1000, 1001, 1002, 1003, 65536, 1 << 24, INT32_MAX, 5, -5};
  std::vector<int> key(192);
  for (auto &k : key) k = keys[host.next() % 13];
  auto out = host.random<unsigned>(192, 0, 1e9);
  host.launch("", "switchSparse", switchSparse, 3, 64, 0, input("key", key), inout("out", out), value(190));
  const long long longs[] = {0, 1LL << 33, -(1LL << 40), 0x123456789abcdefLL, 5, 1, 1LL << 32, -1};
  std::vector<long long> wide(96);
  for (auto &k : wide) k = longs[host.next() % 8];
  std::vector<int> answer(96);
  host.launch("long", "switchLong", switchLong, 1, 96, 0, input("key", wide), output("out", answer), value(96));
}
#endif
