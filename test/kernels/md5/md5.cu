// MD5: 64 steps with four boolean functions selected by a switch in a loop, constants from a table
#include "../support/kernel.h"

__constant__ unsigned char shifts[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

extern "C" __global__ void md5(const unsigned *blocks, const unsigned *sines, uint4 *digests) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned *m = blocks + i * 16;
  unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  for (int r = 0; r < 64; r++) {
    unsigned f;
    int g;
    switch (r >> 4) {
      case 0: f = (b & c) | (~b & d); g = r; break;
      case 1: f = (d & b) | (~d & c); g = (5 * r + 1) & 15; break;
      case 2: f = b ^ c ^ d; g = (3 * r + 5) & 15; break;
      default: f = c ^ (b | ~d); g = 7 * r & 15;
    }
    f += a + sines[r] + m[g];
    a = d;
    d = c;
    c = b;
    int s = shifts[(r >> 4) * 4 + (r & 3)];
    b += f << s | f >> (32 - s);
  }
  digests[i] = make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}

#ifdef HOST
void launches(Host &host) {
  auto blocks = host.bits<unsigned>(32 * 16);
  for (int i = 0; i < 16; i++) blocks[i] = 0;
  blocks[0] = 0x80;  // the empty message, padded
  std::vector<unsigned> sines(64);
  for (int i = 0; i < 64; i++) sines[i] = unsigned(std::floor(std::fabs(std::sin(i + 1.0)) * 4294967296.0));
  std::vector<uint4> digests(32);
  host.launch("", "md5", md5, 1, 32, 0, input("blocks", blocks), input("sines", sines), output("digests", digests));
  host.check(digests[0].x == 0xd98c1dd4 && digests[0].w == 0x7e42f8ec, "RFC 1321: MD5 of nothing");
}
#endif
