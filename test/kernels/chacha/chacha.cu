// ChaCha20 blocks: rotates of a register, quarter rounds over a local array
#include "../support/kernel.h"

#define QUARTER(a, b, c, d)                          \
  a += b; d ^= a; d = d << 16 | d >> 16;             \
  c += d; b ^= c; b = b << 12 | b >> 20;             \
  a += b; d ^= a; d = d << 8 | d >> 24;              \
  c += d; b ^= c; b = b << 7 | b >> 25;

extern "C" __global__ void chacha20(const unsigned *key, const unsigned *nonce, unsigned counter, const unsigned *in, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
  for (int k = 0; k < 8; k++) s[4 + k] = key[k];
  s[12] = counter + i;
  for (int k = 0; k < 3; k++) s[13 + k] = nonce[k];
  for (int k = 0; k < 16; k++) x[k] = s[k];
#pragma unroll 1
  for (int r = 0; r < 10; r++) {
    QUARTER(x[0], x[4], x[8], x[12]) QUARTER(x[1], x[5], x[9], x[13]) QUARTER(x[2], x[6], x[10], x[14]) QUARTER(x[3], x[7], x[11], x[15])
    QUARTER(x[0], x[5], x[10], x[15]) QUARTER(x[1], x[6], x[11], x[12]) QUARTER(x[2], x[7], x[8], x[13]) QUARTER(x[3], x[4], x[9], x[14])
  }
  for (int k = 0; k < 16; k++) out[i * 16 + k] = in[i * 16 + k] ^ (x[k] + s[k]);
}

#ifdef HOST
void launches(Host &host) {
  std::vector<unsigned> key(8), nonce = {0x09000000, 0x4a000000, 0};
  for (unsigned i = 0; i < 8; i++) key[i] = 4 * i | (4 * i + 1) << 8 | (4 * i + 2) << 16 | (4 * i + 3) << 24;
  std::vector<unsigned> in(32 * 16), out(32 * 16);
  for (int i = 16; i < 512; i++) in[i] = unsigned(host.next());
  host.launch("", "chacha20", chacha20, 1, 32, 0, input("key", key), input("nonce", nonce), value(1u), input("in", in), output("out", out));
  host.check(out[0] == 0xe4e7f110 && out[15] == 0x4e3c50a2, "RFC 8439, 2.3.2: the block function");
}
#endif
