// matrix product: shared-memory tiles with edges, and a register-blocked form
#include "../support/kernel.h"

#define TILE 8

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int t = 0; t < k; t += TILE) {
    as[ty][tx] = row < m && t + tx < k ? a[row * k + t + tx] : 0.0f;
    bs[ty][tx] = col < n && t + ty < k ? b[(t + ty) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum = fmaf(as[ty][i], bs[i][tx], sum);
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

// Each thread makes a 4 x 2 patch of C from registers; sizes are multiples of the tile.
extern "C" __global__ void matmulBlocked(const float *a, const float *b, float *c, int n) {
  __shared__ __align__(16) float as[16][16], bs[16][16];
  int tx = threadIdx.x & 7, ty = threadIdx.x >> 3;
  float acc[4][2] = {};
  for (int t = 0; t < n; t += 16) {
    for (int i = threadIdx.x; i < 64; i += 32) {
      ((float4 *)as)[i] = *(const float4 *)&a[(blockIdx.y * 16 + i / 4) * n + t + (i & 3) * 4];
      ((float4 *)bs)[i] = *(const float4 *)&b[(t + i / 4) * n + blockIdx.x * 16 + (i & 3) * 4];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) {
      float x = bs[i][tx * 2], y = bs[i][tx * 2 + 1];
#pragma unroll
      for (int r = 0; r < 4; r++) {
        float v = as[ty * 4 + r][i];
        acc[r][0] = fmaf(v, x, acc[r][0]);
        acc[r][1] = fmaf(v, y, acc[r][1]);
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; r++) *(float2 *)&c[(blockIdx.y * 16 + ty * 4 + r) * n + blockIdx.x * 16 + tx * 2] = make_float2(acc[r][0], acc[r][1]);
}

#ifdef HOST
void launches(Host &host) {
  int m = 19, n = 21, k = 13;
  auto a = host.random<float>(m * k, -1, 1), b = host.random<float>(k * n, -1, 1);
  std::vector<float> c(m * n);
  host.launch("", "matmul", matmul, dim3(3, 3), dim3(TILE, TILE), 0, input("a", a), input("b", b), output("c", c), value(m), value(n), value(k));
  auto d = host.random<float>(32 * 32, -1, 1), e = host.random<float>(32 * 32, -1, 1);
  std::vector<float> f(32 * 32);
  host.launch("blocked", "matmulBlocked", matmulBlocked, dim3(2, 2), 32, 0, input("a", d), input("b", e), output("c", f), value(32));
}
#endif
