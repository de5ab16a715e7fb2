import { OpFlag } from '../../ir/opcode.ts';
import { NO_REG, regIndex } from '../../ir/operand.ts';
import type { Instr, Program } from '../../ir/program.ts';
import { callEffect } from '../calls/mod-ref.ts';
import { type Cfg, cfgOf } from '../flow/cfg.ts';
import { type Accesses, Does, doesSomewhere, rowsOf } from './address.ts';
import { Alias, alias, distanceOf } from './alias.ts';
import { storedElements } from './loads-stores.ts';
import { Mem } from './memory-ops.ts';
import { keptVariables } from './provenance.ts';

/**
 * Maximum number of accesses visited for one store before it counts as needed. The bound, and its reason, are those of memory SSA's
 * walks (memory-ssa.ts): it makes all queries together linear.
 */
const MOST_STEPS = 100;

/** How an access affects a store that was executed before it. */
const Meets = { Nothing: 0, Needs: 1, Covers: 2 } as const;

/**
 * Finds stores that nothing can observe: on every path from the store, all of its bytes are overwritten, or cease to exist, before
 * anything may read them. A forward walk from the store, over accesses alone.
 *
 * Local variables cease to exist when their function ends; memory that other threads or the host see does not.
 * Barriers, fences and strong operations count as reads of memory that other threads see, except of a shared variable
 * of the kernel whose address it keeps to itself and that it never reads: all threads run the same code.
 */
export class DeadStores {
  private readonly a: Accesses;
  private readonly program: Program;
  private readonly g: Cfg;
  /**
   * By block: its first event; in the second half of the array, one past its last. An event is an instruction that
   * accesses memory, or that may end the thread or trap.
   */
  private readonly range: Int32Array;
  private readonly events: Int32Array;
  /** By block: the last query that entered it. */
  private readonly entered: Int32Array;
  private question = 0;
  /** Rows that may read a shared variable whose address the kernel keeps to itself. */
  private readonly readers: number[] = [];
  /** Shared variables whose address the kernel keeps to itself; computed on demand. */
  private kept: ReadonlySet<string> | null = null;

  constructor(a: Accesses, program: Program) {
    this.a = a;
    for (let y = 0; y < a.count; y++) {
      if ((a.does[y] & Does.Read) === 0 || (a.memory[y] & Mem.Shared) === 0) continue;
      // An ordering row is not an access, and a callee does not know variables that the kernel keeps to itself.
      const everywhere = (a.does[y] & Does.Anywhere) !== 0;
      if (everywhere && ((a.does[y] & Does.Call) !== 0 || doesSomewhere(a.du.ins[a.at[y]]) === 0)) continue;
      this.readers.push(y);
    }
    this.program = program;
    this.g = cfgOf(a.fn);
    const { du, firstRow } = a;
    const { count } = this.g;
    this.range = new Int32Array(2 * count);
    this.entered = new Int32Array(count);
    const events: number[] = [];
    for (let b = 0; b < count; b++) {
      this.range[b] = events.length;
      for (let n = du.blockStart[b]; n < du.blockStart[b + 1]; n++)
        if (firstRow[n] >= 0 || (du.ins[n].op.flags & (OpFlag.SideEffect | OpFlag.Control)) !== 0)
          events.push(n);
      this.range[b + count] = events.length;
    }
    this.events = Int32Array.from(events);
  }

  /** Is a weak store (its number in `DefUse`) dead? */
  isDead(n: number): boolean {
    const { a, g, range } = this;
    if (g.midBlockControl || g.rpoNumber[a.du.blockAt[n]] < 0) return false;
    const row = a.firstRow[n];
    const form = row < 0 ? -1 : a.form[row];
    if (form < 0 || a.bytes[row] === 0) return false;
    const homes = [...a.forms[form].homes];
    const { guard } = a.du.ins[n];
    if (guard !== NO_REG) {
      const { defs, defStart } = a.du;
      const i = regIndex(guard);
      if (defStart[i + 1] - defStart[i] > 1) return false;
      if (defStart[i + 1] > defStart[i]) homes.push(a.du.blockAt[defs[defStart[i]]]);
    }
    if (this.isNeverRead(row)) return true;
    const own = this.isOwn(row);
    this.question++;
    let steps = MOST_STEPS;
    const stack: number[] = [];
    /** Walks along one block; false if something may read the store. */
    const pass = (b: number, from: number): boolean => {
      for (let e = from; e < range[b + g.count]; e++) {
        if (steps-- <= 0) return false;
        const m = this.meets(this.events[e], n, row, own);
        if (m === Meets.Needs) return false;
        if (m === Meets.Covers) return true;
      }
      if (g.succStart[b] === g.succStart[b + 1]) return own;
      for (let e = g.succStart[b]; e < g.succStart[b + 1]; e++) {
        const s = g.succ[e];
        // Once a register that the address is derived from changes, an equal expression is a different address.
        if (homes.includes(s)) return false;
        if (this.entered[s] === this.question) continue;
        this.entered[s] = this.question;
        stack.push(s);
      }
      return true;
    };
    const home = a.du.blockAt[n];
    if (!pass(home, this.eventOf(n, home) + 1)) return false;
    while (stack.length > 0) {
      const b = stack.pop()!;
      if (!pass(b, range[b])) return false;
    }
    return true;
  }

  /** The event of an instruction of a block. */
  private eventOf(n: number, b: number): number {
    let lo = this.range[b];
    let hi = this.range[b + this.g.count] - 1;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.events[mid] < n) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  }

  /**
   * Is it a store to a shared variable of this kernel alone that no thread reads? An address from elsewhere may be that of any
   * variable: addresses of shared memory are small numbers.
   */
  private isNeverRead(row: number): boolean {
    const { a, readers } = this;
    const o = a.object[row];
    if (o < 0 || a.memory[row] !== Mem.Shared || a.objects[o].kind !== 'variable' || a.objects[o].overlaid)
      return false;
    this.kept ??= a.fn.kind === 'entry' ? keptVariables(a.fn, a.du, 'shared') : new Set();
    if (!this.kept.has(a.objects[o].name)) return false;
    return readers.every((y) => a.object[y] >= 0 && a.object[y] !== o);
  }

  /** Does the memory end with the function: a local variable whose address does not escape? */
  private isOwn(row: number): boolean {
    const { a } = this;
    const o = a.object[row];
    return (
      o >= 0 &&
      a.memory[row] === Mem.Local &&
      a.unshared[o] === 1 &&
      a.fn.variables.some((v) => v.name === a.objects[o].name)
    );
  }

  private meets(n: number, store: number, row: number, own: boolean): number {
    const { a } = this;
    const x = a.du.ins[n];
    const { first, end } = rowsOf(a, n);
    if (first === end) return own || !mayEnd(x) ? Meets.Nothing : Meets.Needs;
    for (let y = first; y < end; y++) {
      if ((a.does[y] & Does.Read) === 0) continue;
      const reads =
        (a.does[y] & Does.Call) !== 0
          ? callEffect(this.program, x).reads | Mem.Global | Mem.Shared
          : a.memory[y];
      if ((reads & a.memory[row]) !== 0 && alias(a, y, row) !== Alias.No) return Meets.Needs;
    }
    return this.covers(x, first, store, row) ? Meets.Covers : Meets.Nothing;
  }

  /** Does an instruction overwrite all bytes of the store whenever both run? */
  private covers(x: Instr, y: number, store: number, row: number): boolean {
    const { a } = this;
    const { guard, guardNot } = a.du.ins[store];
    if (storedElements(x) === null) return false;
    if (x.guard !== NO_REG && (x.guard !== guard || x.guardNot !== guardNot)) return false;
    const d = distanceOf(a, row, y);
    return d !== null && d <= 0 && d + a.bytes[y] >= a.bytes[row];
  }
}

/** Primitives that neither end the kernel nor make memory observable. */
const SILENT: ReadonlySet<string | null> = new Set(['branch', 'branch-table', 'hint', 'convergence']);
const mayEnd = (x: Instr): boolean => !SILENT.has(x.op.primitive);
