// conversions: float to integer with rounding and saturation, integer to float in four modes, widths and signs
#include "../support/kernel.h"

extern "C" __global__ void fromFloat(const float *in, int *out, long long *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = __float2int_rz(x);
  out[n + i] = __float2int_rn(x);
  out[2 * n + i] = __float2int_ru(x);
  out[3 * n + i] = __float2int_rd(x);
  out[4 * n + i] = int(__float2uint_rz(x));
  out[5 * n + i] = int(__float2uint_rn(x));
  wide[i] = __float2ll_rz(x);
  wide[n + i] = __float2ll_ru(x);
}

extern "C" __global__ void fromDouble(const double *in, int *out, long long *wide, float *narrow, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i];
  out[i] = __double2int_rn(x);
  out[n + i] = __double2int_rd(x);
  wide[i] = __double2ll_rz(x);
  wide[n + i] = (long long)__double2ull_ru(x);
  narrow[i] = __double2float_rn(x);
  narrow[n + i] = __double2float_rz(x);
  narrow[2 * n + i] = __double2float_ru(x);
}

extern "C" __global__ void fromInteger(const long long *in, float *out, double *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long v = in[i];
  int s = int(v);
  out[i] = __int2float_rn(s);
  out[n + i] = __int2float_rz(s);
  out[2 * n + i] = __uint2float_ru(unsigned(s));
  out[3 * n + i] = __uint2float_rd(unsigned(s));
  out[4 * n + i] = __ll2float_rn(v);
  out[5 * n + i] = __ll2float_rd(v);
  out[6 * n + i] = float((unsigned long long)v);
  out[7 * n + i] = float((short)s) + float((unsigned char)s) + float((signed char)(s >> 8));
  wide[i] = __ll2double_rn(v);
  wide[n + i] = __ll2double_ru(v);
  wide[2 * n + i] = double((unsigned long long)v);
  wide[3 * n + i] = double(s) + double(unsigned(s));
}

extern "C" __global__ void roundToFloat(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = floorf(x);
  out[n + i] = ceilf(x);
  out[2 * n + i] = truncf(x);
  out[3 * n + i] = rintf(x);
  out[4 * n + i] = __saturatef(x * 0.25f);
  out[5 * n + i] = roundf(x);
}

#ifdef HOST
void launches(Host &host) {
  auto f = host.random<float>(64, -1000, 1000);
  const float special[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3e9f, -3e9f, 2147483648.0f, -2147483648.0f, 4294967296.0f, 1e30f, -1e30f, -0.0f, 0.99999994f, 16777217.0f};
  for (int i = 0; i < 15; i++) f[i] = special[i];
  std::vector<int> out(64 * 6), two(64);
  std::vector<long long> wide(128), long2(64);
  host.launch("", "fromFloat", fromFloat, 2, 32, 0, input("in", f), output("out", out), output("wide", wide), value(64));
  auto d = host.random<double>(32, -1e5, 1e5);
  const double specials[] = {0.5, 2.5, -2.5, 1e18, -1e18, 1e25, -1e25, 1e-320, 3.4e38, 1e300, 16777217, 1.00000001};
  for (int i = 0; i < 12; i++) d[i] = specials[i];
  std::vector<float> narrow(96), fromInt(512), rounded(384);
  host.launch("double", "fromDouble", fromDouble, 1, 32, 0, input("in", d), output("out", two), output("wide", long2), output("narrow", narrow), value(32));
  auto v = host.bits<long long>(64);
  for (int i = 0; i < 40; i++) v[i] >>= host.next() % 64;
  std::vector<double> big(256);
  host.launch("integer", "fromInteger", fromInteger, 2, 32, 0, input("in", v), output("out", fromInt), output("wide", big), value(64));
  auto r = host.random<float>(64, -6, 6);
  for (int i = 0; i < 15; i++) r[i] = special[i];
  host.launch("round", "roundToFloat", roundToFloat, 2, 32, 0, input("in", r), output("out", rounded), value(64));
}
#endif
