// histogram: bytes into 256 bins, private copies in shared memory, vector loads
#include "../support/kernel.h"

extern "C" __global__ void histogram(const uchar4 *data, unsigned *bins, int n) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uchar4 v = data[i];
    atomicAdd(&local[v.x], 1u);
    atomicAdd(&local[v.y], 1u);
    atomicAdd(&local[v.z], 1u);
    atomicAdd(&local[v.w], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (local[b]) atomicAdd(&bins[b], local[b]);
}

#ifdef HOST
void launches(Host &host) {
  auto data = host.bits<uchar4>(500);
  std::vector<unsigned> bins(256);
  host.launch("", "histogram", histogram, 3, 64, 0, input("data", data), output("bins", bins), value(500));
  unsigned sum = 0;
  for (unsigned b : bins) sum += b;
  host.check(sum == 2000, "every byte is counted");
}
#endif
