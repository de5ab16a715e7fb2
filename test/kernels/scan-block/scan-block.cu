// prefix sums within a block: Hillis-Steele with two buffers, Blelloch up and down sweep, segmented with flags
#include "../support/kernel.h"

extern "C" __global__ void scanInclusive(const int *in, int *out) {
  __shared__ int buffer[2][128];
  int t = threadIdx.x, from = 0, i = blockIdx.x * 128 + t;
  buffer[0][t] = in[i];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    int v = buffer[from][t];
    if (t >= d) v += buffer[from][t - d];
    buffer[1 - from][t] = v;
    from = 1 - from;
    __syncthreads();
  }
  out[i] = buffer[from][t];
}

extern "C" __global__ void scanExclusive(const unsigned *in, unsigned *out, unsigned *total, int n) {
  DYNAMIC_SHARED(unsigned, tree);
  int t = threadIdx.x;
  tree[2 * t] = in[2 * t];
  tree[2 * t + 1] = in[2 * t + 1];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
  }
  if (t == 0) { *total = tree[n - 1]; tree[n - 1] = 0; }
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      unsigned v = tree[a];
      tree[a] = tree[b];
      tree[b] += v;
    }
  }
  __syncthreads();
  out[2 * t] = tree[2 * t];
  out[2 * t + 1] = tree[2 * t + 1];
}

extern "C" __global__ void scanSegmented(const short *in, const unsigned char *head, int *out) {
  __shared__ int sum[96];
  __shared__ unsigned char flag[96];
  int t = threadIdx.x;
  sum[t] = in[t];
  flag[t] = head[t];
  __syncthreads();
  for (int d = 1; d < 96; d <<= 1) {
    int v = 0;
    unsigned char f = 0;
    if (t >= d) { v = sum[t - d]; f = flag[t - d]; }
    __syncthreads();
    if (t >= d && !flag[t]) { sum[t] += v; flag[t] |= f; }
    __syncthreads();
  }
  out[t] = sum[t];
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(256, -1000, 1000);
  std::vector<int> out(256);
  host.launch("", "scanInclusive", scanInclusive, 2, 128, 0, input("in", in), output("out", out));
  for (int i = 0, s = 0; i < 256; i++) {
    s = i % 128 ? s + in[i] : in[i];
    host.check(out[i] == s, "inclusive scan");
  }
  auto u = host.random<unsigned>(256, 0, 5000);
  std::vector<unsigned> ex(256), total(1);
  host.launch("exclusive", "scanExclusive", scanExclusive, 1, 128, 1024, input("in", u), output("out", ex), output("total", total), value(256));
  auto s = host.random<short>(96, -300, 300);
  std::vector<unsigned char> head(96);
  for (auto &h : head) h = host.next() % 9 == 0;
  std::vector<int> seg(96);
  host.launch("segmented", "scanSegmented", scanSegmented, 1, 96, 0, input("in", s), input("head", head), output("out", seg));
}
#endif
