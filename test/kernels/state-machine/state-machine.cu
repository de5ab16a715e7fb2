// tokenizer: a jump-heavy state machine over text, one line a thread
#include "../support/kernel.h"

enum State { START, IDENT, NUMBER, HEX, FRACTION, STRING, ESCAPE, COMMENT, DONE };

extern "C" __global__ void tokenize(const char *text, const int *begin, int *counts, unsigned *hashes, int lines) {
  int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  int p = begin[line], end = begin[line + 1];
  int ident = 0, number = 0, string = 0, punct = 0;
  unsigned h = 2166136261u;
  State state = START;
  while (state != DONE) {
    char c = p < end ? text[p] : '\0';
    switch (state) {
      case START:
        if (p >= end) state = DONE;
        else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') { state = IDENT; ident++; }
        else if (c == '0' && p + 1 < end && text[p + 1] == 'x') { state = HEX; number++; p++; }
        else if (c >= '0' && c <= '9') { state = NUMBER; number++; }
        else if (c == '"') { state = STRING; string++; }
        else if (c == '#') state = COMMENT;
        else if (c != ' ') { punct++; h = (h ^ (unsigned char)c) * 16777619u; }
        p++;
        break;
      case IDENT:
        if (p < end && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'))) { h = (h ^ (unsigned char)c) * 16777619u; p++; }
        else state = START;
        break;
      case NUMBER:
        if (p < end && c >= '0' && c <= '9') p++;
        else if (p < end && c == '.') { state = FRACTION; p++; }
        else state = START;
        break;
      case HEX:
        if (p < end && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) { h += (unsigned)c; p++; }
        else state = START;
        break;
      case FRACTION:
        if (p < end && c >= '0' && c <= '9') { h = h * 31u + (unsigned)(c - '0'); p++; }
        else state = START;
        break;
      case STRING:
        if (p >= end) state = DONE;
        else if (c == '\\') { state = ESCAPE; p++; }
        else if (c == '"') { state = START; p++; }
        else { h = (h << 5 | h >> 27) ^ (unsigned char)c; p++; }
        break;
      case ESCAPE:
        p++;
        state = p <= end ? STRING : DONE;
        break;
      case COMMENT:
        state = DONE;
        break;
      default:
        state = DONE;
    }
  }
  counts[line * 4 + 0] = ident;
  counts[line * 4 + 1] = number;
  counts[line * 4 + 2] = string;
  counts[line * 4 + 3] = punct;
  hashes[line] = h;
}

#ifdef HOST
void launches(Host &host) {
  const char *pieces[] = {"x", "foo_1", "42", "3.25", "0xff01", "\"a b\"", "\"q\\\"z\"", "+", "== ", "(", ")", " ", "# rest", "\"open", "_"};
  std::string text;
  std::vector<int> begin = {0};
  for (int line = 0; line < 64; line++) {
    int n = int(host.next() % 12);
    for (int i = 0; i < n; i++) text += pieces[host.next() % 15];
    begin.push_back(int(text.size()));
  }
  std::vector<char> bytes(text.begin(), text.end());
  std::vector<int> counts(64 * 4);
  std::vector<unsigned> hashes(64);
  host.launch("", "tokenize", tokenize, 2, 32, 0, input("text", bytes), input("begin", begin), output("counts", counts), output("hashes", hashes), value(64));
}
#endif
