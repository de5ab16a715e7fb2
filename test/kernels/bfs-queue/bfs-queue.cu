// breadth-first search inside one block: a queue in shared memory, frontier by frontier
#include "../support/kernel.h"

extern "C" __global__ void bfs(const int *start, const int *neighbours, int *distance, int *reached, int source, int n) {
  __shared__ int queue[256];
  __shared__ int head, tail, end;
  int t = threadIdx.x;
  for (int v = t; v < n; v += blockDim.x) distance[v] = v == source ? 0 : -1;
  if (t == 0) { queue[0] = source; head = 0; tail = 1; end = 1; }
  __syncthreads();
  for (int level = 1; head < tail; level++) {
    for (int q = head + t; q < tail; q += blockDim.x) {
      int v = queue[q];
      for (int k = start[v]; k < start[v + 1]; k++) {
        int u = neighbours[k];
        if (atomicCAS(&distance[u], -1, level) == -1) queue[atomicAdd(&end, 1)] = u;
      }
    }
    __syncthreads();
    if (t == 0) { head = tail; tail = end; }
    __syncthreads();
  }
  if (t == 0) *reached = end;
}

#ifdef HOST
void launches(Host &host) {
  int n = 200;
  std::vector<int> start = {0}, neighbours;
  for (int v = 0; v < n; v++) {
    for (int k = int(host.next() % 4); k > 0; k--) neighbours.push_back(int(host.next() % n));
    start.push_back(int(neighbours.size()));
  }
  std::vector<int> distance(n), reached(1);
  host.launch("", "bfs", bfs, 1, 64, 0, input("start", start), input("neighbours", neighbours), output("distance", distance), output("reached", reached), value(3), value(n));
  host.check(reached[0] > 50, "the search gets somewhere");
}
#endif
