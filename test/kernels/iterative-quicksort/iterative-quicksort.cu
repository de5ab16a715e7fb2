// quicksort with an explicit stack and insertion sort below a cut-off, one array a thread; a binary heap
#include "../support/kernel.h"

extern "C" __global__ void quicksort(int *data, int each) {
  int *v = data + (blockIdx.x * blockDim.x + threadIdx.x) * each;
  int lows[12], highs[12], top = 0;
  lows[0] = 0;
  highs[0] = each - 1;
  top = 1;
  while (top > 0) {
    top--;
    int low = lows[top], high = highs[top];
    if (high - low < 6) {
      for (int i = low + 1; i <= high; i++) {
        int x = v[i], j = i;
        for (; j > low && v[j - 1] > x; j--) v[j] = v[j - 1];
        v[j] = x;
      }
      continue;
    }
    int pivot = v[(low + high) >> 1], i = low, j = high;
    while (i <= j) {
      while (v[i] < pivot) i++;
      while (v[j] > pivot) j--;
      if (i <= j) { int x = v[i]; v[i] = v[j]; v[j] = x; i++; j--; }
    }
    // The longer part first, so that the stack stays logarithmic.
    bool leftLonger = j - low > high - i;
    int a = leftLonger ? low : i, b = leftLonger ? j : high, c = leftLonger ? i : low, d = leftLonger ? high : j;
    if (a < b) { lows[top] = a; highs[top++] = b; }
    if (c < d) { lows[top] = c; highs[top++] = d; }
  }
}

extern "C" __global__ void heapTop(const float *in, int n, float *out, int k) {
  int t = threadIdx.x;
  float heap[8];
  int size = 0;
  for (int i = t; i < n; i += blockDim.x) {
    float x = in[i];
    if (size < k) {
      int c = size++;
      while (c > 0 && heap[(c - 1) / 2] > x) { heap[c] = heap[(c - 1) / 2]; c = (c - 1) / 2; }
      heap[c] = x;
    } else if (x > heap[0]) {
      int c = 0;
      for (;;) {
        int child = 2 * c + 1;
        if (child >= k) break;
        if (child + 1 < k && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= x) break;
        heap[c] = heap[child];
        c = child;
      }
      heap[c] = x;
    }
  }
  for (int i = 0; i < k; i++) out[t * k + i] = heap[i];
}

#ifdef HOST
#include <algorithm>
void launches(Host &host) {
  auto data = host.random<int>(32 * 40, -999, 999);
  host.launch("", "quicksort", quicksort, 1, 32, 0, inout("data", data), value(40));
  for (int i = 0; i < 32; i++) host.check(std::is_sorted(data.begin() + 40 * i, data.begin() + 40 * i + 40), "each part is sorted");
  auto f = host.random<float>(640, -1, 1);
  std::vector<float> top(160);
  host.launch("heap", "heapTop", heapTop, 1, 32, 0, input("in", f), value(640), output("out", top), value(5));
}
#endif
