// SHA-256: one padded block a thread, round constants in constant memory, unrolled schedule
#include "../support/kernel.h"

__constant__ unsigned K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned rotr(unsigned x, int n) { return __funnelshift_r(x, x, n); }

extern "C" __global__ void sha256(const unsigned char *messages, const int *lengths, unsigned *digests, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char *m = messages + i * 56;
  int length = lengths[i];
  unsigned w[16];
  for (int k = 0; k < 16; k++) {
    unsigned word = 0;
    for (int b = 0; b < 4; b++) {
      int at = k * 4 + b;
      word = word << 8 | (at < length ? m[at] : at == length ? 0x80u : 0u);
    }
    w[k] = word;
  }
  w[15] = unsigned(length) * 8;
  unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], q = h[7];
#pragma unroll 16
  for (int r = 0; r < 64; r++) {
    if (r >= 16) {
      unsigned x = w[(r + 1) & 15], y = w[(r + 14) & 15];
      w[r & 15] += w[(r + 9) & 15] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    unsigned t1 = q + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + K[r] + w[r & 15];
    unsigned t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    q = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  unsigned *out = digests + i * 8;
  out[0] = h[0] + a; out[1] = h[1] + b; out[2] = h[2] + c; out[3] = h[3] + d;
  out[4] = h[4] + e; out[5] = h[5] + f; out[6] = h[6] + g; out[7] = h[7] + q;
}

#ifdef HOST
void launches(Host &host) {
  auto messages = host.bits<unsigned char>(32 * 56);
  auto lengths = host.random<int>(32, 0, 55);
  lengths[0] = 3;
  std::memcpy(messages.data(), "abc", 3);
  std::vector<unsigned> digests(32 * 8);
  host.launch("", "sha256", sha256, 1, 32, 0, input("messages", messages), input("lengths", lengths), output("digests", digests), value(31));
  host.check(digests[0] == 0xba7816bf && digests[7] == 0xf20015ad, "FIPS 180-4: SHA-256 of abc");
}
#endif
