// connected components by union-find with compare-and-swap hooking and path halving
#include "../support/kernel.h"

__device__ inline int root(int *parent, int v) {
  int p = ((volatile int *)parent)[v];
  while (p != v) {
    int g = ((volatile int *)parent)[p];
    if (g != p) atomicCAS(&parent[v], p, g);
    v = p;
    p = ((volatile int *)parent)[v];
  }
  return v;
}

extern "C" __global__ void unite(const int2 *edges, int *parent, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int2 e = edges[i];
  for (;;) {
    int a = root(parent, e.x), b = root(parent, e.y);
    if (a == b) break;
    int high = a > b ? a : b, low = a > b ? b : a;
    if (atomicCAS(&parent[high], high, low) == high) break;
  }
}

// The least vertex of a component is its root, whatever the order of hooking; `parent` is a finished forest.
extern "C" __global__ void label(const int *parent, int *labels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = i;
  while (parent[v] != v) v = parent[v];
  labels[i] = v;
}

// Both steps in one block, so that only order-independent results are left.
extern "C" __global__ void components(const int2 *edges, int *labels, int vertices, int n) {
  DYNAMIC_SHARED(int, parent);
  for (int v = threadIdx.x; v < vertices; v += blockDim.x) parent[v] = v;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int2 e = edges[i];
    for (;;) {
      int a = root(parent, e.x), b = root(parent, e.y);
      if (a == b) break;
      int high = a > b ? a : b, low = a > b ? b : a;
      if (atomicCAS(&parent[high], high, low) == high) break;
    }
  }
  __syncthreads();
  for (int v = threadIdx.x; v < vertices; v += blockDim.x) labels[v] = root(parent, v);
}

#ifdef HOST
void launches(Host &host) {
  int vertices = 150, n = 110;
  std::vector<int2> edges(n);
  for (auto &e : edges) e = make_int2(int(host.next() % vertices), int(host.next() % vertices));
  std::vector<int> labels(vertices), reference(vertices);
  host.launch("", "components", components, 1, 64, 600, input("edges", edges), output("labels", labels), value(vertices), value(n));
  for (int v = 0; v < vertices; v++) reference[v] = v;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto e : edges) {
      int low = min(reference[e.x], reference[e.y]);
      if (reference[e.x] != low || reference[e.y] != low) { reference[e.x] = reference[e.y] = low; changed = true; }
    }
  }
  host.check(labels == reference, "labels are the least vertices");
  std::vector<int> forest(96);
  for (int v = 0; v < 96; v++) forest[v] = v % 5 == 0 ? v : int(host.next() % v);
  std::vector<int> roots(96);
  host.launch("label", "label", label, 3, 32, 0, input("parent", forest), output("labels", roots), value(90));
}
#endif
