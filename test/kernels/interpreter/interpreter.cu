// bytecode interpreter: a stack machine per thread, stack in local memory, program in global memory
#include "../support/kernel.h"

enum Op { PUSH, ADD, SUB, MUL, DUP, SWAP, DROP, JMP, JNZ, LOAD, STORE, LT, XOR, SHR, HALT };

extern "C" __global__ void interpret(const unsigned char *code, int codeLength, const int *inputs, int *results, int *steps, int n) {
  int self = blockIdx.x * blockDim.x + threadIdx.x;
  if (self >= n) return;
  int stack[16], slots[4] = {inputs[self], 0, 0, 0};
  int top = 0, pc = 0, count = 0;
  while (pc < codeLength && count < 2000) {
    count++;
    unsigned char op = code[pc++];
    switch (op) {
      case PUSH: stack[top++] = (signed char)code[pc++]; break;
      case ADD: top--; stack[top - 1] += stack[top]; break;
      case SUB: top--; stack[top - 1] -= stack[top]; break;
      case MUL: top--; stack[top - 1] *= stack[top]; break;
      case DUP: stack[top] = stack[top - 1]; top++; break;
      case SWAP: { int t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break; }
      case DROP: top--; break;
      case JMP: pc = code[pc]; break;
      case JNZ: pc = stack[--top] ? code[pc] : pc + 1; break;
      case LOAD: stack[top++] = slots[code[pc++] & 3]; break;
      case STORE: slots[code[pc++] & 3] = stack[--top]; break;
      case LT: top--; stack[top - 1] = stack[top - 1] < stack[top]; break;
      case XOR: top--; stack[top - 1] ^= stack[top]; break;
      case SHR: top--; stack[top - 1] = int(unsigned(stack[top - 1]) >> (stack[top] & 31)); break;
      case HALT: pc = codeLength; break;
    }
  }
  results[self] = top > 0 ? stack[top - 1] : slots[1];
  steps[self] = count;
}

#ifdef HOST
void launches(Host &host) {
  // slot1 = 0; slot2 = n; while (slot2 != 0) { slot1 = slot1 * 3 + slot2; slot2 = slot2 - 1 } then xor of halves
  std::vector<unsigned char> code = {PUSH, 0, STORE, 1, LOAD, 0, STORE, 2,                               // 0..7
                                     LOAD, 2, JNZ, 14, JMP, 28,                                          // 8..13
                                     LOAD, 1, PUSH, 3, MUL, LOAD, 2, ADD, STORE, 1,                      // 14..23
                                     LOAD, 2, JMP, 37, LOAD, 1, DUP, PUSH, 16, SHR, XOR, HALT, HALT,     // 24..36
                                     PUSH, 1, SUB, STORE, 2, JMP, 8};                                    // 37..43
  std::vector<int> inputs(96), results(96), steps(96);
  for (auto &v : inputs) v = int(host.next() % 40);
  host.launch("", "interpret", interpret, 3, 32, 0, input("code", code), value(int(code.size())), input("inputs", inputs),
              output("results", results), output("steps", steps), value(93));
  for (int i = 0; i < 93; i++) {
    unsigned a = 0;
    for (int k = inputs[i]; k; k--) a = a * 3 + k;
    host.check(results[i] == int(a ^ a >> 16), "the bytecode computes its closed form");
  }
}
#endif
