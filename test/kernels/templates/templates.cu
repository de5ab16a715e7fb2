// C++ templates and lambdas: mangled kernel names, functors by value, compile-time loops, an operator type
#include "../support/kernel.h"

template <int P> struct Power {
  template <class T> static __device__ T of(T x) { return x * Power<P - 1>::of(x); }
};
template <> struct Power<0> {
  template <class T> static __device__ T of(T) { return T(1); }
};
struct Affine {
  float a, b;
  __device__ float operator()(float x) const { return fmaf(a, x, b); }
};
struct Modular {
  unsigned v;
  __device__ Modular operator*(Modular o) const { return {unsigned((unsigned long long)v * o.v % 1000003u)}; }
  __device__ Modular operator+(Modular o) const { unsigned s = v + o.v; return {s >= 1000003u ? s - 1000003u : s}; }
};

template <class T, int P> __global__ void powers(const T *in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = Power<P>::of(in[i]);
}
template __global__ void powers<int, 5>(const int *, int *, int);
template __global__ void powers<double, 3>(const double *, double *, int);

template <class F> __device__ inline void each(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
extern "C" __global__ void lambdas(const float *in, float *out, Affine g, int n) {
  float bias = g.b * 0.5f;
  each(n, [=](int i) { out[i] = g(in[i]) - bias; });
}
extern "C" __global__ void modular(const unsigned *in, unsigned *out, int n) {
  int i = threadIdx.x;
  Modular x = {in[i] % 1000003u}, r = {1}, s = {0};
  for (int k = 0; k < n; k++) {
    if (k & 1) r = r * x;
    s = s + r * Modular{unsigned(k)};
    x = x * x;
  }
  out[i] = s.v;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(64, -60, 60);
  std::vector<int> out(64);
  host.launch("", "_Z6powersIiLi5EEvPKT_PS0_i", powers<int, 5>, 2, 32, 0, input("in", in), output("out", out), value(64));
  auto d = host.random<double>(32, -3, 3);
  std::vector<double> wide(32);
  host.launch("double", "_Z6powersIdLi3EEvPKT_PS0_i", powers<double, 3>, 1, 32, 0, input("in", d), output("out", wide), value(32));
  auto f = host.random<float>(100, -3, 3);
  std::vector<float> g(100);
  host.launch("lambda", "lambdas", lambdas, 2, 32, 0, input("in", f), output("out", g), value(Affine{1.25f, -0.5f}), value(100));
  auto u = host.bits<unsigned>(32);
  std::vector<unsigned> m(32);
  host.launch("modular", "modular", modular, 1, 32, 0, input("in", u), output("out", m), value(9));
}
#endif
