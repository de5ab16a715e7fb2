// merging sorted arrays by binary search on diagonals; lower and upper bounds
#include "../support/kernel.h"

extern "C" __global__ void mergePath(const int *a, int na, const int *b, int nb, int *out, int each) {
  int diagonal = min((blockIdx.x * int(blockDim.x) + int(threadIdx.x)) * each, na + nb);
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    int mid = (low + high) >> 1;
    if (a[mid] <= b[diagonal - 1 - mid]) low = mid + 1;
    else high = mid;
  }
  int i = low, j = diagonal - low;
  for (int k = 0; k < each && diagonal + k < na + nb; k++) {
    bool takeA = i < na && (j >= nb || a[i] <= b[j]);
    out[diagonal + k] = takeA ? a[i++] : b[j++];
  }
}

extern "C" __global__ void bounds(const float *sorted, int n, const float *query, int2 *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float q = query[t];
  int lower = 0, count = n;
  while (count > 0) {
    int half = count / 2;
    if (sorted[lower + half] < q) { lower += half + 1; count -= half + 1; } else count = half;
  }
  int upper = lower;
  while (upper < n && sorted[upper] == q) upper++;
  out[t] = make_int2(lower, upper);
}

#ifdef HOST
#include <algorithm>
void launches(Host &host) {
  auto a = host.random<int>(77, -50, 50), b = host.random<int>(120, -50, 50);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<int> out(197);
  host.launch("", "mergePath", mergePath, 2, 32, 0, input("a", a), value(77), input("b", b), value(120), output("out", out), value(4));
  host.check(std::is_sorted(out.begin(), out.end()), "the merge is sorted");
  std::vector<float> sorted(100), query(64);
  for (auto &v : sorted) v = float(host.next() % 40) * 0.5f;
  for (auto &v : query) v = float(host.next() % 90) * 0.25f;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int2> r(64);
  host.launch("bounds", "bounds", bounds, 2, 32, 0, input("sorted", sorted), value(100), input("query", query), output("out", r));
}
#endif
