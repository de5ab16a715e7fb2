// ray casting: spheres in constant memory, square roots and divisions, nearest hit, one reflection
#include "../support/kernel.h"

struct Sphere { float x, y, z, r; };
__constant__ Sphere spheres[4] = {{0, 0, 5, 1}, {1.5f, 0.5f, 6, 1.25f}, {-1.5f, -0.5f, 4, 0.75f}, {0, -101, 5, 100}};

__device__ inline int nearest(float3 o, float3 d, float &t) {
  int hit = -1;
  t = 1e30f;
  for (int k = 0; k < 4; k++) {
    Sphere s = spheres[k];
    float cx = s.x - o.x, cy = s.y - o.y, cz = s.z - o.z;
    float b = fmaf(cx, d.x, fmaf(cy, d.y, cz * d.z)), c = fmaf(cx, cx, fmaf(cy, cy, fmaf(cz, cz, -(s.r * s.r))));
    float q = fmaf(b, b, -c);
    if (q <= 0) continue;
    float u = b - sqrtf(q);
    if (u > 0.001f && u < t) { t = u; hit = k; }
  }
  return hit;
}

extern "C" __global__ void cast(float *depth, unsigned char *id, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float dx = (float(x) - w * 0.5f) / float(w) * 1.6f, dy = (float(y) - h * 0.5f) / float(h);
  float inv = 1.0f / sqrtf(fmaf(dx, dx, fmaf(dy, dy, 1.0f)));
  float3 d = make_float3(dx * inv, dy * inv, inv), o = make_float3(0, 0, 0);
  float t, total = 0;
  int ids = 0;
  for (int bounce = 0; bounce < 2; bounce++) {
    int k = nearest(o, d, t);
    ids = ids * 8 + k + 1;
    if (k < 0) break;
    total += t;
    Sphere s = spheres[k];
    o = make_float3(fmaf(d.x, t, o.x), fmaf(d.y, t, o.y), fmaf(d.z, t, o.z));
    float nx = (o.x - s.x) / s.r, ny = (o.y - s.y) / s.r, nz = (o.z - s.z) / s.r;
    float dot2 = -2.0f * fmaf(d.x, nx, fmaf(d.y, ny, d.z * nz));
    d = make_float3(fmaf(dot2, nx, d.x), fmaf(dot2, ny, d.y), fmaf(dot2, nz, d.z));
  }
  depth[y * w + x] = total;
  id[y * w + x] = (unsigned char)ids;
}

#ifdef HOST
void launches(Host &host) {
  std::vector<float> depth(32 * 18);
  std::vector<unsigned char> id(32 * 18);
  host.launch("", "cast", cast, dim3(2, 3), dim3(16, 8), 0, output("depth", depth), output("id", id), value(32), value(18));
}
#endif
