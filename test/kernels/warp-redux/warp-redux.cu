// warp reductions by one instruction (redux.sync), whole and under a partial mask
// needs sm_80
#include "../support/kernel.h"

extern "C" __global__ void redux(const int *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[i];
  unsigned u = unsigned(v);
  out[i] = unsigned(__reduce_add_sync(~0u, v));
  out[n + i] = unsigned(__reduce_min_sync(~0u, v));
  out[2 * n + i] = unsigned(__reduce_max_sync(~0u, v));
  out[3 * n + i] = __reduce_min_sync(~0u, u) ^ __reduce_max_sync(~0u, u);
  out[4 * n + i] = __reduce_and_sync(~0u, u) + __reduce_or_sync(~0u, u);
  out[5 * n + i] = __reduce_xor_sync(~0u, u);
  unsigned partial = 1;
  if (threadIdx.x & 1) partial = __reduce_add_sync(0xaaaaaaaau, u);
  out[6 * n + i] = partial;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.bits<int>(64);
  std::vector<unsigned> out(64 * 7);
  host.launch("", "redux", redux, 1, 64, 0, input("in", in), output("out", out), value(64));
}
#endif
