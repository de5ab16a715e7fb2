// game of life: a cell a byte on a torus, and 32 cells a word by bit-parallel adders
#include "../support/kernel.h"

extern "C" __global__ void lifeBytes(const unsigned char *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int n = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) n += in[(y + dy + h) % h * w + (x + dx + w) % w];
  out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}

extern "C" __global__ void lifeBits(const unsigned *in, unsigned *out, int h, int generations) {
  __shared__ unsigned board[2][64];
  int y = threadIdx.x, from = 0;
  board[0][y] = in[y];
  __syncthreads();
  for (int g = 0; g < generations; g++, from ^= 1) {
    unsigned s[9], count0 = 0, count1 = 0, count2 = 0, self = board[from][y];
    for (int k = 0; k < 3; k++) {
      unsigned r = board[from][(y + k + h - 1) % h];
      s[3 * k] = r << 1 | r >> 31;
      s[3 * k + 1] = r;
      s[3 * k + 2] = r >> 1 | r << 31;
    }
    for (int k = 0; k < 9; k++) {
      if (k == 4) continue;
      unsigned c = count0 & s[k];
      count0 ^= s[k];
      unsigned d = count1 & c;
      count1 ^= c;
      count2 |= d;
    }
    board[1 - from][y] = count1 & ~count2 & (count0 | self);
    __syncthreads();
  }
  out[y] = board[from][y];
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<unsigned char>(40 * 25, 0, 1);
  std::vector<unsigned char> out(1000);
  host.launch("", "lifeBytes", lifeBytes, dim3(5, 4), dim3(8, 8), 0, input("in", in), output("out", out), value(40), value(25));
  auto bits = host.bits<unsigned>(64);
  std::vector<unsigned> after(64);
  host.launch("bits", "lifeBits", lifeBits, 1, 64, 0, input("in", bits), output("out", after), value(64), value(9));
}
#endif
