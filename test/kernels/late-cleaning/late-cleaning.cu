// forms that a late phase cleans: indices in step, a copy of a structure, values that meet again, lanes by powers of 2, magnitudes
#include "../support/kernel.h"

#ifdef HOST
inline int copied(int x) { return x; }
inline int masked(int x) { return x; }
inline int lane() { return threadIdx.x % 32; }
#else
// What the compiler does not see through.
__device__ __forceinline__ int copied(int x) { int y; asm("mov.b32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
__device__ __forceinline__ int masked(int x) { int y; asm("or.b32 %0, %1, 0;" : "=r"(y) : "r"(x)); return y; }
__device__ __forceinline__ int lane() { int y; asm("mov.u32 %0, %%laneid;" : "=r"(y)); return y; }
#endif

// One step of Jacobi's method for 8 rows of a block: k counts rows, i is the row itself, and both end the loop.
#define ROWS 8
#define SIZE 64
extern "C" __global__ void sweep(const float *a, const double *b, const double *x, double *next, double *moved) {
  __shared__ double xs[SIZE];
  __shared__ double bs[ROWS + 1];
  for (int i = threadIdx.x; i < SIZE; i += blockDim.x) xs[i] = x[i];
  if (threadIdx.x < ROWS) {
    int k = threadIdx.x;
    for (int i = k + blockIdx.x * ROWS; k < ROWS && i < SIZE; k += ROWS, i += ROWS) bs[i % (ROWS + 1)] = b[i];
  }
  __syncthreads();
  if (threadIdx.x < ROWS) {
    int k = threadIdx.x;
    double sum = 0;
    for (int i = k + blockIdx.x * ROWS; k < ROWS && i < SIZE; k += ROWS, i += ROWS) {
      double step = bs[i % (ROWS + 1)];
      step /= a[i * SIZE + i];
      next[i] = xs[i] + step;
      sum += fabs(step);
    }
    moved[blockIdx.x * ROWS + threadIdx.x] = sum;
  }
}

// The cell of a grid in which a particle is, from a copy of its position that must stay in memory.
extern "C" __global__ void cells(const float4 *positions, int *cell, int n, float x, float y, float z, float size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile float4 p;
  p.x = positions[i].x; p.y = positions[i].y; p.z = positions[i].z; p.w = positions[i].w;
  int cx = int(floorf((p.x - x) / size)), cy = int(floorf((p.y - y) / size)), cz = int(floorf((p.z - z) / size));
  cell[i] = ((cz & 15) * 16 + (cy & 15)) * 16 + (cx & 15);
}

// Both arms keep the value that was there before.
extern "C" __global__ void meeting(const int *in, int *out, int *log, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = in[i] & 7, sum = 0;
  for (int k = 0; k < count; k++) {
    int v = in[(i + k) % n] * 3, kept;
    if (v & 4) {
      log[i] = v;
      kept = copied(v);
      for (int j = 0; j < (v & 31); j++) sum += in[j];
    } else {
      log[n + i] = k;
      kept = masked(v);
    }
    sum = sum * 5 + kept;
  }
  out[i] = sum;
}

// Signed division of a lane by a power of 2, as the layouts of matrix fragments have it.
extern "C" __global__ void fragment(const int *a, int *out) {
  int group = lane() / 4, member = lane() % 4;
  out[blockIdx.x * 32 + lane()] = a[(group * 4 + member * 8) & 31] + member;
}

// The largest magnitude of a row and where it is, then the row in bytes.
extern "C" __global__ void quantize(const float *rows, signed char *bytes, float *scales, int *at, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float largest = 0;
  int where = -1;
  for (int i = 0; i < width; i++) {
    float size = fabsf(rows[row * width + i]);
    if (largest < size) { largest = size; where = i; }
  }
  float scale = largest / 127.0f;
  for (int i = 0; i < width; i++) bytes[row * width + i] = (signed char)rintf(rows[row * width + i] / scale);
  scales[row] = scale;
  at[row] = where;
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<float>(SIZE * SIZE, 1.0f, 3.0f);
  auto b = host.random<double>(SIZE, -4.0, 4.0), x = host.random<double>(SIZE, -1.0, 1.0);
  std::vector<double> next(SIZE), moved(SIZE);
  host.launch("", "sweep", sweep, SIZE / ROWS, 32, 0, input("a", a), input("b", b), input("x", x), output("next", next), output("moved", moved));
  std::vector<float4> positions(80);
  auto numbers = host.random<float>(320, -8.0f, 8.0f);
  for (int i = 0; i < 80; i++) positions[i] = {numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2], numbers[4 * i + 3]};
  std::vector<int> cell(80);
  host.launch("cells", "cells", cells, 3, 32, 0, input("positions", numbers), output("cell", cell), value(80), value(-8.0f), value(-7.5f), value(-7.0f), value(0.75f));
  auto in = host.random<int>(64, 0, 5000);
  std::vector<int> out(64), log(128);
  host.launch("meeting", "meeting", meeting, 2, 32, 0, input("in", in), output("out", out), output("log", log), value(64));
  auto table = host.random<int>(32, 0, 1000);
  std::vector<int> lanes(64);
  host.launch("fragment", "fragment", fragment, 2, 32, 0, input("table", table), output("lanes", lanes));
  auto rows = host.random<float>(40 * 24, -6.0f, 6.0f);
  std::vector<signed char> bytes(40 * 24);
  std::vector<float> scales(40);
  std::vector<int> at(40);
  host.launch("quantize", "quantize", quantize, 1, 40, 0, input("rows", rows), output("bytes", bytes), output("scales", scales), output("at", at), value(24));
}
#endif
