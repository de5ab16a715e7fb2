// textures and surfaces: bilinear and gathered reads, levels, layers, cubes; surfaces of bytes, halves and vectors read and written
#include <cuda_fp16.h>

extern "C" __global__ void turned(cudaTextureObject_t from, float *to, int width, int height, float sine, float cosine) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float u = x - 0.5f * width, v = y - 0.5f * height;
  const float s = tex2D<float>(from, u * cosine - v * sine + 0.5f * width, v * cosine + u * sine + 0.5f * height);
  const float4 four = tex2Dgather<float4>(from, x + 0.5f, y + 0.5f, 0);
  to[y * width + x] = s + 0.25f * (four.x + four.y + four.z + four.w);
}

extern "C" __global__ void kinds(cudaTextureObject_t cube, cudaTextureObject_t layers, cudaTextureObject_t volume, float4 *to,
                                 int count, float level) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float t = i / (float)count;
  float4 sum = texCubemap<float4>(cube, t, 1.0f - t, 0.5f);
  const uchar4 layer = tex2DLayered<uchar4>(layers, t, t, i % 4);
  const float4 deep = tex3DLod<float4>(volume, t, 0.5f, 1.0f - t, level);
  sum.x += layer.x + deep.x;
  sum.y += layer.y + deep.y;
  sum.z += layer.z * deep.z;
  sum.w = t > 0.5f ? tex1Dfetch<float>(cube, i) : sum.w;
  to[i] = sum;
}

extern "C" __global__ void surfaces(cudaSurfaceObject_t image, cudaSurfaceObject_t halves, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const uchar4 c = surf2Dread<uchar4>(image, x * 4, y);
  const int grey = (77 * c.x + 150 * c.y + 29 * c.z) >> 8;
  const unsigned short old = surf2Dread<unsigned short>(halves, x * 2, y, cudaBoundaryModeClamp);
  surf2Dwrite(make_uchar4(grey, grey, grey, c.w), image, x * 4, y);
  if (grey > 16) surf2Dwrite((unsigned short)(old + grey), halves, x * 2, y, cudaBoundaryModeZero);
}
