// AES-128 by T-tables in shared memory: byte extracts and table look-ups
#include "../support/kernel.h"

extern "C" __global__ void aesEncrypt(const unsigned *table, const unsigned char *sbox, const unsigned *roundKeys, const uint4 *in, uint4 *out) {
  __shared__ unsigned t0[256];
  __shared__ unsigned char s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) { t0[i] = table[i]; s[i] = sbox[i]; }
  __syncthreads();
  int self = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 v = in[self];
  unsigned a = v.x ^ roundKeys[0], b = v.y ^ roundKeys[1], c = v.z ^ roundKeys[2], d = v.w ^ roundKeys[3];
  for (int r = 1; r < 10; r++) {
    const unsigned *k = roundKeys + 4 * r;
#define ROTATE(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define COLUMN(p, q, u, w) (t0[(p) >> 24] ^ ROTATE(t0[(q) >> 16 & 255], 8) ^ ROTATE(t0[(u) >> 8 & 255], 16) ^ ROTATE(t0[(w) & 255], 24))
    unsigned e = COLUMN(a, b, c, d) ^ k[0], f = COLUMN(b, c, d, a) ^ k[1], g = COLUMN(c, d, a, b) ^ k[2], h = COLUMN(d, a, b, c) ^ k[3];
    a = e; b = f; c = g; d = h;
  }
#define LAST(p, q, u, w, k) ((unsigned(s[(p) >> 24]) << 24 | unsigned(s[(q) >> 16 & 255]) << 16 | unsigned(s[(u) >> 8 & 255]) << 8 | s[(w) & 255]) ^ (k))
  out[self] = make_uint4(LAST(a, b, c, d, roundKeys[40]), LAST(b, c, d, a, roundKeys[41]), LAST(c, d, a, b, roundKeys[42]), LAST(d, a, b, c, roundKeys[43]));
}

#ifdef HOST
static unsigned times(unsigned a, unsigned b) {
  unsigned r = 0;
  for (; b; b >>= 1, a = a & 128 ? (a << 1 ^ 0x11b) : a << 1) if (b & 1) r ^= a;
  return r;
}
void launches(Host &host) {
  std::vector<unsigned char> sbox(256);
  std::vector<unsigned> table(256), keys(44);
  for (unsigned i = 0; i < 256; i++) {
    unsigned inverse = 0;
    for (unsigned j = 1; j < 256; j++) if (times(i, j) == 1) inverse = j;
    unsigned s = 0x63;
    for (int k = 0; k < 5; k++) s ^= (inverse << k | inverse >> (8 - k)) & 255;
    sbox[i] = s;
    table[i] = times(s, 2) << 24 | s << 16 | s << 8 | times(s, 3);
  }
  for (unsigned i = 0; i < 4; i++) keys[i] = 4 * i << 24 | (4 * i + 1) << 16 | (4 * i + 2) << 8 | (4 * i + 3);
  unsigned constant = 1;
  for (int i = 4; i < 44; i++) {
    unsigned t = keys[i - 1];
    if (i % 4 == 0) {
      t = t << 8 | t >> 24;
      t = unsigned(sbox[t >> 24]) << 24 | unsigned(sbox[t >> 16 & 255]) << 16 | unsigned(sbox[t >> 8 & 255]) << 8 | sbox[t & 255];
      t ^= constant << 24;
      constant = times(constant, 2);
    }
    keys[i] = keys[i - 4] ^ t;
  }
  auto in = host.bits<uint4>(64);
  in[0] = make_uint4(0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff);
  std::vector<uint4> out(64);
  host.launch("", "aesEncrypt", aesEncrypt, 1, 64, 0, input("table", table), input("sbox", sbox), input("keys", keys), input("in", in), output("out", out));
  host.check(out[0].x == 0x69c4e0d8 && out[0].w == 0x70b4c55a, "FIPS 197, C.1");
}
#endif
