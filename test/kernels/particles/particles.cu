// structures: arrays of structures against structures of arrays, nested structures by value, float4 access
#include "../support/kernel.h"

struct Particle { float3 position; float mass; float3 velocity; int kind; };
struct Box { float3 low, high; float damping; unsigned char flags; };
struct Fields { int stride; float scale; short offset[3]; };

__device__ inline void bounce(float &p, float &v, float low, float high, float damping) {
  if (p < low) { p = low + (low - p); v = -v * damping; }
  else if (p > high) { p = high - (p - high); v = -v * damping; }
}

extern "C" __global__ void moveParticles(Particle *particles, Box box, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle p = particles[i];
  if (p.kind == 3) return;
  p.velocity.y = fmaf(-9.8f, dt, p.velocity.y);
  p.position.x = fmaf(p.velocity.x, dt, p.position.x);
  p.position.y = fmaf(p.velocity.y, dt, p.position.y);
  p.position.z = fmaf(p.velocity.z, dt, p.position.z);
  bounce(p.position.x, p.velocity.x, box.low.x, box.high.x, box.damping);
  bounce(p.position.y, p.velocity.y, box.low.y, box.high.y, box.damping);
  if (box.flags & 2) bounce(p.position.z, p.velocity.z, box.low.z, box.high.z, box.damping);
  if (p.kind == 1) p.mass *= 0.5f;
  particles[i] = p;
}

extern "C" __global__ void toFields(const float *packed, float *x, float *y, float *z, Fields f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *p = packed + i * f.stride;
  x[i] = p[f.offset[0]] * f.scale;
  y[i] = p[f.offset[1]] * f.scale;
  z[i] = p[f.offset[2]] * f.scale;
}

#ifdef HOST
void launches(Host &host) {
  // As 32-bit words, so that the launch file need not know the structure.
  std::vector<unsigned> words(60 * 8);
  for (int i = 0; i < 60; i++) {
    auto f = host.random<float>(7, -2, 2);
    Particle p = {make_float3(f[0], f[1], f[2]), 1 + f[3], make_float3(f[4] * 9, f[5] * 9, f[6] * 9), i % 4};
    std::memcpy(&words[i * 8], &p, 32);
  }
  Box box = {};
  box.low = make_float3(-2, -2, -2);
  box.high = make_float3(2, 2, 2);
  box.damping = 0.75f;
  box.flags = 2;
  host.launch("", "moveParticles", moveParticles, 2, 32, 0, inout("particles", words), value(box), value(0.125f), value(58));
  auto packed = host.random<float>(50 * 5, -1, 1);
  std::vector<float> x(50), y(50), z(50);
  host.launch("fields", "toFields", toFields, 2, 32, 0, input("packed", packed), output("x", x), output("y", y), output("z", z), value(Fields{5, 1.5f, {4, 0, 2}}), value(50));
}
#endif
