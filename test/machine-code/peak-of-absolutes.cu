// The largest magnitude of a row, at least a floor: ptxas 13.0.88 loses the minus of max(max(x, -x), y) in every copy of the loop body.
extern "C" __global__ void peakOfAbsolutes(const int *a, int *peak, const int *floor_, int n, int hop) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t * hop >= n) return;
  int best = 0x80000000;
  for (int k = 0; k < hop && t * hop + k < n; k++) {
    int x = a[t * hop + k];
    best = max(best, max(max(x, -x), floor_[t]));
  }
  peak[t] = best;
}
