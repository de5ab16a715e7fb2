// matrix products on tensor cores: wmma fragments through shared memory, and mma.sync fed by ldmatrix
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 16;
constexpr int DEPTH = 32;

// c = a * b + bias of the column; a by rows, b by columns, 32 x 32 a block of four warps.
extern "C" __global__ void tensorTile(const half *a, const half *b, const float *bias, float *c, int n, int depth) {
  __shared__ __align__(32) half rows[2 * TILE][DEPTH + 8];
  __shared__ __align__(32) half columns[2 * TILE][DEPTH + 8];
  __shared__ __align__(32) float out[4][TILE][TILE + 4];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int top = blockIdx.y * 2 * TILE, left = blockIdx.x * 2 * TILE;
  wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int from = 0; from < depth; from += DEPTH) {
    for (int i = threadIdx.x; i < 2 * TILE * DEPTH; i += blockDim.x) {
      const int y = i / DEPTH, x = i % DEPTH;
      const bool in = from + x < depth;
      rows[y][x] = in && top + y < n ? a[(top + y) * depth + from + x] : __float2half(0.0f);
      columns[y][x] = in && left + y < n ? b[(left + y) * depth + from + x] : __float2half(0.0f);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k += TILE) {
      wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::col_major> fb;
      wmma::load_matrix_sync(fa, &rows[warp / 2 * TILE][k], DEPTH + 8);
      wmma::load_matrix_sync(fb, &columns[warp % 2 * TILE][k], DEPTH + 8);
      wmma::mma_sync(sum, fa, fb, sum);
    }
    __syncthreads();
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] > 0.0f ? sum.x[i] : 0.125f * sum.x[i];
  wmma::store_matrix_sync(&out[warp][0][0], sum, TILE + 4, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < TILE * TILE; i += 32) {
    const int y = top + warp / 2 * TILE + i / TILE, x = left + warp % 2 * TILE + i % TILE;
    if (y < n && x < n) c[y * n + x] = out[warp][i / TILE][i % TILE] + bias[x];
  }
}

// One warp: 16 x 8 products of half precision, the sums in registers, two steps ahead of their use.
extern "C" __global__ void matrixSteps(const unsigned *a, const unsigned *b, float *c, int steps) {
  __shared__ __align__(16) unsigned left[2][16 * 8], right[2][8 * 8];
  const unsigned lane = threadIdx.x;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (int k = 0; k < steps; k++) {
    unsigned *l = left[k & 1], *r = right[k & 1];
    for (int i = lane; i < 128; i += 32) l[i] = a[k * 128 + i];
    for (int i = lane; i < 64; i += 32) r[i] = b[k * 64 + i];
    __syncwarp();
    unsigned a0, a1, a2, a3, b0, b1;
    const unsigned la = (unsigned)__cvta_generic_to_shared(l + (lane % 16) * 8 + (lane / 16) * 4);
    const unsigned ra = (unsigned)__cvta_generic_to_shared(r + (lane % 8) * 8 + (lane / 8 % 2) * 4);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
                 : "r"(la)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b0), "=r"(b1)
                 : "r"(ra)
                 : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  const int row = lane / 4, column = lane % 4 * 2;
  c[row * 8 + column] = d0;
  c[row * 8 + column + 1] = d1;
  c[(row + 8) * 8 + column] = d2;
  c[(row + 8) * 8 + column + 1] = d3;
}
