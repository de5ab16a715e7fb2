// fast Fourier transform: radix 2 in shared memory with a twiddle table, bit-reversed load
#include "../support/kernel.h"

extern "C" __global__ void fft(const float2 *in, const float2 *twiddle, float2 *out, int logn) {
  DYNAMIC_SHARED(float2, x);
  int n = 1 << logn, t = threadIdx.x;
  const float2 *row = in + blockIdx.x * n;
  for (int i = t; i < n; i += blockDim.x) x[__brev(unsigned(i)) >> (32 - logn)] = row[i];
  __syncthreads();
  for (int s = 1; s <= logn; s++) {
    int half = 1 << (s - 1), k = t & (half - 1), i = ((t >> (s - 1)) << s) + k, j = i + half;
    float2 w = twiddle[k << (logn - s)], a = x[i], b = x[j];
    float2 p = make_float2(fmaf(w.x, b.x, -(w.y * b.y)), fmaf(w.x, b.y, w.y * b.x));
    x[i] = make_float2(a.x + p.x, a.y + p.y);
    x[j] = make_float2(a.x - p.x, a.y - p.y);
    __syncthreads();
  }
  for (int i = t; i < n; i += blockDim.x) out[blockIdx.x * n + i] = x[i];
}

#ifdef HOST
void launches(Host &host) {
  std::vector<float2> in(256), twiddle(64), out(256);
  for (auto &v : in) { auto f = host.random<float>(2, -1, 1); v = make_float2(f[0], f[1]); }
  for (int k = 0; k < 64; k++) twiddle[k] = make_float2(float(std::cos(-2 * M_PI * k / 128)), float(std::sin(-2 * M_PI * k / 128)));
  host.launch("", "fft", fft, 2, 64, 1024, input("in", in), input("twiddle", twiddle), output("out", out), value(7));
  double re = 0, im = 0;
  for (int k = 0; k < 128; k++) {
    re += in[k].x * std::cos(2 * M_PI * 5 * k / 128) + in[k].y * std::sin(2 * M_PI * 5 * k / 128);
    im += in[k].y * std::cos(2 * M_PI * 5 * k / 128) - in[k].x * std::sin(2 * M_PI * 5 * k / 128);
  }
  host.check(std::fabs(out[5].x - re) < 1e-4 && std::fabs(out[5].y - im) < 1e-4, "bin 5 by the definition");
}
#endif
