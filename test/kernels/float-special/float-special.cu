// special functions: accurate library forms and fast approximations, within a tolerance
#include "../support/kernel.h"

extern "C" __global__ void special(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];  // in [0.3, 1.2]: every result is well away from zero
  out[i] = sinf(x);
  out[n + i] = cosf(x);
  out[2 * n + i] = expf(x);
  out[3 * n + i] = logf(x + 1.5f);
  out[4 * n + i] = powf(x, 2.5f);
  out[5 * n + i] = tanhf(x);
  out[6 * n + i] = rsqrtf(x);
  out[7 * n + i] = atan2f(x, 0.7f);
  out[8 * n + i] = exp2f(x * 8);
  out[9 * n + i] = cbrtf(x) + erff(x);
}

extern "C" __global__ void fast(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = __sinf(x);
  out[n + i] = __cosf(x);
  out[2 * n + i] = __expf(x);
  out[3 * n + i] = __logf(x + 1.5f);
  out[4 * n + i] = __powf(x, 1.5f);
  out[5 * n + i] = __fdividef(1.0f, x);
  out[6 * n + i] = __log2f(x + 2.0f);
}

extern "C" __global__ void wideSpecial(const double *in, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i];
  out[i] = sin(x);
  out[n + i] = exp(x);
  out[2 * n + i] = log(x + 1.5);
  out[3 * n + i] = pow(x, 1.25);
  out[4 * n + i] = rsqrt(x);
}

#ifdef HOST

void launches(Host &host) {
  auto in = host.random<float>(64, 0.3, 1.2);
  std::vector<float> out(640), quick(448);
  host.launch("", "special", special, 2, 32, 0, input("in", in), output("out", out, 1e-6), value(64));
  host.launch("fast", "fast", fast, 2, 32, 0, input("in", in), output("out", quick, 4e-6), value(64));
  auto d = host.random<double>(32, 0.3, 1.2);
  std::vector<double> wide(160);
  host.launch("double", "wideSpecial", wideSpecial, 1, 32, 0, input("in", d), output("out", wide, 1e-13), value(32));
}
#endif
