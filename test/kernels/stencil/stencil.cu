// stencils: five points in 2-D with a shared halo, seven points in 3-D with clamped borders
#include "../support/kernel.h"

extern "C" __global__ void stencil5(const float *in, float *out, int w, int h) {
  __shared__ float s[10][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  int cx = min(x, w - 1), cy = min(y, h - 1);
  s[ly][lx] = in[cy * w + cx];
  if (threadIdx.x == 0) s[ly][0] = in[cy * w + max(cx - 1, 0)];
  if (threadIdx.x == 15) s[ly][17] = in[cy * w + min(cx + 1, w - 1)];
  if (threadIdx.y == 0) s[0][lx] = in[max(cy - 1, 0) * w + cx];
  if (threadIdx.y == 7) s[9][lx] = in[min(cy + 1, h - 1) * w + cx];
  __syncthreads();
  if (x < w && y < h) {
    float right = x == w - 1 ? s[ly][lx] : s[ly][lx + 1], below = y == h - 1 ? s[ly][lx] : s[ly + 1][lx];
    out[y * w + x] = fmaf(-4.0f, s[ly][lx], s[ly][lx - 1] + right + s[ly - 1][lx] + below);
  }
}

extern "C" __global__ void jacobi3d(const double *in, double *out, int nx, int ny, int nz, double factor) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  long i = (long(z) * ny + y) * nx + x;
  if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) { out[i] = in[i]; return; }
  double sum = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - long(nx) * ny] + in[i + long(nx) * ny];
  out[i] = fma(factor, sum - 6.0 * in[i], in[i]);
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<float>(37 * 21, -4, 4);
  std::vector<float> out(37 * 21);
  host.launch("", "stencil5", stencil5, dim3(3, 3), dim3(16, 8), 0, input("in", in), output("out", out), value(37), value(21));
  auto d = host.random<double>(9 * 7 * 6, -1, 1);
  std::vector<double> e(9 * 7 * 6);
  host.launch("3d", "jacobi3d", jacobi3d, dim3(3, 2, 2), dim3(4, 4, 4), 0, input("in", d), output("out", e), value(9), value(7), value(6), value(0.1));
}
#endif
