// coding: base64, UTF-8 decoding, run lengths, a canonical prefix code; byte loads with data-dependent control
#include "../support/kernel.h"

__constant__ char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

extern "C" __global__ void base64(const unsigned char *in, int n, char *out) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (3 * g >= n) return;
  int left = n - 3 * g;
  unsigned v = unsigned(in[3 * g]) << 16 | (left > 1 ? unsigned(in[3 * g + 1]) << 8 : 0) | (left > 2 ? in[3 * g + 2] : 0);
  out[4 * g] = alphabet[v >> 18];
  out[4 * g + 1] = alphabet[v >> 12 & 63];
  out[4 * g + 2] = left > 1 ? alphabet[v >> 6 & 63] : '=';
  out[4 * g + 3] = left > 2 ? alphabet[v & 63] : '=';
}

extern "C" __global__ void utf8(const unsigned char *in, const int *start, unsigned *sum, int *errors, int lines) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= lines) return;
  int p = start[t], end = start[t + 1], bad = 0;
  unsigned total = 0;
  while (p < end) {
    unsigned c = in[p++];
    int more;
    if (c < 0x80) more = 0;
    else if (c < 0xc2) { bad++; continue; }
    else if (c < 0xe0) { more = 1; c &= 31; }
    else if (c < 0xf0) { more = 2; c &= 15; }
    else if (c < 0xf5) { more = 3; c &= 7; }
    else { bad++; continue; }
    while (more > 0 && p < end && (in[p] & 0xc0) == 0x80) { c = c << 6 | (in[p++] & 63); more--; }
    if (more) bad++;
    else total = total * 31u + c;
  }
  sum[t] = total;
  errors[t] = bad;
}

extern "C" __global__ void runLengths(const unsigned char *in, int each, unsigned short *out, int *used) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
  const unsigned char *p = in + t * each, *end = p + each;
  while (p < end) {
    unsigned char c = *p;
    int run = 1;
    while (p + run < end && p[run] == c && run < 15) run++;
    out[t * each + n++] = (unsigned short)(run << 8 | c);
    p += run;
  }
  used[t] = n;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.bits<unsigned char>(100);
  std::vector<char> out(136);
  std::memcpy(in.data(), "Man", 3);
  host.launch("", "base64", base64, 2, 32, 0, input("in", in), value(100), output("out", out));
  host.check(std::memcmp(out.data(), "TWFu", 4) == 0, "RFC 4648: Man");
  const char *pieces[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x80", "\xe2\x28", "z", "\xff"};
  std::string s;
  std::vector<int> start = {0};
  for (int i = 0; i < 48; i++) {
    for (int k = int(host.next() % 9); k > 0; k--) s += pieces[host.next() % 8];
    start.push_back(int(s.size()));
  }
  std::vector<unsigned char> bytes(s.begin(), s.end());
  std::vector<unsigned> sum(48);
  std::vector<int> errors(48), used(32);
  host.launch("utf8", "utf8", utf8, 2, 32, 0, input("in", bytes), input("start", start), output("sum", sum), output("errors", errors), value(48));
  auto runs = host.random<unsigned char>(32 * 24, 0, 1);
  for (int i = 100; i < 200; i++) runs[i] = 7;
  std::vector<unsigned short> coded(32 * 24);
  host.launch("runs", "runLengths", runLengths, 1, 32, 0, input("in", runs), value(24), output("out", coded), output("used", used));
}
#endif
