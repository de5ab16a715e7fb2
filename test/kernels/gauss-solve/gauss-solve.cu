// Gaussian elimination with partial pivoting, one block a system, barriers in nested loops
#include "../support/kernel.h"

#define N 12

extern "C" __global__ void gaussSolve(const double *systems, double *solutions, int *pivots) {
  __shared__ double m[N][N + 1];
  __shared__ int pivot;
  int t = threadIdx.x;
  const double *a = systems + blockIdx.x * N * (N + 1);
  for (int i = t; i < N * (N + 1); i += blockDim.x) m[i / (N + 1)][i % (N + 1)] = a[i];
  __syncthreads();
  for (int k = 0; k < N; k++) {
    if (t == 0) {
      int best = k;
      for (int r = k + 1; r < N; r++)
        if (fabs(m[r][k]) > fabs(m[best][k])) best = r;
      pivot = best;
      pivots[blockIdx.x * N + k] = best;
    }
    __syncthreads();
    if (pivot != k && t <= N) { double x = m[k][t]; m[k][t] = m[pivot][t]; m[pivot][t] = x; }
    __syncthreads();
    if (t < N && t != k) {
      double f = m[t][k] / m[k][k];
      for (int c = k + 1; c <= N; c++) m[t][c] = fma(-f, m[k][c], m[t][c]);
    }
    __syncthreads();
  }
  if (t < N) solutions[blockIdx.x * N + t] = m[t][N] / m[t][t];
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<double>(3 * N * (N + 1), -5, 5);
  std::vector<double> x(3 * N);
  std::vector<int> pivots(3 * N);
  host.launch("", "gaussSolve", gaussSolve, 3, 32, 0, input("systems", a), output("solutions", x), output("pivots", pivots));
  for (int s = 0; s < 3; s++)
    for (int r = 0; r < N; r++) {
      double sum = -a[(s * N + r) * (N + 1) + N];
      for (int c = 0; c < N; c++) sum += a[(s * N + r) * (N + 1) + c] * x[s * N + c];
      host.check(std::fabs(sum) < 1e-9, "the solution solves the system");
    }
}
#endif
