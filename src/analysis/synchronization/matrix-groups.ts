import {
  BEGUN,
  committedOnce,
  flyingIn,
  flyingRegisters,
  isMatrixGroupProduct,
  OLDEST,
  youngestEnded,
} from '../../ir/async-registers.ts';
import { endsFlow, isControl } from '../../ir/flow.ts';
import { flightOf } from '../../ir/foreign-text.ts';
import { hasMod, Lanes } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Reg, regName } from '../../ir/operand.ts';
import type { Fn, Instr, Program } from '../../ir/program.ts';
import { calleeName } from '../calls/call-graph.ts';
import { cfgOf } from '../flow/cfg.ts';
import { dominates, dominatorsOf, postDominatorsOf } from '../flow/dominators.ts';
import { loopsOf } from '../loops/loops.ts';
import { isCall } from '../memory/memory-ops.ts';
import { divergenceOf } from '../uniformity/divergence.ts';

/**
 * Sequences of asynchronous matrix products of a warpgroup: fence, products, commit_group, wait_group (PTX ISA 9.0, 9.7.15). The
 * hardware requires an arrival (the fence) before the products of a stage and a wait before anything touches their registers; ptxas
 * inserts what is missing, or gives up and lets one product run at a time.
 *
 * The messages and their conditions follow ptxas 13.0.88 as observed on some 140 small kernels; test/analysis/matrix-groups.test.ts has
 * the clearest. Of 600 other random sequences, 565 got the same numbers from both, and for 570 both agreed whether products run one at
 * a time. The numbers:
 *
 *     7509, 7510  a call: of an unknown function, of a system function
 *     7514        read after a wait that does not cover the product
 *     7515        at a join, a value in flight meets one that another instruction wrote
 *     7517, 7518  a wait is inserted; where lanes may have diverged
 *     7519, 7520  an arrival is inserted; where lanes may have diverged
 */
export interface MatrixGroups {
  /** Products of the function. */
  readonly products: readonly Instr[];
  /** The maximum number of accumulator registers in flight after any instruction, and of how many results they are part. */
  readonly most: { readonly registers: number; readonly sets: number; readonly at: InstrPlace } | null;
  /** In the order of the code; a place occurs once for each reason. */
  readonly advice: readonly GroupAdvice[];
}

interface InstrPlace {
  /** Position of the block. */
  readonly block: number;
  readonly ins: Instr;
}

/** What ptxas will do, and why. */
export interface GroupAdvice extends InstrPlace {
  /** ptxas' number of the message. */
  readonly code: number;
  /** Whether products run one at a time because of it. */
  readonly serializes: boolean;
  readonly message: string;
}

/** Facts about a register, in the byte after its age. */
const Is = {
  /** It may hold the result of a product. */
  Product: 1,
  /** It may hold what another instruction wrote. */
  Other: 2,
  /** Another instruction wrote it after a product. */
  Replaced: 4,
  /** Another instruction wrote it after the last arrival. */
  Fresh: 8,
  /** A wait was executed since its product began. */
  Waited: 16,
} as const;

/** Instructions that name registers in flight without using them. */
const NAMING: ReadonlySet<string> = new Set(['ORDERS', 'COMMITS', 'ENDS']);

/** No preceding arrival is known. */
const NO_FENCE = -1;

/** The state of a function at one place. */
interface State {
  /** Position of the block with the last arrival; NO_FENCE where there is none, or more than one. */
  fence: number;
  /** Was a product begun since the arrival? */
  begun: boolean;
  /** Was a function called that is not known? */
  foreignCall: boolean;
  /** Two bytes for each register: its age, and the facts about it (`Is`). */
  readonly of: Uint8Array;
}

const copyOf = ({ begun, foreignCall, of }: State, fence: number): State => ({
  fence,
  begun,
  foreignCall,
  of: of.slice(),
});

/** Names of functions that every program may call (CUDA C++ Programming Guide 13.0: formatted output, assertions, allocation). */
const SYSTEM_CALLS = new Set(['vprintf', 'malloc', 'free', '__assertfail']);

/**
 * Follows the products of a function along all paths; null if it has none. Linear in instructions times registers in flight, for the
 * few rounds until the fixpoint. Requires that control operations are last in their blocks, and registers outside of SSA.
 */
export function matrixGroupsOf(fn: Fn, program: Program): MatrixGroups | null {
  const products = fn.blocks.flatMap((b) => b.ins.filter(isMatrixGroupProduct));
  return products.length === 0 ? null : new Walk(fn, program, products).groups();
}

class Walk {
  private readonly cfg;
  private readonly numbers: ReadonlyMap<Reg, number>;
  private readonly accumulators = new Set<Reg>();
  private readonly atStart: (State | null)[];
  private readonly advice: GroupAdvice[] = [];
  private readonly reported = new Map<Instr, ReadonlySet<number>>();
  private most: MatrixGroups['most'] = null;
  /** Set in the last walk, which records the messages. */
  private reporting = false;
  private block = 0;
  /** The result of `liveness`, computed on demand. */
  private needed: readonly Uint8Array[] | null = null;

  private readonly fn: Fn;
  private readonly program: Program;
  private readonly products: readonly Instr[];

  constructor(fn: Fn, program: Program, products: readonly Instr[]) {
    this.fn = fn;
    this.program = program;
    this.products = products;
    this.cfg = cfgOf(fn);
    this.numbers = flyingRegisters(fn.blocks);
    for (const x of products) for (const r of x.dst) if (r !== NO_REG) this.accumulators.add(r);
    this.atStart = fn.blocks.map(() => null);
  }

  groups(): MatrixGroups {
    const { succStart, succ, rpo } = this.cfg;
    this.atStart[rpo[0]] = {
      fence: NO_FENCE,
      begun: false,
      foreignCall: false,
      of: new Uint8Array(2 * this.numbers.size),
    };
    const waiting = new Set<number>([rpo[0]]);
    for (const b of waiting) {
      waiting.delete(b);
      const end = this.through(b);
      for (let e = succStart[b]; end !== null && e < succStart[b + 1]; e++)
        if (this.joined(b, succ[e], end)) waiting.add(succ[e]);
    }
    this.reporting = true;
    // Blocks that end in a trap reach no join.
    const ends = new Map<number, State>();
    for (const b of rpo) {
      const end = this.atStart[b] === null ? null : this.through(b);
      if (end !== null) ends.set(b, end);
    }
    for (const b of rpo) this.meet(b, ends);
    return { products: this.products, most: this.most, advice: this.messages() };
  }

  /**
   * The messages that ptxas gives: only the first reason to run one product at a time, if there is one. For divergence or a call, ptxas
   * finds it before it inserts anything, otherwise after that.
   */
  private messages(): GroupAdvice[] {
    const all = this.advice;
    const reason = (codes: readonly number[]): GroupAdvice[] =>
      all.filter((a) => codes.includes(a.code)).slice(0, 1);
    for (const codes of [
      [7518, 7520],
      [7509, 7510],
    ]) {
      const found = reason(codes);
      if (found.length > 0) return found;
    }
    return [...all.filter((a) => !a.serializes), ...reason([7514, 7515])];
  }

  /** Merges a state at the end of a predecessor. Terminates, because bytes only grow and a fence is only forgotten. */
  private joined(p: number, b: number, from: State): boolean {
    const to = this.atStart[b];
    const { innermost } = loopsOf(this.fn);
    // ptxas searches for the arrival of a product only on the same side of every loop.
    const fence = innermost[p] === innermost[b] ? from.fence : NO_FENCE;
    if (to === null) {
      this.atStart[b] = copyOf(from, fence);
      return true;
    }
    let changed = false;
    if (to.fence !== fence && to.fence !== NO_FENCE) {
      to.fence = NO_FENCE;
      changed = true;
    }
    for (const flag of ['begun', 'foreignCall'] as const)
      if (from[flag] && !to[flag]) changed = to[flag] = true;
    for (let k = 0; k < to.of.length; k += 2) {
      const age = Math.max(to.of[k], from.of[k]);
      const is = to.of[k + 1] | from.of[k + 1];
      if (age === to.of[k] && is === to.of[k + 1]) continue;
      to.of[k] = age;
      to.of[k + 1] = is;
      changed = true;
    }
    return changed;
  }

  /** The state at the end of a block; null if a trap ends it. */
  private through(b: number): State | null {
    const s: State = copyOf(this.atStart[b]!, this.atStart[b]!.fence);
    this.block = b;
    for (const x of this.fn.blocks[b].ins) {
      if (isTrap(x)) return null;
      this.step(x, s);
      if (this.reporting) this.count(x, s);
    }
    return s;
  }

  private step(x: Instr, s: State): void {
    switch (flightOf(x)) {
      case 'BEGINS':
        if (isMatrixGroupProduct(x)) this.product(x, s);
        return;
      case 'ORDERS':
        return this.arrive(s);
      case 'COMMITS':
        if (!this.isOpen(s)) this.insertArrival(x, s, 'the group has no fence of its own');
        if (x.guard === NO_REG) for (let k = 0; k < s.of.length; k += 2) s.of[k] = committedOnce(s.of[k]);
        return;
      case 'ENDS':
        return this.wait(x, s);
      default:
        return this.other(x, s);
    }
  }

  private arrive(s: State): void {
    s.fence = this.block;
    s.begun = false;
    for (let k = 1; k < s.of.length; k += 2) s.of[k] &= ~Is.Fresh;
  }

  /** Does the last arrival belong to this block: is it executed exactly as often? */
  private isOpen(s: State): boolean {
    const { fn, block } = this;
    if (s.fence === NO_FENCE) return false;
    if (s.fence === block) return true;
    return dominates(dominatorsOf(fn), s.fence, block) && dominates(postDominatorsOf(fn), block, s.fence);
  }

  private product(x: Instr, s: State): void {
    const own = x.dst.filter((r) => r !== NO_REG);
    const isAt = (r: Reg): number => s.of[2 * this.numbers.get(r)! + 1];
    const fresh = flyingIn(x).find(
      (r) => (isAt(r) & Is.Fresh) !== 0 && (s.begun || this.accumulators.has(r)),
    );
    if (!this.isOpen(s)) this.insertArrival(x, s, 'no fence is passed exactly as often as it');
    else if (fresh !== undefined) this.insertArrival(x, s, `${regName(fresh)} is written after the fence`);
    s.begun = true;
    for (const r of flyingIn(x)) s.of[2 * this.numbers.get(r)!] = BEGUN;
    for (const r of own) s.of[2 * this.numbers.get(r)! + 1] = Is.Product;
  }

  private wait(x: Instr, s: State): void {
    // For ptxas, a wait for everything also ends products that were never committed.
    const youngest = youngestEnded(x) === OLDEST ? BEGUN : youngestEnded(x);
    const flies = [...this.accumulators].some((r) => s.of[2 * this.numbers.get(r)!] > 0);
    if (flies && this.mayBeDiverged() && s.fence !== NO_FENCE && !this.isOpen(s))
      this.report(7518, x, 'lanes may have diverged where it waits');
    for (let k = 0; k < s.of.length; k += 2)
      if (s.of[k] > 0) {
        s.of[k + 1] |= Is.Waited;
        if (s.of[k] <= youngest && x.guard === NO_REG) s.of[k] = 0;
      }
  }

  /** Any instruction that is not part of a product sequence. */
  private other(x: Instr, s: State): void {
    if (isCall(x)) this.call(x, s);
    if (leaves(x)) {
      const r = this.flying(s);
      if (r !== NO_REG) this.insertWait(x, s, `${regName(r)} is in flight where the thread ends`);
    }
    for (const r of [...x.src.map((o) => o.reg), x.guard]) this.read(r, x, s);
    for (const r of x.dst) {
      const n = r === NO_REG ? undefined : this.numbers.get(r);
      if (n === undefined) continue;
      const is = s.of[2 * n + 1];
      if (x.guard !== NO_REG && s.of[2 * n] > 0 && (is & Is.Product) !== 0) {
        this.report(7515, x, `it writes ${regName(r)} under a guard, which is in flight`);
        continue;
      }
      const was = (is & Is.Product) !== 0 || (is & Is.Replaced) !== 0 ? Is.Replaced : 0;
      s.of[2 * n + 1] = Is.Other | Is.Fresh | was | (is & Is.Waited);
    }
  }

  private read(r: Reg, x: Instr, s: State): void {
    if (r === NO_REG || !this.accumulators.has(r)) return;
    const k = 2 * this.numbers.get(r)!;
    if (s.of[k] === 0 || (s.of[k + 1] & Is.Product) === 0) return;
    if ((s.of[k + 1] & Is.Waited) !== 0) {
      this.report(7514, x, `it reads ${regName(r)} after a wait that does not cover its product`);
      return;
    }
    this.insertWait(x, s, `it reads ${regName(r)}, which is in flight`);
  }

  private call(x: Instr, s: State): void {
    const name = calleeName(x);
    const known = name !== '' && this.program.functions.some((f) => f.name === name);
    s.fence = NO_FENCE;
    if (known) return;
    s.foreignCall = true;
    if (SYSTEM_CALLS.has(name)) this.report(7510, x, `it calls ${name}`);
    else
      this.report(
        7509,
        x,
        name === '' ? 'its callee is not known' : `it calls ${name}, which is not in this file`,
      );
  }

  private insertArrival(x: Instr, s: State, why: string): void {
    if (this.mayBeDiverged() || s.foreignCall)
      this.report(
        7520,
        x,
        `ptxas would insert an arrival in front of it where lanes may have diverged: ${why}`,
      );
    else this.report(7519, x, `ptxas will insert an arrival in front of it: ${why}`);
    this.arrive(s);
  }

  private insertWait(x: Instr, s: State, why: string): void {
    if (this.mayBeDiverged())
      this.report(7518, x, `ptxas would insert a wait in front of it where lanes may have diverged: ${why}`);
    else this.report(7517, x, `ptxas will insert a wait in front of it: ${why}`);
    for (let k = 0; k < s.of.length; k += 2) s.of[k] = 0;
  }

  /** May some lanes execute this block without others? */
  private mayBeDiverged(): boolean {
    return divergenceOf(this.fn).control[this.block] === Lanes.Varying;
  }

  /** An accumulator in flight that holds the result of its product; NO_REG if there is none. */
  private flying(s: State): Reg {
    for (const r of this.accumulators) {
      const k = 2 * this.numbers.get(r)!;
      if (s.of[k] > 0 && (s.of[k + 1] & Is.Product) !== 0) return r;
    }
    return NO_REG;
  }

  /** At a join: does a value in flight on one path meet another instruction's value of the same register on another? */
  private meet(b: number, ends: ReadonlyMap<number, State>): void {
    const { predStart, pred } = this.cfg;
    const from = [...pred.subarray(predStart[b], predStart[b + 1])].flatMap((p) => ends.get(p) ?? []);
    const first = this.fn.blocks[b].ins[0];
    if (from.length < 2 || first === undefined) return;
    for (const r of this.accumulators) {
      const k = 2 * this.numbers.get(r)!;
      const product = from.some((s) => s.of[k] > 0 && (s.of[k + 1] & Is.Product) !== 0);
      const other = from.some(
        (s) =>
          (s.of[k + 1] & Is.Product) === 0 &&
          (s.of[k + 1] & (s.fence === NO_FENCE ? Is.Replaced : Is.Replaced | Is.Fresh)) !== 0,
      );
      if (!product || !other || !this.isNeeded(r, b)) continue;
      this.block = b;
      this.report(7515, first, `${regName(r)} is in flight on one path to here, and written on another`);
      return;
    }
  }

  /** Is the value of an accumulator read on some path from the start of a block? */
  private isNeeded(r: Reg, b: number): boolean {
    this.needed ??= this.liveness();
    return this.needed[b][this.numbers.get(r)!] === 1;
  }

  /**
   * By block: which registers in flight are read before they are written again. Ordinary liveness would count fences and waits, which
   * name all of them.
   */
  private liveness(): Uint8Array[] {
    const { rpo, succStart, succ, predStart, pred } = this.cfg;
    const own = this.fn.blocks.map((b) => b.ins.filter((x) => !NAMING.has(flightOf(x))));
    const live = this.fn.blocks.map(() => new Uint8Array(this.numbers.size));
    const waiting = new Set([...rpo].reverse());
    for (const b of waiting) {
      waiting.delete(b);
      const here = new Uint8Array(this.numbers.size);
      for (let e = succStart[b]; e < succStart[b + 1]; e++) live[succ[e]].forEach((is, n) => (here[n] |= is));
      for (const x of own[b].toReversed()) {
        if (x.guard === NO_REG) for (const r of x.dst) this.mark(here, r, 0);
        for (const o of x.src) this.mark(here, o.reg, 1);
        this.mark(here, x.guard, 1);
      }
      if (here.every((is, n) => is === live[b][n])) continue;
      live[b] = here;
      for (let e = predStart[b]; e < predStart[b + 1]; e++) waiting.add(pred[e]);
    }
    return live;
  }

  private mark(live: Uint8Array, r: Reg, is: 0 | 1): void {
    const n = r === NO_REG ? undefined : this.numbers.get(r);
    if (n !== undefined) live[n] = is;
  }

  private count(x: Instr, s: State): void {
    if (flightOf(x) !== 'BEGINS') return;
    const flies = (r: Reg): boolean => r !== NO_REG && s.of[2 * this.numbers.get(r)!] > 0;
    const registers = [...this.accumulators].filter(flies).length;
    if (registers <= (this.most?.registers ?? 0)) return;
    const sets = new Set(this.products.filter((p) => p.dst.some(flies)).map((p) => p.dst.join())).size;
    this.most = { registers, sets, at: { block: this.block, ins: x } };
  }

  private report(code: number, ins: Instr, message: string): void {
    const reported = this.reported.get(ins);
    if (!this.reporting || reported?.has(code)) return;
    this.reported.set(ins, new Set([...(reported ?? []), code]));
    this.advice.push({ code, serializes: code !== 7517 && code !== 7519, block: this.block, ins, message });
  }
}

/** Does the thread end here, or return: control without a target? */
const leaves = (x: Instr): boolean =>
  isControl(x) &&
  !isCall(x) &&
  !x.src.some((o) => o.kind === Kind.Label || o.kind === Kind.Table) &&
  (endsFlow(x) || x.guard !== NO_REG);

/** Does no lane continue after it? */
const isTrap = (x: Instr): boolean =>
  x.op.primitive === 'trap' && hasMod(x.op, x.mods, 'TRAP') && x.guard === NO_REG;
