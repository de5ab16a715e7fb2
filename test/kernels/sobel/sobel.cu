// Sobel edges over bytes with borders, integer square root, box blur by running sums
#include "../support/kernel.h"

extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { out[y * w + x] = 0; return; }
  int gx = 0, gy = 0;
#pragma unroll
  for (int dy = -1; dy <= 1; dy++)
#pragma unroll
    for (int dx = -1; dx <= 1; dx++) {
      int p = in[(y + dy) * w + x + dx];
      gx += dx * (2 - (dy < 0 ? -dy : dy)) * p;
      gy += dy * (2 - (dx < 0 ? -dx : dx)) * p;
    }
  unsigned v = unsigned(gx * gx + gy * gy), root = 0;
  for (unsigned bit = 1u << 20; bit; bit >>= 2)
    if (v >= root + bit) { v -= root + bit; root = (root >> 1) + bit; } else root >>= 1;
  out[y * w + x] = root > 255 ? 255 : (unsigned char)root;
}

extern "C" __global__ void blurRows(const unsigned char *in, unsigned short *out, int w, int h, int radius) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= h) return;
  const unsigned char *row = in + y * w;
  int sum = 0;
  for (int x = -radius; x <= radius; x++) sum += row[x < 0 ? 0 : x];
  for (int x = 0; x < w; x++) {
    out[y * w + x] = (unsigned short)(sum / (2 * radius + 1));
    int enter = x + radius + 1, leave = x - radius;
    sum += row[enter < w ? enter : w - 1] - row[leave < 0 ? 0 : leave];
  }
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.bits<unsigned char>(35 * 27);
  std::vector<unsigned char> out(35 * 27);
  host.launch("", "sobel", sobel, dim3(3, 4), dim3(16, 8), 0, input("in", in), output("out", out), value(35), value(27));
  std::vector<unsigned short> blurred(35 * 27);
  host.launch("blur", "blurRows", blurRows, 1, 32, 0, input("in", in), output("out", blurred), value(35), value(27), value(3));
}
#endif
