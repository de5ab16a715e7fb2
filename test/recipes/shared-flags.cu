// Flags between arrays: what ptxas pads in front of each array costs the last block that would fit into an SM.
extern "C" __global__ void sharedFlags(const float4 *in, float4 *out, int n) {
  __shared__ bool any;
  __shared__ float4 tile[624];
  __shared__ bool all;
  __shared__ float4 sums[623];
  if (threadIdx.x == 0) {
    any = false;
    all = true;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 623; i += blockDim.x) {
    const int at = blockIdx.x * 623 + i;
    const float4 v = at < n ? in[at] : make_float4(0, 0, 0, 0);
    tile[i] = v;
    if (v.x < 0)
      any = true;
    else
      all = false;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 623; i += blockDim.x) {
    const float4 a = tile[i], b = tile[i == 0 ? 0 : i - 1];
    sums[i] = any && !all ? make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w) : a;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 623; i += blockDim.x) {
    const int at = blockIdx.x * 623 + i;
    if (at < n) out[at] = sums[622 - i];
  }
}
