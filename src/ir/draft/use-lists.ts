import { toRegs, withGuard, withOtherwise, withSrc } from '../edit.ts';
import { NO_REG, type Operand, type Reg, regIndex, withReg } from '../operand.ts';
import type { Instr } from '../program.ts';
import { giveWords, NO_WORDS, regrown, takeWords } from './grow.ts';

/**
 * Occurrences of registers in instructions, in one doubly linked list per register. An instruction's occurrences have
 * consecutive numbers, so the cost of adding or removing an instruction depends on its operands, not on the length of the
 * lists.
 */
export class Occurrences {
  /** Four numbers per occurrence: its instruction, its neighbours in the register's list, and the register's index. */
  private items: Int32Array;
  private used = 0;
  /** Three numbers per instruction: its first occurrence, the number of occurrences reserved, and of those in use. */
  private spans: Int32Array;
  /** Number of instructions for which `spans` is initialized. */
  private instructions = 0;
  /** Two numbers per register: its first occurrence, or -1, and the number of occurrences. */
  private lists: Int32Array;
  /** Number of registers for which `lists` is initialized. */
  private registers = 0;

  constructor(instructions: number, registers: number) {
    this.items = takeWords(OCCURRENCE * (2 * instructions + 64));
    this.spans = takeWords(SPAN * (instructions + 16));
    this.lists = takeWords(LIST * (registers + 16));
  }

  /** Releases the memory; the lists must not be used afterwards. */
  release(): void {
    for (const a of [this.items, this.spans, this.lists]) giveWords(a);
    this.items = this.spans = this.lists = NO_WORDS;
    this.instructions = this.registers = 0;
  }

  count(r: Reg): number {
    const i = regIndex(r);
    return i < this.registers ? this.lists[i * LIST + 1] : 0;
  }

  /** The first occurrence of the register, -1 if there is none. */
  first(r: Reg): number {
    const i = regIndex(r);
    return i < this.registers ? this.lists[i * LIST] : -1;
  }

  /** The occurrence after `u` in the same list, -1 at its end. */
  after(u: number): number {
    return this.items[u * OCCURRENCE + 1];
  }

  instruction(u: number): number {
    return this.items[u * OCCURRENCE];
  }

  /** The first occurrence of the register in an instruction that contains it. */
  of(n: number, r: Reg): number {
    const i = regIndex(r);
    let u = this.spans[n * SPAN];
    while (this.items[u * OCCURRENCE + 3] !== i) u++;
    return u;
  }

  /** Reserves room for `n`'s occurrences; at most `most` calls of `add` follow. */
  open(n: number, most: number): void {
    const span = n * SPAN;
    if (n >= this.instructions) {
      if (span + SPAN > this.spans.length) this.spans = regrown(this.spans, span + SPAN);
      this.spans.fill(0, this.instructions * SPAN, span + SPAN);
      this.instructions = n + 1;
    }
    this.spans[span + 2] = 0;
    const had = this.spans[span + 1];
    if (had >= most) return;
    // The reservation doubles, so that adding operands to a phi one by one takes linear time.
    const room = had === 0 ? most : Math.max(most, 2 * had);
    this.spans[span] = this.used;
    this.spans[span + 1] = room;
    this.used += room;
    const end = this.used * OCCURRENCE;
    if (end > this.items.length) this.items = regrown(this.items, end);
  }

  add(n: number, r: Reg): void {
    const span = n * SPAN;
    const u = this.spans[span] + this.spans[span + 2]++;
    this.items[u * OCCURRENCE] = n;
    this.link(u, regIndex(r));
  }

  /** Changes the register of one occurrence of an instruction. */
  change(n: number, at: number, r: Reg): void {
    const u = this.spans[n * SPAN] + at;
    this.unlink(u);
    this.link(u, regIndex(r));
  }

  /** Removes all occurrences of an instruction. */
  close(n: number): void {
    if (n >= this.instructions) return;
    const from = this.spans[n * SPAN];
    const to = from + this.spans[n * SPAN + 2];
    for (let u = from; u < to; u++) this.unlink(u);
    this.spans[n * SPAN + 2] = 0;
  }

  private link(u: number, i: number): void {
    if (i >= this.registers) this.initialize(i);
    const { items, lists } = this;
    const at = u * OCCURRENCE;
    const h = lists[i * LIST];
    items[at + 1] = h;
    items[at + 2] = -1;
    items[at + 3] = i;
    if (h >= 0) items[h * OCCURRENCE + 2] = u;
    lists[i * LIST] = u;
    lists[i * LIST + 1]++;
  }

  /** Initializes empty lists for the registers up to `i`. */
  private initialize(i: number): void {
    if (i * LIST + LIST > this.lists.length) this.lists = regrown(this.lists, i * LIST + LIST);
    for (let r = this.registers; r <= i; r++) {
      this.lists[r * LIST] = -1;
      this.lists[r * LIST + 1] = 0;
    }
    this.registers = i + 1;
  }

  private unlink(u: number): void {
    const { items, lists } = this;
    const at = u * OCCURRENCE;
    const next = items[at + 1];
    const prev = items[at + 2];
    const list = items[at + 3] * LIST;
    if (prev >= 0) items[prev * OCCURRENCE + 1] = next;
    else lists[list] = next;
    if (next >= 0) items[next * OCCURRENCE + 2] = prev;
    lists[list + 1]--;
  }
}

/** Numbers in `Occurrences` for each occurrence, instruction and register. */
const OCCURRENCE = 4;
const SPAN = 3;
const LIST = 2;

function registersRead({ src, guard, otherwise }: Instr): number {
  let read = guard === NO_REG ? 0 : 1 + otherwise.length;
  for (let i = 0; i < src.length; i++) if (src[i].reg !== NO_REG) read++;
  return read;
}

/** Records the uses of an instruction: sources, guard, values under a false guard. */
export function enterUses(uses: Occurrences, n: number, ins: Instr): void {
  const { src, guard, otherwise } = ins;
  uses.open(n, registersRead(ins));
  for (let i = 0; i < src.length; i++) if (src[i].reg !== NO_REG) uses.add(n, src[i].reg);
  if (guard === NO_REG) return;
  uses.add(n, guard);
  for (let i = 0; i < otherwise.length; i++) if (otherwise[i] !== NO_REG) uses.add(n, otherwise[i]);
}

/**
 * Updates the recorded uses of an instruction to those of its replacement, provided that registers occur in the same
 * operand positions of both. For a phi with many operands the cost is then that of the operands that differ.
 * @returns false if the positions differ; some uses may have been changed, and all must be recorded again
 */
export function changeUses(uses: Occurrences, n: number, a: Instr, b: Instr): boolean {
  if (a.src.length !== b.src.length || a.otherwise.length !== b.otherwise.length) return false;
  if ((a.guard === NO_REG) !== (b.guard === NO_REG)) return false;
  let at = 0;
  for (let i = 0; i < a.src.length; i++) {
    const r = b.src[i].reg;
    if (a.src[i].reg !== r) {
      if (r === NO_REG || a.src[i].reg === NO_REG) return false;
      uses.change(n, at, r);
    }
    if (r !== NO_REG) at++;
  }
  if (b.guard === NO_REG) return true;
  if (a.guard !== b.guard) uses.change(n, at, b.guard);
  at++;
  for (let i = 0; i < a.otherwise.length; i++) {
    const r = b.otherwise[i];
    if (a.otherwise[i] !== r) {
      if (r === NO_REG || a.otherwise[i] === NO_REG) return false;
      uses.change(n, at, r);
    }
    if (r !== NO_REG) at++;
  }
  return true;
}

/** Records the definitions of an instruction. */
export function enterDefs(defs: Occurrences, n: number, ins: Instr): void {
  const { dst } = ins;
  defs.open(n, dst.length);
  for (let i = 0; i < dst.length; i++) if (dst[i] !== NO_REG) defs.add(n, dst[i]);
}

/** By register index: 1 if the register holds a parameter on entry. */
export function entryRegisters(params: readonly Reg[], regCount: number): Uint8Array {
  const entry = new Uint8Array(regCount);
  for (const r of params) if (r !== NO_REG) entry[regIndex(r)] = 1;
  return entry;
}

/** Calls `visit` with the instruction of each occurrence of a register. */
export function each(lists: Occurrences, r: Reg, visit: (n: number) => void): void {
  for (let u = lists.first(r); u >= 0; u = lists.after(u)) visit(lists.instruction(u));
}

/** Instructions in which a register occurs, each once. Once replaced, an instruction's occurrences need not be adjacent. */
export function instructionsOf(lists: Occurrences, r: Reg): number[] {
  const out: number[] = [];
  for (let u = lists.first(r); u >= 0; u = lists.after(u)) {
    const n = lists.instruction(u);
    if (out[out.length - 1] !== n) out.push(n);
  }
  return out.length > 1 ? [...new Set(out)] : out;
}

/** The instruction with every read of `from` replaced by a read of `to`. */
export function readingInstead(x: Instr, from: Reg, to: Reg): Instr {
  let out = x;
  let src: Operand[] | null = null;
  for (let i = 0; i < x.src.length; i++)
    if (x.src[i].reg === from) {
      src ??= x.src.slice();
      src[i] = withReg(x.src[i], to);
    }
  if (src !== null) out = withSrc(out, src);
  if (x.guard === from) out = withGuard(out, to, x.guardNot);
  if (x.otherwise.includes(from))
    out = withOtherwise(
      out,
      toRegs(x.otherwise, (r) => (r === from ? to : r)),
    );
  return out;
}
