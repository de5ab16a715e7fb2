import { toRegs, withGuard, withOtherwise, withSrc } from '../edit.ts';
import { NO_REG, type Operand, type Reg, regIndex, withReg } from '../operand.ts';
import type { Instr } from '../program.ts';
import { grown } from './grow.ts';

/**
 * Occurrences of registers in instructions, in one doubly linked list per register. An instruction's occurrences have
 * consecutive numbers, so adding and removing an instruction costs its own operands, whatever the length of the
 * lists.
 */
export class Occurrences {
  /** By occurrence: its instruction, and its neighbours in the register's list. */
  private owner: Int32Array;
  private next: Int32Array;
  private prev: Int32Array;
  private used = 0;
  /** By instruction: its first occurrence and the room reserved. */
  private start: Int32Array;
  private room: Int32Array;
  private filled: Int32Array;
  /** By register index: first occurrence, or -1, and their number. */
  private head: Int32Array;
  private counts: Int32Array;
  /** By occurrence: index of the register. */
  private register: Int32Array;

  constructor(instructions: number, registers: number) {
    const size = instructions * 3 + 16;
    this.owner = new Int32Array(size);
    this.next = new Int32Array(size);
    this.prev = new Int32Array(size);
    this.register = new Int32Array(size);
    this.start = new Int32Array(instructions + 16);
    this.room = new Int32Array(instructions + 16);
    this.filled = new Int32Array(instructions + 16);
    this.head = new Int32Array(registers + 16).fill(-1);
    this.counts = new Int32Array(registers + 16);
  }

  count(r: Reg): number {
    const i = regIndex(r);
    return i < this.counts.length ? this.counts[i] : 0;
  }

  /** The first occurrence of the register, -1 if there is none. */
  first(r: Reg): number {
    const i = regIndex(r);
    return i < this.head.length ? this.head[i] : -1;
  }

  /** The occurrence after `u` in the same list, -1 at its end. */
  after(u: number): number {
    return this.next[u];
  }

  instruction(u: number): number {
    return this.owner[u];
  }

  /** The first occurrence of the register in an instruction that contains it. */
  of(n: number, r: Reg): number {
    const i = regIndex(r);
    let u = this.start[n];
    while (this.register[u] !== i) u++;
    return u;
  }

  /** Reserves room for `n`'s occurrences; at most `most` calls of `add` follow. */
  open(n: number, most: number): void {
    if (n >= this.start.length) {
      this.start = grown(this.start, n);
      this.room = grown(this.room, n);
      this.filled = grown(this.filled, n);
    }
    this.filled[n] = 0;
    if (this.room[n] >= most) return;
    // Doubles the room, so that a phi may get its operands one by one.
    const room = this.room[n] === 0 ? most : Math.max(most, 2 * this.room[n]);
    this.start[n] = this.used;
    this.room[n] = room;
    this.used += room;
    if (this.used <= this.owner.length) return;
    this.owner = grown(this.owner, this.used);
    this.next = grown(this.next, this.used);
    this.prev = grown(this.prev, this.used);
    this.register = grown(this.register, this.used);
  }

  add(n: number, r: Reg): void {
    const u = this.start[n] + this.filled[n]++;
    this.owner[u] = n;
    this.link(u, regIndex(r));
  }

  /** Changes the register of one occurrence of an instruction. */
  change(n: number, at: number, r: Reg): void {
    const u = this.start[n] + at;
    this.unlink(u);
    this.link(u, regIndex(r));
  }

  /** Removes all occurrences of an instruction. */
  close(n: number): void {
    const from = this.start[n];
    for (let u = from; u < from + this.filled[n]; u++) this.unlink(u);
    this.filled[n] = 0;
  }

  private link(u: number, i: number): void {
    if (i >= this.head.length) {
      const old = this.head.length;
      this.head = grown(this.head, i);
      this.head.fill(-1, old);
      this.counts = grown(this.counts, i);
    }
    const h = this.head[i];
    this.register[u] = i;
    this.next[u] = h;
    this.prev[u] = -1;
    if (h >= 0) this.prev[h] = u;
    this.head[i] = u;
    this.counts[i]++;
  }

  private unlink(u: number): void {
    const next = this.next[u];
    const prev = this.prev[u];
    if (prev >= 0) this.next[prev] = next;
    else this.head[this.register[u]] = next;
    if (next >= 0) this.prev[next] = prev;
    this.counts[this.register[u]]--;
  }
}

/** Records what the instruction reads: sources, guard, values under a false guard. */
export function enterUses(uses: Occurrences, n: number, ins: Instr): void {
  const { src, guard, otherwise } = ins;
  uses.open(n, src.length + 1 + otherwise.length);
  for (let i = 0; i < src.length; i++) if (src[i].reg !== NO_REG) uses.add(n, src[i].reg);
  if (guard === NO_REG) return;
  uses.add(n, guard);
  for (let i = 0; i < otherwise.length; i++) if (otherwise[i] !== NO_REG) uses.add(n, otherwise[i]);
}

/**
 * Updates the recorded uses of an instruction to those of its replacement, provided that registers occur in the same
 * operand positions of both. A phi with many operands then costs only those that differ.
 * @returns false if they do not; some may be changed already, and all must be recorded again
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

/** Records what the instruction writes. */
export function enterDefs(defs: Occurrences, n: number, ins: Instr): void {
  const { dst } = ins;
  defs.open(n, dst.length);
  for (let i = 0; i < dst.length; i++) if (dst[i] !== NO_REG) defs.add(n, dst[i]);
}

/** By register index: 1 for those that hold a parameter on entry. */
export function entryRegisters(params: readonly Reg[], regCount: number): Uint8Array {
  const entry = new Uint8Array(regCount);
  for (const r of params) if (r !== NO_REG) entry[regIndex(r)] = 1;
  return entry;
}

/** Calls `visit` with the owner of each of a register's occurrences. */
export function each(lists: Occurrences, r: Reg, visit: (n: number) => void): void {
  for (let u = lists.first(r); u >= 0; u = lists.after(u)) visit(lists.instruction(u));
}

/** Instructions in which a register occurs. Occurrences in one instruction need not be adjacent after it was replaced. */
export function instructionsOf(lists: Occurrences, r: Reg): number[] {
  const out: number[] = [];
  for (let u = lists.first(r); u >= 0; u = lists.after(u)) {
    const n = lists.instruction(u);
    if (out[out.length - 1] !== n) out.push(n);
  }
  return out.length > 1 ? [...new Set(out)] : out;
}

/** The instruction with every read of `from` a read of `to`. */
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
