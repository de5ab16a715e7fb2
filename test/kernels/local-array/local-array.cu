// local arrays: dynamic indexing, insertion sort, a permutation walk, a 2-D table in local memory
#include "../support/kernel.h"

extern "C" __global__ void localSort(const int *in, int *sorted, int *median, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v[9];
  for (int k = 0; k < 9; k++) v[k] = in[i * 9 + k];
#pragma unroll 1
  for (int k = 1; k < 9; k++) {
    int x = v[k], j = k - 1;
    while (j >= 0 && v[j] > x) { v[j + 1] = v[j]; j--; }
    v[j + 1] = x;
  }
  for (int k = 0; k < 9; k++) sorted[i * 9 + k] = v[k];
  median[i] = v[4];
}

extern "C" __global__ void permutation(const unsigned *seed, unsigned char *order, int *cycles) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char p[32];
  short rank[4][8];
  for (int k = 0; k < 32; k++) p[k] = (unsigned char)k;
  unsigned s = seed[i];
  for (int k = 31; k > 0; k--) {
    s = s * 1664525u + 1013904223u;
    int j = int((s >> 8) % unsigned(k + 1));
    unsigned char t = p[k];
    p[k] = p[j];
    p[j] = t;
  }
  for (int k = 0; k < 32; k++) rank[p[k] >> 3][p[k] & 7] = short(k);
  unsigned seen = 0;
  int count = 0;
  for (int k = 0; k < 32; k++) {
    if (seen >> k & 1) continue;
    count++;
    for (int j = k; !(seen >> j & 1); j = p[j]) seen |= 1u << j;
  }
  for (int k = 0; k < 32; k++) order[i * 32 + k] = (unsigned char)rank[k >> 3][k & 7];
  cycles[i] = count;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(40 * 9, -500, 500);
  std::vector<int> sorted(360), median(40), cycles(32);
  host.launch("", "localSort", localSort, 2, 32, 0, input("in", in), output("sorted", sorted), output("median", median), value(40));
  auto seed = host.bits<unsigned>(32);
  std::vector<unsigned char> order(1024);
  host.launch("permutation", "permutation", permutation, 1, 32, 0, input("seed", seed), output("order", order), output("cycles", cycles));
}
#endif
