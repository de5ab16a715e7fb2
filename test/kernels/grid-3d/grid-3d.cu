// three-dimensional grids and blocks: every special index register, linear ids, partial warps
#include "../support/kernel.h"

extern "C" __global__ void indices(unsigned *out, unsigned *dims) {
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned i = b * blockDim.x * blockDim.y * blockDim.z + t;
  out[i] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 | blockIdx.z << 20 | (t & 31) << 24;
  if (i == 0) {
    dims[0] = blockDim.x; dims[1] = blockDim.y; dims[2] = blockDim.z;
    dims[3] = gridDim.x; dims[4] = gridDim.y; dims[5] = gridDim.z; dims[6] = warpSize;
  }
}

extern "C" __global__ void volumeSlices(const short *volume, int *perSlice, int3 size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size.x && y < size.y && z < size.z) atomicAdd(&perSlice[z], volume[(z * size.y + y) * size.x + x] * (x + 1) - y);
}

#ifdef HOST
void launches(Host &host) {
  std::vector<unsigned> out(3 * 2 * 2 * 5 * 3 * 3), dims(7);
  host.launch("", "indices", indices, dim3(3, 2, 2), dim3(5, 3, 3), 0, output("out", out), output("dims", dims));
  auto volume = host.random<short>(11 * 7 * 5, -100, 100);
  std::vector<int> slices(5);
  host.launch("volume", "volumeSlices", volumeSlices, dim3(3, 2, 3), dim3(4, 4, 2), 0, input("volume", volume), output("slices", slices), value(make_int3(11, 7, 5)));
}
#endif
