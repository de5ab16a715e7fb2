// n-body step: tiles of positions in shared memory, reciprocal square root, float4 vectors, tolerance
#include "../support/kernel.h"

extern "C" __global__ void nbody(const float4 *position, float4 *velocity, float dt, float softening, int n) {
  DYNAMIC_SHARED(float4, tile);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 p = position[i];
  float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += blockDim.x) {
    tile[threadIdx.x] = position[t + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < int(blockDim.x); k++) {
      float4 q = tile[k];
      float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
      float d2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
      float inv = rsqrtf(d2), s = q.w * inv * inv * inv;
      ax = fmaf(dx, s, ax);
      ay = fmaf(dy, s, ay);
      az = fmaf(dz, s, az);
    }
    __syncthreads();
  }
  float4 v = velocity[i];
  velocity[i] = make_float4(fmaf(ax, dt, v.x), fmaf(ay, dt, v.y), fmaf(az, dt, v.z), v.w);
}

#ifdef HOST
void launches(Host &host) {
  std::vector<float4> p(128), v(128);
  for (auto &q : p) { auto f = host.random<float>(4, 0.1, 1); q = make_float4(f[0], f[1], f[2], f[3]); }
  // Velocities are large against the change, so that a relative tolerance is fair.
  for (auto &q : v) { auto f = host.random<float>(3, 20, 40); q = make_float4(f[0], f[1], f[2], 1); }
  host.launch("", "nbody", nbody, 2, 64, 64 * 16, input("position", p), inout("velocity", v, 1e-5), value(0.01f), value(0.05f), value(128));
}
#endif
