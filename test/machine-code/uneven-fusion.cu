// A sum of two products in a loop that is unrolled: ptxas fuses one product in some copies of the body and the other in the rest.
extern "C" __global__ void uneven_fusion(const float *__restrict__ p, const float *__restrict__ v, float *q, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx - 2 || y >= ny - 2) return;
  int plane = nx * ny, i = y * nx + x;
  float back = p[i], here = p[i + plane];
  for (int z = 0; z < nz; z++) {
    int j = i + z * plane;
    float front = p[j + plane];
    float near = -6.f * here + p[j + 1] + p[j + nx] + back + front, far = p[j + 2] + p[j + 2 * nx];
    q[j] = 2.f * here - q[j] + v[j] * (near * 1.3333f - far * 0.08333f);
    back = here;
    here = front;
  }
}
