// string search: naive with early exit, Horspool with a skip table, edit distance by diagonals in shared memory
#include "../support/kernel.h"

extern "C" __global__ void naive(const char *text, int n, const char *pattern, int m, int *first, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  for (int k = 0; k < m; k++)
    if (text[i + k] != pattern[k] && pattern[k] != '?') return;
  atomicMin(first, i);
  atomicAdd(count, 1);
}

extern "C" __global__ void horspool(const unsigned char *text, int n, const unsigned char *pattern, int m, int piece, int *found) {
  __shared__ short skip[256];
  for (int c = threadIdx.x; c < 256; c += blockDim.x) skip[c] = (short)m;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 0; k < m - 1; k++) skip[pattern[k]] = (short)(m - 1 - k);
  __syncthreads();
  int i = threadIdx.x * piece, end = min(i + piece, n - m + 1), hits = 0;
  while (i < end) {
    int k = m - 1;
    while (k >= 0 && text[i + k] == pattern[k]) k--;
    if (k < 0) { hits++; i++; }
    else i += skip[text[i + m - 1]];
  }
  found[threadIdx.x] = hits;
}

extern "C" __global__ void editDistance(const char *a, int n, const char *b, int m, int *out) {
  __shared__ int diagonal[3][65];
  int t = threadIdx.x;
  for (int d = 0; d <= n + m; d++) {
    int j = d - t;
    if (t <= n && j >= 0 && j <= m) {
      int v;
      if (t == 0) v = j;
      else if (j == 0) v = t;
      else {
        v = diagonal[(d + 1) % 3][t - 1] + (a[t - 1] != b[j - 1]);
        v = min(v, 1 + min(diagonal[(d + 2) % 3][t - 1], diagonal[(d + 2) % 3][t]));
      }
      diagonal[d % 3][t] = v;
    }
    __syncthreads();
  }
  if (t == n) *out = diagonal[(n + m) % 3][n];
}

#ifdef HOST
void launches(Host &host) {
  std::vector<char> text(600), pattern = {'a', 'b', '?', 'a'};
  for (auto &c : text) c = "abc"[host.next() % 3];
  std::vector<int> first = {99999}, count(1);
  host.launch("", "naive", naive, 5, 128, 0, input("text", text), value(600), input("pattern", pattern), value(4), inout("first", first), output("count", count));
  std::vector<unsigned char> bytes(text.begin(), text.end()), p = {'c', 'a', 'b'};
  std::vector<int> found(32);
  host.launch("horspool", "horspool", horspool, 1, 32, 0, input("text", bytes), value(600), input("pattern", p), value(3), value(19), output("found", found));
  const char *x = "intention of the second execution", *y = "execution of the first intention..";
  std::vector<char> a(x, x + 33), b(y, y + 34);
  std::vector<int> distance(1);
  host.launch("edit", "editDistance", editDistance, 1, 64, 0, input("a", a), value(33), input("b", b), value(34), output("out", distance));
}
#endif
