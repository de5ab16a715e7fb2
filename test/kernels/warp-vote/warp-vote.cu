// votes and matches: ballot, any, all, match.any, match.all, stream compaction by ballot, aggregated atomics
#include "../support/kernel.h"

extern "C" __global__ void votes(const int *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[i];
  out[i] = __ballot_sync(~0u, v > 0);
  out[n + i] = unsigned(__any_sync(~0u, v == 5)) | unsigned(__all_sync(~0u, v > -9)) << 1;
  out[2 * n + i] = __match_any_sync(~0u, v);
  int same;
  out[3 * n + i] = __match_all_sync(~0u, v >> 6, &same) + unsigned(same);
  out[4 * n + i] = __match_any_sync(~0u, (long long)v << 33 | 1);
}

extern "C" __global__ void compact(const int *in, int *out, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int v = i < n ? in[i] : 0;
  bool keep = i < n && v % 3 == 0;
  unsigned kept = __ballot_sync(~0u, keep);
  int warp = i >> 5;
  if (keep) out[warp * 32 + __popc(kept & ((1u << lane) - 1))] = v;
  if (lane == 0) count[warp] = __popc(kept);
}

// One atomic for each group of equal keys in a warp.
extern "C" __global__ void aggregated(const unsigned *key, unsigned *bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned group = __match_any_sync(~0u, key[i]);
  int leader = __ffs(group) - 1;
  if (int(threadIdx.x & 31) == leader) atomicAdd(&bins[key[i]], unsigned(__popc(group)));
}

extern "C" __global__ void blockVotes(const int *in, int *out) {
  int v = in[threadIdx.x];
  int c = __syncthreads_count(v > 2), o = __syncthreads_or(v == 7), a = __syncthreads_and(v < 100);
  out[threadIdx.x] = c * 4 + o * 2 + a;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(128, -8, 8);
  std::vector<unsigned> out(128 * 5);
  host.launch("", "votes", votes, 2, 64, 0, input("in", in), output("out", out), value(128));
  std::vector<int> packed(128), count(4);
  auto many = host.random<int>(128, 0, 999);
  host.launch("compact", "compact", compact, 2, 64, 0, input("in", many), output("out", packed), output("count", count), value(117));
  auto key = host.random<unsigned>(256, 0, 15);
  std::vector<unsigned> bins(16);
  host.launch("aggregated", "aggregated", aggregated, 4, 64, 0, input("key", key), output("bins", bins));
  std::vector<int> answer(96);
  host.launch("block", "blockVotes", blockVotes, 1, 96, 0, input("in", in), output("out", answer));
}
#endif
