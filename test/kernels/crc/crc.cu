// CRC-32: bit by bit, by table, and slice by 4; Adler-32 beside it
#include "../support/kernel.h"

extern "C" __global__ void crcBits(const unsigned char *data, unsigned *out, int n) {
  int length = blockIdx.x * blockDim.x + threadIdx.x;
  if (length > n) return;
  unsigned c = ~0u;
  for (int i = 0; i < length; i++) {
    c ^= data[i];
    for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
  }
  out[length] = ~c;
}

extern "C" __global__ void crcSliced(const unsigned *words, unsigned *out, unsigned *adler, int n) {
  __shared__ unsigned table[4][256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned c = b;
    for (int k = 0; k < 8; k++) c = (c >> 1) ^ ((0u - (c & 1)) & 0xedb88320u);
    table[0][b] = c;
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    for (int t = 1; t < 4; t++) {
      unsigned c = table[0][b];
      for (int k = 0; k < t; k++) c = c >> 8 ^ table[0][c & 255];
      table[t][b] = c;
    }
  __syncthreads();
  int count = threadIdx.x;
  if (count > n) return;
  unsigned c = ~0u, a = 1, s = 0;
  for (int i = 0; i < count; i++) {
    c ^= words[i];
    c = table[3][c & 255] ^ table[2][c >> 8 & 255] ^ table[1][c >> 16 & 255] ^ table[0][c >> 24];
    for (int k = 0; k < 4; k++) { a = (a + (words[i] >> 8 * k & 255)) % 65521; s = (s + a) % 65521; }
  }
  out[count] = ~c;
  adler[count] = s << 16 | a;
}

#ifdef HOST
void launches(Host &host) {
  auto data = host.bits<unsigned char>(128);
  std::memcpy(data.data(), "123456789", 9);
  std::vector<unsigned> out(64), sliced(33), adler(33);
  host.launch("", "crcBits", crcBits, 2, 32, 0, input("data", data), output("out", out), value(63));
  host.check(out[9] == 0xcbf43926u, "the CRC-32 check value");
  std::vector<unsigned> words(32);
  std::memcpy(words.data(), data.data(), 128);
  host.launch("sliced", "crcSliced", crcSliced, 1, 64, 0, input("words", words), output("out", sliced), output("adler", adler), value(32));
  for (int i = 0; i < 16; i++) host.check(sliced[i] == out[4 * i], "slices agree with bits");
}
#endif
