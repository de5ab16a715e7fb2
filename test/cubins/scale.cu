// Two kernels and an inlined function, small enough for cubins that are kept.
__constant__ float factors[4] = {1.f, 2.f, 4.f, 8.f};

__device__ float scaled(float x, int k) { return x * factors[k & 3]; }

extern "C" __global__ void scale(int n, int k, float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = scaled(x[i], k);
}

extern "C" __global__ void reverse(short first, float *x, int n) {
  __shared__ float tile[64];
  int i = threadIdx.x + first;
  tile[i] = x[i];
  __syncthreads();
  x[i] = tile[n - 1 - i];
}
