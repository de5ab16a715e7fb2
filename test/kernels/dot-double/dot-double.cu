// dot product of floats in double: block reduction, Kahan and two-product compensated forms
#include "../support/kernel.h"

extern "C" __global__ void dotDouble(const float *a, const float *b, double *out, int n) {
  __shared__ double part[64];
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum = fma((double)a[i], (double)b[i], sum);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (int(threadIdx.x) < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void compensated(const float *a, const float *b, float2 *out, int each) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0, error = 0;
  for (int k = 0; k < each; k++) {
    float x = a[i * each + k], y = b[i * each + k];
    float p = __fmul_rn(x, y), pe = fmaf(x, y, -p);
    float s = __fadd_rn(sum, p), bb = __fsub_rn(s, sum);
    float se = __fadd_rn(__fsub_rn(sum, __fsub_rn(s, bb)), __fsub_rn(p, bb));
    sum = s;
    error = __fadd_rn(error, __fadd_rn(pe, se));
  }
  out[i] = make_float2(sum, error);
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<float>(1000, -100, 100), b = host.random<float>(1000, -100, 100);
  std::vector<double> out(3);
  host.launch("", "dotDouble", dotDouble, 3, 64, 0, input("a", a), input("b", b), output("out", out), value(1000));
  std::vector<float2> c(64);
  host.launch("compensated", "compensated", compensated, 2, 32, 0, input("a", a), input("b", b), output("out", c), value(15));
}
#endif
