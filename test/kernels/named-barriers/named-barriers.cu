// named barriers: producer and consumer warps with bar.arrive and bar.sync on a part of the block
#include "../support/kernel.h"

#ifdef HOST
static void syncNamed(int id, int count) { fiber::barrier(id, unsigned(count)); }
static void arriveNamed(int id, int count) { fiber::arrive(id, unsigned(count)); }
#else
__device__ __forceinline__ void syncNamed(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ __forceinline__ void arriveNamed(int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }
#endif

extern "C" __global__ void producerConsumer(const int *in, int *out, int rounds) {
  __shared__ int box[32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; r++) {
      syncNamed(2, 64);  // the box is empty
      box[lane] = in[r * 32 + lane] * (lane + 1);
      arriveNamed(1, 64);  // the box is full
    }
  } else {
    int sum = 0;
    arriveNamed(2, 64);
    for (int r = 0; r < rounds; r++) {
      syncNamed(1, 64);
      sum = sum * 3 + box[31 - lane];
      if (r + 1 < rounds) arriveNamed(2, 64);
    }
    out[lane] = sum;
  }
}

// Two halves of the block synchronize apart from each other, a different number of times.
extern "C" __global__ void twoTeams(int *data) {
  __shared__ int ring[128];
  int team = threadIdx.x >> 6, t = threadIdx.x & 63;
  ring[threadIdx.x] = data[threadIdx.x];
  syncNamed(3 + team, 64);
  for (int r = 0; r < 4 + 3 * team; r++) {
    int v = ring[team * 64 + ((t + 1) & 63)];
    syncNamed(3 + team, 64);
    ring[threadIdx.x] += v ^ r;
    syncNamed(3 + team, 64);
  }
  __syncthreads();
  data[threadIdx.x] = ring[127 - threadIdx.x];
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(6 * 32, -50, 50);
  std::vector<int> out(32);
  host.launch("", "producerConsumer", producerConsumer, 1, 64, 0, input("in", in), output("out", out), value(6));
  for (int lane = 0; lane < 32; lane++) {
    int sum = 0;
    for (int r = 0; r < 6; r++) sum = sum * 3 + in[r * 32 + 31 - lane] * (32 - lane);
    host.check(out[lane] == sum, "consumers see every box");
  }
  auto data = host.random<int>(128, -99, 99);
  host.launch("teams", "twoTeams", twoTeams, 1, 128, 0, inout("data", data));
}
#endif
