// matrix transpose: padded shared tiles with edges, 2-D blocks, several rows a thread
#include "../support/kernel.h"

extern "C" __global__ void transpose(const float *in, float *out, int w, int h) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 16; k += 4)
    if (x < w && y + k < h) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * w + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 16; k += 4)
    if (x < h && y + k < w) out[(y + k) * h + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void transposeBits(const unsigned *in, unsigned *out) {
  unsigned v = in[blockIdx.x * 32 + threadIdx.x], mine = 0;
  for (int k = 0; k < 32; k++) {
    unsigned column = __ballot_sync(~0u, v >> k & 1);
    if (int(threadIdx.x) == k) mine = column;
  }
  out[blockIdx.x * 32 + threadIdx.x] = mine;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<float>(37 * 29, -1, 1);
  std::vector<float> out(37 * 29);
  host.launch("", "transpose", transpose, dim3(3, 2), dim3(16, 4), 0, input("in", in), output("out", out), value(37), value(29));
  auto bits = host.bits<unsigned>(96);
  std::vector<unsigned> turned(96);
  host.launch("bits", "transposeBits", transposeBits, 3, 32, 0, input("in", bits), output("out", turned));
}
#endif
