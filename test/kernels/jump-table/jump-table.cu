// jump tables: brx.idx through .branchtargets, with shared targets and one in a loop
#include "../support/kernel.h"

#ifdef HOST
static int jump(unsigned index, int v) {
  switch (index) {
    case 0: return v + 1;
    case 1: case 4: return v * 3;
    case 2: return v ^ 0x55;
    case 3: return -v;
    default: return v >> 1;
  }
}
#else
__device__ __forceinline__ int jump(unsigned index, int v) {
  int r;
  asm volatile(
      "{\n"
      ".reg .u32 i;\n"
      "min.u32 i, %1, 5;\n"
      "table: .branchtargets ADD, TRIPLE, FLIP, NEGATE, TRIPLE, HALVE;\n"
      "brx.idx i, table;\n"
      "ADD: add.s32 %0, %2, 1; bra DONE;\n"
      "TRIPLE: mul.lo.s32 %0, %2, 3; bra DONE;\n"
      "FLIP: xor.b32 %0, %2, 0x55; bra DONE;\n"
      "NEGATE: neg.s32 %0, %2; bra DONE;\n"
      "HALVE: shr.s32 %0, %2, 1;\n"
      "DONE:\n"
      "}"
      : "=r"(r)
      : "r"(index), "r"(v));
  return r;
}
#endif

extern "C" __global__ void jumpTable(const unsigned *index, const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = jump(index[i], in[i]);
}

// A small virtual machine: one jump a step, different lanes at different steps.
extern "C" __global__ void jumpLoop(const unsigned *program, int length, int *out) {
  int t = threadIdx.x, v = t, at = t % length;
  for (int k = 0; k < 12 + (t & 7); k++) {
    unsigned op = program[at];
    v = jump(op & 7, v) + k;
    at = (at + 1 + int(op >> 3)) % length;
  }
  out[t] = v;
}

#ifdef HOST
void launches(Host &host) {
  auto index = host.random<unsigned>(128, 0, 7);
  auto in = host.random<int>(128, -1000, 1000);
  std::vector<int> out(128), state(64);
  host.launch("", "jumpTable", jumpTable, 2, 64, 0, input("index", index), input("in", in), output("out", out), value(125));
  auto program = host.random<unsigned>(11, 0, 30);
  host.launch("loop", "jumpLoop", jumpLoop, 1, 64, 0, input("program", program), value(11), output("out", state));
}
#endif
