import { regIndex } from '../ir/operand.ts';
import { hardwareName, physical } from '../lift/registers.ts';
import { type Control, NO_BARRIER } from '../machine/control.ts';
import type { Atom, Form, Machine } from '../machine/forms.ts';
import { assemble } from './assemble.ts';
import { IMPLICIT, type MachineBlock, type MachineFunction, type MachineOp } from './machine-op.ts';

/*
 * Control words: how long each instruction stalls, and for which scoreboard barriers it waits. Results of fixed latency are waited for by
 * stalls, by the distances of the target's table; those of variable latency by barriers. A barrier counts, so several instructions may
 * raise one; a wait is over when all of them are done. The order of instructions is not changed.
 */

/** Registers of the hardware that an instruction reads and writes, by their index in Ori. */
interface Accesses {
  readonly reads: readonly number[];
  /** With whether it is a register of the result after the first. */
  readonly writes: readonly { readonly register: number; readonly isSecond: boolean }[];
  readonly guard: number;
}

/** Barriers for instructions that only read registers late, and for asynchronous copies, which count in the first. */
const READS = 5;
const COPIES = 0;
/** Barriers for results are used in turn. */
const RESULTS: readonly number[] = [1, 2, 3, 4];
/** Cycles for a distance that is in no table: the longest that code of ptxas shows for a fixed latency. */
const LONGEST = 13;
const MOST_STALL = 15;
/** Cycles from an instruction that raises a barrier to one that waits for it, and after those that end or divert a path. */
const BARRIER_DELAY = 2;
const CONTROL_STALL = 5;
/** Cycles after what orders memory, as ptxas 13.0.88 writes them. */
const ORDER_STALL = 6;
const ORDERS = /^(?:MEMBAR|CCTL|ERRBAR|CGAERRBAR)/;

/**
 * Cycles from a matrix product to a reader of its result: the most that ptxas 13.0.88 leaves for any shape and type (4 to 24, from sm_80
 * to sm_90).
 */
export const PRODUCT = 24;

/**
 * Whether a fixed time passes before the result of a matrix product can be read. Before Hopper, DMMA has that and a barrier, as ptxas has
 * it.
 */
const isProduct = (f: Form, machine: Machine): boolean =>
  f.pipe === 'tensor' && (!machine.timing.late(f) || (f.row === 'DMMA' && machine.family !== 'hopper'));

/**
 * Puts a NOP before the first reader of each matrix product, and before the end of a block, if they would follow sooner than `PRODUCT`:
 * that is more than one instruction can stall.
 */
export function withRoom(
  blocks: readonly MachineBlock[],
  of: readonly number[],
  machine: Machine,
): MachineBlock[] {
  const built = assemble(machine, ['NOP'], new Map());
  return blocks.map((b) => {
    if (built === null || !b.ops.some((x) => isProduct(x.form, machine))) return b;
    const ops: MachineOp[] = [];
    /** By register: how many instructions there were up to the product. */
    const products = new Map<number, number>();
    const registersOf = (x: MachineOp): number[] => {
      const { reads, writes } = accessesOf(x, of, machine);
      return [...reads, ...writes.map((w) => w.register)];
    };
    // Who waits for a product has waited for those before it.
    const pause = (last: number, before: MachineOp): void => {
      ops.push({ ...built, guard: -1, guardNot: false, loc: before.loc });
      for (const [r, since] of products) if (since <= last) products.delete(r);
    };
    const lastNear = (registers: Iterable<number>): number => {
      const near = [...registers].map((r) => products.get(r) ?? 0).filter((n) => n > 0);
      const last = Math.max(0, ...near);
      return ops.length - last < PRODUCT ? last : 0;
    };
    b.ops.forEach((x, k) => {
      const isEnd = x.form.pipe === 'control' && b.ops.slice(k).every((y) => y.form.pipe === 'control');
      const last = lastNear(isEnd ? products.keys() : registersOf(x));
      if (last > 0) pause(last, x);
      ops.push(x);
      if (isProduct(x.form, machine))
        for (const w of accessesOf(x, of, machine).writes) products.set(w.register, ops.length);
    });
    const last = lastNear(products.keys());
    if (last > 0) pause(last, ops[ops.length - 1]);
    return { ...b, ops };
  });
}

/** Scoreboard state: by register, the barriers that may still have to be waited for. */
interface Pending {
  readonly results: Map<number, number>;
  readonly reads: Map<number, number>;
}

/**
 * The control words of a function whose registers are allocated, block by block.
 * @param of the first register of the hardware for each virtual one
 */
export function controlWords(fn: MachineFunction, of: readonly number[], machine: Machine): Control[][] {
  return new Scheduler(fn, of, machine).run();
}

/** A result of fixed latency: when it was issued, and what makes it. */
interface Made {
  readonly at: number;
  readonly form: Form;
  readonly isSecond: boolean;
}

class Scheduler {
  private readonly fn: MachineFunction;
  private readonly machine: Machine;
  private readonly accesses: readonly (readonly Accesses[])[];
  private readonly barriers: readonly (readonly { readonly write: number; readonly read: number }[])[];
  private readonly before: readonly Pending[];
  /** Registers that are live at the beginning of each block, by its id. */
  private readonly live: ReadonlyMap<number, ReadonlySet<number>>;

  constructor(fn: MachineFunction, of: readonly number[], machine: Machine) {
    this.fn = fn;
    this.machine = machine;
    this.accesses = fn.blocks.map((b) => b.ops.map((x) => accessesOf(x, of, machine)));
    let next = 0;
    this.barriers = fn.blocks.map((b) =>
      b.ops.map((x) => {
        if (x.form.row === 'LDGDEPBAR') return { write: COPIES, read: NO_BARRIER };
        if (!machine.timing.late(x.form)) return { write: NO_BARRIER, read: NO_BARRIER };
        const { reads, writes } = accessesOf(x, of, machine);
        if (writes.length === 0) return { write: NO_BARRIER, read: reads.length > 0 ? READS : NO_BARRIER };
        return { write: RESULTS[next++ % RESULTS.length], read: NO_BARRIER };
      }),
    );
    this.before = fn.blocks.map(() => ({ results: new Map(), reads: new Map() }));
    this.live = liveRegisters(fn, this.accesses);
  }

  run(): Control[][] {
    const { blocks } = this.fn;
    const at = new Map(blocks.map((b, k) => [b.id, k]));
    const work = new Set(blocks.keys());
    // Terminates: the barriers of a register only become more.
    for (const k of work) {
      work.delete(k);
      const after = this.through(k, null);
      for (const n of blocks[k].next) {
        const s = at.get(n);
        if (s !== undefined && merge(this.before[s], after)) work.add(s);
      }
    }
    return blocks.map((b, k) => {
      const waits: number[] = [];
      this.through(k, waits);
      return this.stalls(b, k, waits);
    });
  }

  /** Scoreboard state after a block; the barriers that each instruction waits for go to `waits`. */
  private through(k: number, waits: number[] | null): Pending {
    const { results, reads } = this.before[k];
    const now: Pending = { results: new Map(results), reads: new Map(reads) };
    this.fn.blocks[k].ops.forEach((x, i) => {
      const a = this.accesses[k][i];
      let wait = 0;
      for (const r of a.reads) wait |= now.results.get(r) ?? 0;
      if (a.guard >= 0) wait |= now.results.get(a.guard) ?? 0;
      for (const { register: r } of a.writes) wait |= (now.results.get(r) ?? 0) | (now.reads.get(r) ?? 0);
      // The cache forgets what it holds when the loads before have their results.
      if (x.form.row === 'CCTL') for (const mask of now.results.values()) wait |= mask;
      // A function that is called uses barriers and registers as it likes.
      if (x.call !== undefined)
        for (const mask of [...now.results.values(), ...now.reads.values()]) wait |= mask;
      if (wait !== 0) {
        drop(now.results, wait);
        drop(now.reads, wait);
      }
      waits?.push(wait);
      const { write, read } = this.barriers[k][i];
      for (const { register: r } of a.writes) {
        if (write === NO_BARRIER || x.form.row === 'LDGDEPBAR') now.results.delete(r);
        else now.results.set(r, (x.guard >= 0 ? (now.results.get(r) ?? 0) : 0) | (1 << write));
      }
      const late = read !== NO_BARRIER ? read : write;
      if (late !== NO_BARRIER && x.form.row !== 'LDGDEPBAR')
        for (const r of a.reads)
          if (['R', 'UR'].includes(fileOf(r))) now.reads.set(r, (now.reads.get(r) ?? 0) | (1 << late));
    });
    return now;
  }

  private stalls(b: MachineBlock, k: number, waits: readonly number[]): Control[] {
    const { timing } = this.machine;
    const out: Control[] = [];
    /** By register: the fixed-latency results that it may hold; a write under a guard leaves the earlier ones possible. */
    const made = new Map<number, readonly Made[]>();
    const issued: number[] = [];
    let now = 0;
    const wantedFor = (i: number): number => {
      const x = b.ops[i];
      const a = this.accesses[k][i];
      let at = now;
      const after = (r: number, reader: string): void => {
        for (const m of made.get(r) ?? [])
          at = Math.max(at, m.at + this.distance(m.form, m.isSecond, r, reader));
      };
      for (const r of a.reads) after(r, timing.reader(x.form, false));
      if (a.guard >= 0) after(a.guard, 'guard');
      // Where a jump is taken, results that are live there are ready when it is over.
      if (x.form.row === 'BRA' && i < b.ops.length - 1)
        for (const [r, all] of made)
          if (this.live.get(x.target!.block)?.has(r) === true)
            for (const m of all)
              at = Math.max(at, m.at + this.longest(m.form, m.isSecond, r) - CONTROL_STALL);
      return at;
    };
    b.ops.forEach((x, i) => {
      const a = this.accesses[k][i];
      const { write, read } = this.barriers[k][i];
      const at = i === 0 ? 0 : wantedFor(i);
      if (i > 0) this.waitUntil(out, issued, at);
      issued.push(at);
      now = at + 1;
      const isFixed = !timing.late(x.form) || isProduct(x.form, this.machine);
      for (const { register, isSecond } of a.writes) {
        const kept = x.guard < 0 ? [] : (made.get(register) ?? []).filter((m) => m.at + PRODUCT > at);
        const own = isFixed && fileOf(register) !== 'B' ? [{ at, form: x.form, isSecond }] : [];
        made.set(register, [...kept, ...own]);
      }
      const next = waits[i + 1] ?? 0;
      const raises = (n: number): boolean => n !== NO_BARRIER && ((next >> n) & 1) === 1;
      let stall = 1;
      if (raises(write) || raises(read) || x.form.row === 'LDGDEPBAR') stall = BARRIER_DELAY;
      if (x.form.pipe === 'control' && x.form.row !== 'NOP') stall = CONTROL_STALL;
      if (ORDERS.test(x.form.row)) stall = ORDER_STALL;
      now = at + stall;
      out.push({ stall, yield: true, write, read, wait: waits[i], reuse: 0 });
    });
    // What follows the block may read its results at once.
    if (b.ops.length > 0) {
      let end = now;
      for (const [r, all] of made)
        if (this.isLiveAfter(b, r))
          for (const m of all) end = Math.max(end, m.at + this.longest(m.form, m.isSecond, r));
      this.waitUntil(out, issued, end);
    }
    return out.map((c) => ({ ...c, yield: c.stall < BARRIER_DELAY + 1 }));
  }

  private isLiveAfter(b: MachineBlock, register: number): boolean {
    return b.next.some((n) => this.live.get(n)?.has(register) === true);
  }

  /** Has the next instruction issued at a time; NOPs before it share what is more than one stall. */
  private waitUntil(out: Control[], issued: number[], at: number): void {
    let [k, to] = [out.length - 1, at];
    for (; k > 0 && to - issued[k] > MOST_STALL; k--) {
      this.setStall(out, k, MOST_STALL);
      to -= MOST_STALL;
      issued[k] = to;
    }
    this.setStall(out, k, to - issued[k]);
  }

  private setStall(out: Control[], i: number, stall: number): void {
    out[i] = { ...out[i], stall: Math.min(MOST_STALL, Math.max(out[i].stall, stall)) };
  }

  private distance(form: Form, isSecond: boolean, register: number, reader: string): number {
    const { timing } = this.machine;
    const file = fileOf(register);
    if (isProduct(form, this.machine)) return PRODUCT;
    return (
      timing.distance(`${timing.result(form, isSecond)}.${file}`, reader) ??
      this.longest(form, isSecond, register)
    );
  }

  /** The longest distance that the table knows for a result. */
  private longest(form: Form, isSecond: boolean, register: number): number {
    const { timing } = this.machine;
    const file = fileOf(register);
    if (isProduct(form, this.machine)) return PRODUCT;
    const known = READERS.flatMap((reader) =>
      [false, isSecond].flatMap((s) => timing.distance(`${timing.result(form, s)}.${file}`, reader) ?? []),
    );
    return known.length === 0 ? LONGEST : Math.max(...known);
  }
}

/** Timing classes of readers that tables name. */
const READERS: readonly string[] = [
  'alu',
  'fma',
  'fp64',
  'lsu',
  'slow',
  'wide',
  'wide.hi',
  'control',
  'guard',
  'uniform',
  'half',
  'mufu',
];

/** Stall of a control word at -O0, in cycles, and the barriers for results and for sources: as ptxas 13.0.88 writes them. */
const O0_STALL = 15;
const [O0_RESULTS, O0_SOURCES] = [0, 1];

/** Control words with which every instruction waits for all earlier ones, as ptxas writes them at -O0. */
export const waitingForAll = (fn: MachineFunction, of: readonly number[], machine: Machine): Control[][] =>
  fn.blocks.map((b) =>
    b.ops.map((x) => {
      const isLate = machine.timing.late(x.form);
      const { reads, writes } = accessesOf(x, of, machine);
      return {
        stall: O0_STALL,
        yield: false,
        // Groups of copies count in the barrier of results, which is COPIES too.
        write: x.form.row === 'LDGDEPBAR' || (isLate && writes.length > 0) ? O0_RESULTS : NO_BARRIER,
        read: isLate && reads.length > 0 ? O0_SOURCES : NO_BARRIER,
        wait: (1 << O0_RESULTS) | (1 << O0_SOURCES),
        reuse: 0,
      };
    }),
  );

/** Index in Ori of a register of the hardware. */
const indexOf = (file: string, n: number): number => regIndex(physical(file, n));
const fileOf = (register: number): string => hardwareName(register).file;

function drop(w: Map<number, number>, barriers: number): void {
  for (const [r, mask] of w) {
    const left = mask & ~barriers;
    if (left === 0) w.delete(r);
    else if (left !== mask) w.set(r, left);
  }
}

/** Adds what is pending on another path. @returns whether anything is new */
function merge(into: Pending, from: Pending): boolean {
  let isNew = false;
  for (const part of ['results', 'reads'] as const)
    for (const [r, mask] of from[part]) {
      const own = into[part].get(r) ?? 0;
      if ((own | mask) === own) continue;
      into[part].set(r, own | mask);
      isNew = true;
    }
  return isNew;
}

/** Registers of the hardware that are live at the beginning of each block, by its id. */
function liveRegisters(
  fn: MachineFunction,
  accesses: readonly (readonly Accesses[])[],
): Map<number, ReadonlySet<number>> {
  const live = new Map<number, Set<number>>(fn.blocks.map((b) => [b.id, new Set()]));
  for (let changed = true; changed; ) {
    changed = false;
    for (let k = fn.blocks.length - 1; k >= 0; k--) {
      const b = fn.blocks[k];
      const now = new Set(b.next.flatMap((n) => [...(live.get(n) ?? [])]));
      for (let i = b.ops.length - 1; i >= 0; i--) {
        const { reads, writes, guard } = accesses[k][i];
        if (guard < 0) for (const w of writes) now.delete(w.register);
        else now.add(guard);
        for (const r of reads) now.add(r);
      }
      if (now.size === live.get(b.id)!.size) continue;
      live.set(b.id, now);
      changed = true;
    }
  }
  return live;
}

/** The registers that an instruction accesses. */
function accessesOf(x: MachineOp, of: readonly number[], machine: Machine): Accesses {
  const reads: number[] = [];
  const writes: { register: number; isSecond: boolean }[] = [];
  const seen = new Set<number>();
  for (const o of x.occurrences) {
    seen.add(o.field);
    const file = fileFor(x.form, o.field);
    for (let k = 0; k < o.words; k++) {
      const register = indexOf(file, of[o.v] + o.word + k);
      if (o.isResult) writes.push({ register, isSecond: k > 0 });
      else reads.push(register);
    }
  }
  const fixed = (a: Atom | undefined, isResult: boolean): void => {
    if (a === undefined || seen.has(a.field)) return;
    if (a.kind !== 'R' && a.kind !== 'UR' && a.kind !== 'P') return;
    const constant = machine.registers.get(a.kind)?.constant;
    const raw = x.values[a.field];
    const number = a.inverted ? 2 ** x.form.fields[a.field].bits - 1 - raw : raw;
    if (number === constant) return;
    // The fixed registers are the stack pointer, and the pair with the descriptor of memory.
    for (let k = 0; k < (a.kind === 'UR' ? 2 : 1); k++) {
      const register = indexOf(a.kind, number + k);
      if (isResult) writes.push({ register, isSecond: k > 0 });
      else reads.push(register);
    }
  };
  for (const o of x.form.operands) {
    if (o.when !== undefined && !o.when(x.values)) continue;
    fixed(o.atom, o.name === 'd');
    fixed(o.prefix?.term.atom, false);
    for (const t of o.terms ?? []) if (t.when === undefined || t.when(x.values)) fixed(t.atom, false);
  }
  return { reads, writes, guard: x.guard < 0 ? -1 : indexOf('P', of[x.guard]) };
}

/** The file of the register in a field. */
function fileFor(form: Form, field: number): string {
  if (field === IMPLICIT) return 'R';
  for (const o of form.operands)
    for (const a of [o.atom, o.prefix?.term.atom, ...(o.terms ?? []).map((t) => t.atom)])
      if (a?.field === field) return a.kind;
  throw new Error(`${form.name} has no register in field ${field}`);
}
