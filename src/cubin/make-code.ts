import { aligned, Bytes, ByteWriter } from './bytes.ts';
import { INSTRUCTION_BYTES } from './code-size.ts';
import type { Setup } from './make-frame.ts';
import type { KernelCode } from './make-input.ts';

/* What the words of a kernel's code say about it, from low opcode bits and branch offsets alone. */

/** Alignment of code, and of its size. */
export const CODE_ALIGN = 128;
/** Low 12 bits of instructions (seen in cubins of ptxas 13.0.88). */
const OP = {
  branch: 0x947,
  uniformBranch: 0x547,
  exit: 0x94d,
  nop: 0x918,
  call: 0x944,
  region: 0x945,
  indirect: 0x949,
  yield: 0x946,
  join: 0x948,
  special: 0x919,
  uniformSpecial: 0x9c3,
  add: 0x810,
  laterAdd: 0x836,
} as const;
const ALWAYS = 7;
const BLOCK_Z = 0x27;
const STACK_POINTER = 1;

/** An instruction as its four words. */
class Word {
  readonly w: readonly number[];
  constructor(code: Uint8Array, at: number) {
    const b = new Bytes(code);
    b.at = at;
    this.w = [b.u32(), b.u32(), b.u32(), b.u32()];
  }
  get opcode(): number {
    return this.w[0] & 0xfff;
  }
  get always(): boolean {
    return ((this.w[0] >>> 12) & 15) === ALWAYS;
  }
  get branches(): boolean {
    return this.opcode === OP.branch || this.opcode === OP.uniformBranch;
  }
  get target(): number {
    return (this.w[0] >>> 16) & 0xff;
  }
  get source(): number {
    return this.w[0] >>> 24;
  }
  /** Distance of a branch from the next instruction: in bytes from bit 32, or from sm_90 on in units of four bytes from bits 16 and 34. */
  distance(later: boolean): number {
    if (!later) return this.w[1] & ~3;
    const low = ((this.w[0] >>> 16) & 0xff) + (this.w[1] >>> 2) * 2 ** 8;
    const high = (this.w[2] << 14) >> 14;
    return 4 * (low + high * 2 ** 38);
  }
}

/** The instructions of some code, with their offsets. */
function* words(code: Uint8Array): Generator<[number, Word]> {
  for (let at = 0; at + INSTRUCTION_BYTES <= code.length; at += INSTRUCTION_BYTES)
    yield [at, new Word(code, at)];
}

/** Where the frame of a kernel is set up. `later` is true from sm_90 on. */
export function setupOf(k: KernelCode, later: boolean): Setup {
  const code = k.code.subarray(0, k.functions?.[0]?.at ?? k.code.length);
  let ready = code.length;
  const limit = (at: number): void => {
    if (at > 0) ready = Math.min(ready, at);
  };
  for (const b of k.branches) for (const t of b.targets) limit(t);
  for (const [at, w] of words(code)) {
    const next = at + INSTRUCTION_BYTES;
    if (w.branches || w.opcode === OP.region) limit(next + w.distance(later));
    if (w.opcode === OP.call || (w.opcode === OP.join && !later)) limit(at);
    if (w.branches || w.opcode === OP.exit || w.opcode === OP.indirect) limit(next);
  }
  if (k.frameBytes > 0)
    for (const [at, w] of words(code.subarray(0, ready))) {
      const add = w.opcode === OP.add || w.opcode === OP.laterAdd;
      if (add && w.target === STACK_POINTER && w.source === STACK_POINTER) ready = at + INSTRUCTION_BYTES;
    }
  return { first: later ? null : INSTRUCTION_BYTES, ready, last: lastTransfer(code, later) };
}

/** The instruction that leaves the last block: an EXIT at the end of the code, or else the last transfer before the one at the end. */
function lastTransfer(code: Uint8Array, later: boolean): number {
  const transfers: [number, number][] = [];
  for (const [at, w] of words(code)) {
    if (w.opcode === OP.branch && w.always && w.distance(later) === -INSTRUCTION_BYTES) break;
    if (TRANSFERS.has(w.opcode)) transfers.push([at, w.opcode]);
  }
  const [last, before] = [transfers.at(-1), transfers.at(-2)];
  return last === undefined ? 0 : last[1] === OP.exit || before === undefined ? last[0] : before[0];
}
const TRANSFERS: ReadonlySet<number> = new Set([OP.branch, OP.uniformBranch, OP.exit, OP.call, OP.indirect]);

/** True if a kernel's code has an instruction with one of some opcodes. */
function has(code: Uint8Array, test: (w: Word) => boolean): boolean {
  for (const [, w] of words(code)) if (test(w)) return true;
  return false;
}

/** True if the code lets other warps go first. */
export const yields = (code: Uint8Array): boolean => has(code, (w) => w.opcode === OP.yield);

/** True if the code reads the index of the block in z. */
export const readsBlockZ = (code: Uint8Array): boolean =>
  has(
    code,
    (w) => (w.opcode === OP.special || w.opcode === OP.uniformSpecial) && ((w.w[2] >>> 8) & 0xff) === BLOCK_Z,
  );

/** True if a kernel uses shared memory, of a static size or not. */
export const usesShared = (k: KernelCode): boolean => k.sharedBytes > 0 || k.dynamicShared === true;

/** True if ptxas states a section of relocations for the code from sm_90 on: if it uses shared memory or calls functions within it. */
export const relocatable = (k: KernelCode): boolean =>
  usesShared(k) || has(k.code, (w) => w.opcode === OP.call);

/** A branch to itself, up to sm_89 and from sm_90 on, and a NOP (seen in cubins of ptxas 13.0.88). */
const SELF = [0x7947, 0xfffffff0, 0x383ffff, 0xfc000];
const SELF_LATER = [0xfc7947, 0xfffffffc, 0x383ffff, 0xfc000];
const NOP = [0x7918, 0, 0, 0xfc000];

/** Adds the branch to itself and the NOPs with which code ends, unless they are there. */
export function withEnd(code: Uint8Array, later: boolean): Uint8Array {
  if (code.length === 0 || code.length % INSTRUCTION_BYTES !== 0)
    throw new RangeError(
      `the code of a kernel has ${code.length} bytes; instructions have ${INSTRUCTION_BYTES}`,
    );
  const end = new Word(code, code.length - INSTRUCTION_BYTES);
  const ended =
    end.opcode === OP.nop || (end.opcode === OP.branch && end.distance(later) === -INSTRUCTION_BYTES);
  if (ended && code.length % CODE_ALIGN === 0) return code;
  const w = new ByteWriter(aligned(code.length + INSTRUCTION_BYTES, CODE_ALIGN));
  w.some(code);
  if (!ended) for (const word of later ? SELF_LATER : SELF) w.u32(word);
  while (w.length % CODE_ALIGN !== 0) for (const word of NOP) w.u32(word);
  return w.done();
}
