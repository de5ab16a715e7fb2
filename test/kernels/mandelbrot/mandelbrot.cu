// Mandelbrot escape times: a divergent loop with two exits, f32 and f64
#include "../support/kernel.h"

template <class T> __device__ __forceinline__ int escape(T cx, T cy, int limit) {
  T x = 0, y = 0;
  int k = 0;
  for (; k < limit; k++) {
    T xx = x * x, yy = y * y;
    if (xx + yy > T(4)) break;
    y = T(2) * x * y + cy;
    x = xx - yy + cx;
  }
  return k;
}

extern "C" __global__ void mandelbrot(unsigned char *out, int w, int h, float x0, float y0, float step, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = (unsigned char)escape<float>(x0 + x * step, y0 + y * step, limit);
}

extern "C" __global__ void mandelbrotDouble(int *out, int w, double x0, double y0, double step, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = escape<double>(x0 + (i % w) * step, y0 + (i / w) * step, limit);
}

#ifdef HOST
void launches(Host &host) {
  std::vector<unsigned char> out(48 * 20);
  host.launch("", "mandelbrot", mandelbrot, dim3(3, 3), dim3(16, 8), 0, output("out", out), value(48), value(20), value(-2.1f), value(-1.0f), value(0.0625f), value(60));
  std::vector<int> wide(128);
  host.launch("double", "mandelbrotDouble", mandelbrotDouble, 4, 32, 0, output("out", wide), value(16), value(-0.75), value(0.05), value(0.01), value(100));
}
#endif
