import { branchTargets, type CubinFunction } from '../cubin/functions.ts';
import { hardwareName } from '../lift/registers.ts';
import { NO_BARRIER } from '../machine/control.ts';
import type { Form, Machine } from '../machine/forms.ts';
import type { Listed } from '../machine/listing.ts';
import { WORD_BYTES } from '../machine/text.ts';
import type { Accesses } from './accesses.ts';

/*
 * Checks that machine code waits long enough: a forward data-flow analysis of results and operand reads that may still be pending.
 *
 * A fixed-latency result may be read after the number of cycles in the family's table. A variable-latency result may be read or
 * overwritten after a wait for a scoreboard barrier that is set by its instruction or by a later one of the same queue, since results of
 * a queue come in order. The source registers of a queued instruction may be overwritten after a wait for such a barrier, or by an
 * instruction that goes through the same pipe later. Uniform registers and predicates are read at issue.
 */

/** Two accesses to a register that are too close. */
export interface Hazard {
  readonly kind:
    | 'read before the result is there'
    | 'written before the result is there'
    | 'written before it is read';
  /** Index of the register in Ori (`physical`). */
  readonly register: number;
  /** Positions of the two instructions in the code. */
  readonly first: number;
  readonly second: number;
  /** Minimum number of cycles between their issues, and the number required; null if a barrier wait is required. */
  readonly cycles: number;
  readonly needed: number | null;
  /** Barriers that would signal completion, as a bit mask. */
  readonly barriers: number;
}

/** Accesses and timing classes of one instruction. */
interface Step extends Accesses {
  readonly form: Form;
  readonly late: boolean;
  readonly queue: string;
  /** Timing class as a reader: of the second word of its addend, and of other operands. */
  readonly reader: { readonly second: string; readonly other: string };
  readonly listed: Listed;
  readonly guardNot: boolean;
}

/** A pending access to a register. */
interface Entry {
  readonly register: number;
  /** Position of the instruction. */
  readonly at: number;
  /** Minimum number of cycles since its issue. */
  age: number;
  /** Barriers that signal completion on all paths. */
  mask: number;
  /** The instruction's guard, as long as the predicate has not been overwritten; -1 for none. */
  guard: number;
}

type Waiting = Map<number, Entry>;

/** Pending accesses at a program point: results, keyed by register and instruction, and operands still to be read. */
interface State {
  readonly results: Waiting;
  readonly reads: Waiting;
}

/** Number of cycles after which every fixed-latency result is available. */
const LONGEST = 64;
/** Stride of instructions in the keys of pending accesses; exceeds all register indices. */
const KEYS = 1024;

const copyOf = (w: Waiting): Waiting => new Map([...w].map(([k, e]) => [k, { ...e }]));

/** Joins the pending accesses of another path. @returns whether `into` changed */
function merge(into: Waiting, from: Waiting): boolean {
  let changed = false;
  for (const [key, e] of from) {
    const own = into.get(key);
    if (own === undefined) {
      into.set(key, { ...e });
      changed = true;
      continue;
    }
    const [age, mask] = [Math.min(own.age, e.age), own.mask & e.mask];
    const guard = own.guard === e.guard ? own.guard : -1;
    if (age === own.age && mask === own.mask && guard === own.guard) continue;
    Object.assign(own, { age, mask, guard });
    changed = true;
  }
  return changed;
}

/** Rows that end a path, rows of calls, after which a new path begins, and rows that jump to operand `t`. */
const ENDS: ReadonlySet<string> = new Set([
  'EXIT',
  'BRX',
  'BRXU',
  'RET',
  'BRA',
  'BRA.u',
  'BRA.up',
  'JMP',
  'BPT',
  'KILL',
]);
const CALLS: ReadonlySet<string> = new Set(['CALL.REL', 'CALL.REL.r', 'CALL.ABS']);
const JUMPS: ReadonlySet<string> = new Set(['BRA', 'BRA.u', 'BRA.up', 'JMP']);

/**
 * Finds accesses that are too early in the code of a function, each pair of instructions once.
 *
 * @param accesses accesses of each word; null for an unknown word, after which nothing is assumed to be pending
 */
export function hazardsOf(
  fn: CubinFunction,
  code: readonly Listed[],
  accesses: readonly (Accesses | null)[],
  machine: Machine,
): Hazard[] {
  return new Check(fn, code, accesses, machine).all();
}

class Check {
  private readonly steps: readonly (Step | null)[];
  private readonly machine: Machine;
  private readonly starts: ReadonlySet<number>;
  /** Targets of indirect branches, by address. */
  private readonly tables: ReadonlyMap<number, readonly number[]>;
  private readonly before = new Map<number, State>();
  private readonly found = new Map<string, Hazard>();
  private reporting = false;

  constructor(
    fn: CubinFunction,
    code: readonly Listed[],
    accesses: readonly (Accesses | null)[],
    machine: Machine,
  ) {
    this.machine = machine;
    const { timing } = machine;
    this.steps = code.map((listed, k): Step | null => {
      const [i, own] = [listed.instruction, accesses[k]];
      if (i === null || own === null) return null;
      const { form } = i;
      return {
        ...own,
        form,
        late: timing.late(form),
        queue: timing.queue(form),
        reader: { second: timing.reader(form, true), other: timing.reader(form, false) },
        listed,
        guardNot: i.guardNot,
      };
    });
    this.tables = branchTargets(fn);
    const starts = new Set([0, ...[...this.tables.values()].flat().map((t) => t / WORD_BYTES)]);
    for (const l of fn.labels) starts.add(l.offset / WORD_BYTES);
    this.steps.forEach((s, k) => {
      if (s === null) return;
      const to = this.target(k);
      if (to !== null) starts.add(to);
      if (ENDS.has(s.form.row) || CALLS.has(s.form.row)) starts.add(k + 1);
    });
    this.starts = new Set([...starts].filter((k) => Number.isInteger(k) && k < this.steps.length));
  }

  /** Position of the target in operand `t`; null if there is none. */
  private target(k: number): number | null {
    const i = this.steps[k]!.listed.instruction!;
    const atom = i.form.operands.find((o) => o.name === 't')?.atom;
    if (atom === undefined) return null;
    const to = k + 1 + (i.values[atom.field] * atom.scale) / WORD_BYTES;
    return to >= 0 && to < this.steps.length ? to : null;
  }

  /** Mask of the barriers that a DEPBAR waits for by its operands: one with a count, and a set. */
  private countedBy(s: Step): number {
    if (s.form.row !== 'DEPBAR') return 0;
    const value = (name: string): number => {
      const atom = s.form.operands.find((o) => o.name === name)?.atom;
      return atom === undefined ? 0 : s.listed.instruction!.values[atom.field];
    };
    return (1 << value('b')) | value('m');
  }

  all(): Hazard[] {
    const work = [...this.starts];
    for (const s of work) this.before.set(s, { results: new Map(), reads: new Map() });
    // Terminates: the keys at a block are finite, and age, mask and guard of an entry only decrease.
    for (let at = work.pop(); at !== undefined; at = work.pop()) {
      for (const [to, state] of this.through(at)) {
        const own = this.before.get(to);
        if (own === undefined) continue;
        const changed = [merge(own.results, state.results), merge(own.reads, state.reads)];
        if (changed.includes(true) && !work.includes(to)) work.push(to);
      }
    }
    this.reporting = true;
    for (const at of [...this.starts].sort((a, b) => a - b)) this.through(at);
    return [...this.found.values()].sort((a, b) => a.second - b.second || a.first - b.first);
  }

  /** Transfers the state of a block through its instructions. @returns successors with their states */
  private through(start: number): [number, State][] {
    const out: [number, State][] = [];
    const from = this.before.get(start);
    if (from === undefined) return out;
    const state: State = { results: copyOf(from.results), reads: copyOf(from.reads) };
    const copy = (): State => ({ results: copyOf(state.results), reads: copyOf(state.reads) });
    for (let k = start; k < this.steps.length; k++) {
      if (k > start && this.starts.has(k)) {
        out.push([k, state]);
        return out;
      }
      const s = this.steps[k];
      if (s === null) {
        state.results.clear();
        state.reads.clear();
        continue;
      }
      this.step(state, s, k);
      const to = JUMPS.has(s.form.row) ? this.target(k) : null;
      if (to !== null) out.push([to, copy()]);
      for (const t of this.tables.get(k * WORD_BYTES) ?? []) out.push([t / WORD_BYTES, copy()]);
      // The callee is other code, after which nothing is known.
      if (CALLS.has(s.form.row)) return out;
      if (ENDS.has(s.form.row)) {
        if (this.mayPass(s)) out.push([k + 1, state]);
        return out;
      }
    }
    return out;
  }

  /** True if an instruction that ends a path may fall through: it has a guard or another predicate. */
  private mayPass(s: Step): boolean {
    return s.guard >= 0 || [...s.reads].some((r) => hardwareName(r).file.endsWith('P'));
  }

  private step({ results, reads }: State, s: Step, k: number): void {
    const { wait, write, read, stall } = s.listed.control;
    const drop = (w: Waiting, barriers: number): void => {
      for (const [key, e] of w) if ((e.mask & barriers) !== 0) w.delete(key);
    };
    drop(results, wait);
    drop(reads, wait);
    // DEPBAR may wait for only a part of what a barrier counts; here it counts as waiting for all.
    drop(results, this.countedBy(s));
    // Stores that a block made before a barrier have read their operands.
    if (s.form.row === 'BAR')
      for (const [key, e] of reads) if (this.of(e).form.pipe === 'lsu') reads.delete(key);
    for (const e of results.values()) if (s.reads.has(e.register)) this.checkRead(e, s, k);
    for (const e of results.values()) if (s.writes.has(e.register)) this.checkWrite(e, s, k);
    for (const e of reads.values())
      if (s.writes.has(e.register) && !this.readsAfter(e, s) && !this.exclude(e, s))
        this.report('written before it is read', e, k, null);
    const replace = (w: Waiting): void => {
      for (const [key, e] of w)
        if (s.writes.has(e.register) && s.guard < 0) w.delete(key);
        else if (s.writes.has(e.guard)) e.guard = -1;
    };
    replace(results);
    replace(reads);
    const bit = (b: number): number => (b === NO_BARRIER ? 0 : 1 << b);
    const [resultBit, operandBit] = [bit(write), bit(write) | bit(read)];
    if (resultBit !== 0) for (const e of results.values()) if (this.isQueuedAfter(e, s)) e.mask |= resultBit;
    if (operandBit !== 0) for (const e of reads.values()) if (this.readsAfter(e, s)) e.mask |= operandBit;
    const entry = (register: number, mask: number): Entry => ({
      register,
      at: k,
      age: 0,
      mask,
      guard: s.writes.has(s.guard) ? -1 : s.guard,
    });
    for (const r of s.writes) {
      // The predicate result of an atomic operation on generic memory is available when it has read its operands (ptxas 13.0.88, sm_90).
      const early = s.form.row.split('.')[0] === 'ATOM' && hardwareName(r).file === 'P';
      results.set(k * KEYS + r, entry(r, bit(write) | (early ? bit(read) : 0)));
    }
    if (s.late)
      for (const r of s.reads)
        if (hardwareName(r).file === 'R') reads.set(k * KEYS + r, entry(r, bit(write) | bit(read)));
    for (const w of [results, reads])
      for (const [key, e] of w) {
        e.age = Math.min(e.age + Math.max(stall, 1), LONGEST);
        if (e.age === LONGEST && w === results && !this.isLate(e)) w.delete(key);
      }
  }

  private of(e: Entry): Step {
    return this.steps[e.at]!;
  }

  /** True for a variable-latency result. */
  private isLate(e: Entry): boolean {
    return this.of(e).late;
  }

  /** True if `s` goes through the same queue, after the instruction of `e`. */
  private isQueuedAfter(e: Entry, s: Step): boolean {
    const first = this.of(e);
    return first.late && s.late && first.queue === s.queue;
  }

  /** True if `s` reads its operands after the instruction of `e`: instructions of a pipe read them in order. */
  private readsAfter(e: Entry, s: Step): boolean {
    const first = this.of(e);
    return first.late && s.late && first.form.pipe === s.form.pipe;
  }

  /** True if the two instructions exclude each other: opposite polarities of the same predicate. */
  private exclude(e: Entry, s: Step): boolean {
    return e.guard >= 0 && e.guard === s.guard && this.of(e).guardNot !== s.guardNot;
  }

  /** Checks the read of a pending result. */
  private checkRead(e: Entry, s: Step, k: number): void {
    if (this.exclude(e, s)) return;
    if (this.isLate(e)) return this.report('read before the result is there', e, k, null);
    const first = this.of(e);
    const operand = s.seconds.has(e.register) ? s.reader.second : s.reader.other;
    const reader = e.register === s.guard ? 'guard' : operand;
    const result = this.machine.timing.result(first.form, first.writes.has(e.register - 1));
    const needed = this.machine.timing.distance(`${result}.${hardwareName(e.register).file}`, reader);
    if (needed !== null && e.age < needed) this.report('read before the result is there', e, k, needed);
  }

  /** Checks the overwrite of a pending result: a variable-latency result may arrive after the new one, unless both use one queue. */
  private checkWrite(e: Entry, s: Step, k: number): void {
    if (!this.isLate(e) || this.isQueuedAfter(e, s) || this.exclude(e, s)) return;
    this.report('written before the result is there', e, k, null);
  }

  private report(kind: Hazard['kind'], e: Entry, second: number, needed: number | null): void {
    if (!this.reporting) return;
    const key = `${kind} ${e.at} ${second}`;
    if (this.found.has(key)) return;
    this.found.set(key, {
      kind,
      register: e.register,
      first: e.at,
      second,
      cycles: e.age,
      needed,
      barriers: e.mask,
    });
  }
}
