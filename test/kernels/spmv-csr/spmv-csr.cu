// sparse matrix by vector (CSR): a thread a row, and a warp a row with a shuffle reduction
#include "../support/kernel.h"

extern "C" __global__ void spmvScalar(int rows, const int *start, const int *column, const float *value, const float *x, float *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row]; k < start[row + 1]; k++) sum = fmaf(value[k], __ldg(&x[column[k]]), sum);
  y[row] = sum;
}

extern "C" __global__ void spmvWarp(int rows, const int *__restrict__ start, const int *__restrict__ column, const double *__restrict__ value, const double *__restrict__ x, double *y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  double sum = 0;
  for (int k = start[row] + lane; k < start[row + 1]; k += 32) sum = fma(value[k], x[column[k]], sum);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}

#ifdef HOST
void launches(Host &host) {
  int rows = 45;
  std::vector<int> start = {0}, column;
  for (int r = 0; r < rows; r++) {
    int n = r == 7 ? 90 : int(host.next() % 12);
    for (int k = 0; k < n; k++) column.push_back(int(host.next() % rows));
    start.push_back(int(column.size()));
  }
  auto v = host.random<float>(column.size(), -1, 1), x = host.random<float>(rows, -1, 1);
  std::vector<float> y(rows);
  host.launch("", "spmvScalar", spmvScalar, 2, 32, 0, value(rows), input("start", start), input("column", column), input("value", v), input("x", x), output("y", y));
  std::vector<double> w(v.begin(), v.end()), u(x.begin(), x.end()), z(rows);
  host.launch("warp", "spmvWarp", spmvWarp, 12, 128, 0, value(rows), input("start", start), input("column", column), input("value", w), input("x", u), output("y", z));
}
#endif
