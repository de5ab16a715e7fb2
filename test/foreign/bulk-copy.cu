// asynchronous copies in bulk: a tile and a tensor come with bytes that a barrier counts, go back in a group; a cluster's ranks
struct alignas(64) Map {
  unsigned long long words[16];
};

__device__ unsigned inShared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void waitFor(unsigned bar, int parity) {
  asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
               :
               : "r"(bar), "r"(parity)
               : "memory");
}

extern "C" __global__ void bulkAdd(const int *from, int *to, int tiles, int add) {
  __shared__ alignas(128) int tile[2][256];
  __shared__ alignas(8) unsigned long long bar[2];
  const unsigned b0 = inShared(&bar[0]), b1 = inShared(&bar[1]);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nmbarrier.init.shared::cta.b64 [%1], 1;" : : "r"(b0), "r"(b1) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  }
  __syncthreads();
  for (int t = 0; t < tiles; t++) {
    int *here = tile[t & 1];
    const unsigned bar = t & 1 ? b1 : b0, at = inShared(here);
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.wait_group.read 1;" : : : "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(bar), "r"(1024) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                   :
                   : "r"(at), "l"(from + t * 256), "r"(1024), "r"(bar)
                   : "memory");
    }
    waitFor(bar, t >> 1 & 1);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) here[i] += add;
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" : : "l"(to + t * 256), "r"(at), "r"(1024) : "memory");
      asm volatile("cp.async.bulk.commit_group;" : : : "memory");
    }
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) tensorRow(const __grid_constant__ Map map, float *to, int row) {
  __shared__ alignas(128) float tile[64];
  __shared__ alignas(8) unsigned long long bar;
  const unsigned b = inShared(&bar), at = inShared(tile);
  unsigned rank, other;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" : : "l"(&map) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" : : "r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" : : "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :
                 : "r"(at), "l"(&map), "r"(0), "r"(row + (int)rank), "r"(b)
                 : "memory");
  }
  __syncthreads();
  waitFor(b, 0);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" : : : "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"(rank ^ 1));
  float mine = tile[threadIdx.x % 64], theirs;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(theirs) : "r"(other + threadIdx.x % 64 * 4) : "memory");
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" : : : "memory");
  to[(blockIdx.x * blockDim.x) + threadIdx.x] = mine + theirs;
}
