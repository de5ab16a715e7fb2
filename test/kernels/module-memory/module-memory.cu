// module variables: constant tables with dynamic index, initialised and zeroed globals, pointers in initialisers, static locals
#include "../support/kernel.h"

__constant__ float weights[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};
__constant__ short ladder[3][4] = {{1, -2, 3, -4}, {50, 60, 70, 80}, {-999, 0, 999, 32767}};
__constant__ char greeting[] = "constant text";
__device__ int counter;
__device__ unsigned long long big = 0x0123456789abcdefull;
__device__ double table[6] = {1, 0.5, -0.25, 1e10, 1e-10, 3.14159};
__device__ unsigned char bytes[5] = {1, 2, 250, 4, 255};
__device__ int *cursor = &counter;
struct Node { int value; const Node *next; };
extern __device__ const Node second;
__device__ const Node first = {11, &second};
__device__ const Node second = {22, nullptr};

extern "C" __global__ void moduleMemory(const int *in, float *out, int *ints, double *wide, unsigned long long *final) {
  int i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 9; k++) sum = fmaf(weights[(k + i) % 9], float(in[(i + k) & 63]), sum);
  out[i] = sum;
  int walk = 0;
  for (const Node *n = &first; n; n = n->next) walk = walk * 100 + n->value;
  ints[i] = ladder[i % 3][in[i] & 3] + greeting[i % 13] * 1000 + bytes[i % 5] + walk * 2;
  wide[i] = table[i % 6] * i;
  atomicAdd(cursor, in[i]);
  atomicXor(&big, 1ull << i);
  __syncthreads();
  if (i == 0) { final[0] = big; final[1] = (unsigned long long)(long long)counter; }
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(64, -500, 500);
  std::vector<float> out(64);
  std::vector<int> ints(64);
  std::vector<double> wide(64);
  std::vector<unsigned long long> last(2);
  host.launch("", "moduleMemory", moduleMemory, 1, 64, 0, input("in", in), output("out", out), output("ints", ints), output("wide", wide), output("final", last));
}
#endif
