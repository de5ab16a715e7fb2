import { slotWidth, srcSlot } from '../ir/opcode.ts';
import { NO_REG, RegFile, regFile, regIndex } from '../ir/operand.ts';
import type { Code, Decoded } from '../sim/decode.ts';
import { lowest } from '../sim/masks.ts';
import type { Location } from '../sim/memory.ts';
import type { Frame } from '../sim/state.ts';
import type { UsedAs } from '../sim/used-as.ts';
import { Seen } from '../sim/watch.ts';
import type { Effort } from './effort.ts';
import { addSeen } from './reached.ts';
import { type Run, runIn, type Subject } from './run.ts';
import type { Probe } from './watcher.ts';
import type { World } from './world.ts';

/** A run of one thread, and how it uses the values that it reads. */
export interface Base {
  readonly world: World;
  readonly run: Run;
  readonly used: UsedAs;
}

/**
 * Behaviour that no world has shown yet: an untaken outcome of a guard, an unused entry of a jump table, or two compared values that are
 * equal or one apart.
 */
interface Goal {
  readonly code: Code;
  readonly pc: number;
  /** The missing `Seen` bit at `pc`; 0 for none. */
  readonly way: number;
  /** The instruction that the jump-table entry leads to; -1 for none. */
  readonly target: number;
  /** Index of the entry in its jump table; -1 for none. */
  readonly entry: number;
  /** The comparisons that decide, and the wanted differences of the first value from the second. */
  readonly comparisons: readonly number[];
  readonly distances: readonly bigint[];
}

/** An input of the thread: part of an argument, by offset, or of memory, by address. */
interface Input {
  readonly where: 'parameters' | 'memory';
  readonly at: number;
  /** 8, 16, 32 or 64. */
  readonly bits: number;
  /** The value as a signed number. */
  readonly value: bigint;
}

/** Operands of a comparison at its first execution, and their width. */
interface Compared {
  readonly pc: number;
  readonly a: bigint;
  readonly b: bigint;
  readonly bits: number;
}

/** A world in which a goal is reached, and what ran there. */
interface Found {
  readonly world: World;
  readonly seen: ReadonlyMap<Code, Uint8Array>;
}

/** Maximum number of runs per goal. */
const MOST_FOR_GOAL = 90;
/** Maximum number of worlds tried per goal. */
const MOST_WORLDS = 2;
/** Maximum number of inputs tried per comparison. */
const MOST_INPUTS = 6;
/** Maximum number of loaded words recorded. */
const MOST_LOADED = 128;
/** Maximum number of definitions followed from a guard to its comparisons. */
const MOST_STEPS = 12;
/** Maximum number of bytes of a struct argument whose words are inputs. */
const MOST_STRUCT = 64;

/**
 * Searches for inputs that make a thread do what it has not done in any world: take the other way at a branch or another entry of a jump
 * table, or compare values that are equal or neighbours. If a compared value is a copy of an input, the input is set to the wanted value
 * (Aschermann et al., REDQUEEN, NDSS 2019). Otherwise the bits of an input are chosen from the lowest up: in sums, products and bitwise
 * operations no bit of the result depends on higher bits of an operand (Klimov and Shamir, A New Class of Invertible Mappings, CHES 2002).
 * If a value follows an input in larger steps, as in quotients, one step gives the rate by which to extrapolate.
 */
export class Search {
  executed = 0;
  private readonly subject: Subject;
  private readonly effort: Effort;
  private readonly first: (world: World) => Base | null;
  private runs = 0;
  private runsForGoal = 0;

  /** @param first gives the first version's run in a world, and how it uses values */
  constructor(subject: Subject, effort: Effort, first: (world: World) => Base | null) {
    this.effort = effort;
    this.subject = subject;
    this.first = first;
  }

  private get isOver(): boolean {
    return this.runs >= this.effort.searchRuns || this.executed >= this.effort.searched;
  }

  /** Yields worlds in which a goal is reached; `seen` is extended by what runs in them. */
  *worlds(from: readonly World[], seen: Map<Code, Uint8Array>): Generator<World> {
    for (const goal of goalsOf(seen)) {
      if (this.isOver) return;
      if (!isDistance(goal) && isReached(goal, seen)) continue;
      let tried = 0;
      for (const world of from) {
        if (tried === MOST_WORLDS || this.isOver) break;
        const base = this.first(world);
        const there = base?.run.watcher.seen.get(goal.code);
        // The first version's own run shows whether it gets there; another version has the same inputs and may get there too.
        if (base === null || (there !== undefined && (there[goal.pc] & Seen.Ran) === 0)) continue;
        tried++;
        this.runsForGoal = 0;
        const found = this.reach(goal, base);
        if (found === null) continue;
        addSeen(seen, found.seen);
        yield found.world;
        break;
      }
    }
  }

  private run(base: Base, world: World, look: Look): Run {
    this.runs++;
    this.runsForGoal++;
    const r = runIn(this.subject, world, base.used, { probe: look });
    this.executed += r.executed;
    return r;
  }

  /** A variant of the base world in which the goal is reached; null if none is found. */
  private reach(goal: Goal, base: Base): Found | null {
    const look = new Look(goal);
    const r = this.run(base, base.world, look);
    const inputs = [...this.arguments(base, r), ...look.words];
    for (const c of look.compared)
      for (const distance of goal.distances) {
        if (isDistance(goal) && wrap(c.a - c.b - distance, c.bits) === 0n) continue;
        const found = this.atDistance(goal, base, c, distance, inputs);
        if (found !== null) return found;
      }
    return null;
  }

  /** A variant of the world in which the compared values differ by `distance` and the goal is reached; null if none is found. */
  private atDistance(
    goal: Goal,
    base: Base,
    c: Compared,
    distance: bigint,
    inputs: readonly Input[],
  ): Found | null {
    let last: Look = new Look(goal);
    /** Runs with another value of an input. */
    const attempt = (input: Input, value: bigint): { found: Found | null; now: Compared | undefined } => {
      const world = changed(base.world, input, value, goal);
      last = new Look(goal);
      const run = this.run(base, world, last);
      const now = last.compared.find((x) => x.pc === c.pc);
      const isThere = isDistance(goal)
        ? now !== undefined && wrap(now.a - now.b - distance, now.bits) === 0n
        : isReached(goal, run.watcher.seen);
      return { found: isThere ? { world, seen: run.watcher.seen } : null, now };
    };
    const may = (): boolean => !this.isOver && this.runsForGoal < MOST_FOR_GOAL;
    for (const [from, to] of [
      [c.a, c.b + distance],
      [c.b, c.a - distance],
    ])
      for (const input of inputs.filter((i) => isSame(i, from)).slice(0, 3)) {
        if (!may()) return null;
        const { found } = attempt(input, to);
        if (found !== null) return found;
      }
    for (const input of nearest(inputs)) {
      const found =
        this.bitByBit(input, c, distance, attempt, may) ?? this.bySteps(input, c, distance, attempt, may);
      if (found !== null) return found;
      if (!may()) return null;
    }
    return null;
  }

  /** Chooses the bits of an input from the lowest up. */
  private bitByBit(
    input: Input,
    c: Compared,
    distance: bigint,
    attempt: Attempt,
    may: () => boolean,
  ): Found | null {
    let value = input.value;
    let error = wrap(c.a - c.b - distance, c.bits);
    for (let bit = 0n; bit < BigInt(Math.min(input.bits, c.bits)); bit++) {
      if (((error >> bit) & 1n) === 0n) continue;
      if (!may()) return null;
      const { found, now } = attempt(input, value ^ (1n << bit));
      if (found !== null) return found;
      if (now === undefined || now.bits !== c.bits) return null;
      const next = wrap(now.a - now.b - distance, c.bits);
      // The input does not affect this bit, or higher bits affect it.
      if ((next & ((2n << bit) - 1n)) !== 0n) return null;
      value ^= 1n << bit;
      error = next;
    }
    return null;
  }

  /** Extrapolates from the effect of one large step of an input. */
  private bySteps(
    input: Input,
    c: Compared,
    distance: bigint,
    attempt: Attempt,
    may: () => boolean,
  ): Found | null {
    if (input.bits < 32 || !may()) return null;
    const step = 1n << 20n;
    const { found, now } = attempt(input, input.value + step);
    if (found !== null || now === undefined || now.bits !== c.bits) return found;
    const error = signed(c.a - c.b - distance, c.bits);
    const change = signed(now.a - now.b - distance, c.bits) - error;
    if (change === 0n) return null;
    const there = input.value - (error * step) / change;
    for (const value of [there, there + 1n, there - 1n]) {
      if (!may()) return null;
      const tried = attempt(input, value);
      if (tried.found !== null) return tried.found;
    }
    return null;
  }

  /** The arguments that are not pointers. */
  private arguments(base: Base, { bank }: Run): Input[] {
    const { program, kernel, paramBase } = this.subject;
    const out: Input[] = [];
    for (const p of program.functions.find((f) => f.name === kernel)!.params) {
      const each = p.array ? 4 : Math.min(p.size, 8);
      for (let at = p.offset; at < p.offset + p.size && at < p.offset + MOST_STRUCT; at += each) {
        const isPointer = each === 8 && base.used.parameters.has(at) && !base.used.offsets.has(at);
        if (isPointer || (p.array && (base.used.parameters.has(at) || base.used.parameters.has(at - 4))))
          continue;
        out.push({ where: 'parameters', at, ...bitsAt(bank, paramBase + at, each) });
      }
    }
    return out;
  }
}

type Attempt = (input: Input, value: bigint) => { found: Found | null; now: Compared | undefined };

const wrap = (v: bigint, bits: number): bigint => BigInt.asUintN(bits, v);
const signed = (v: bigint, bits: number): bigint => BigInt.asIntN(bits, v);

function bitsAt(view: DataView, at: number, bytes: number): { bits: number; value: bigint } {
  const value =
    bytes === 8
      ? view.getBigInt64(at, true)
      : BigInt(
          bytes === 4 ? view.getInt32(at, true) : bytes === 2 ? view.getInt16(at, true) : view.getInt8(at),
        );
  return { bits: 8 * bytes, value };
}

const isSame = ({ bits, value }: Input, v: bigint): boolean =>
  v === value || v === wrap(value, bits) || wrap(v, 32) === wrap(value, bits);

/** Inputs to try: arguments, and the most recently loaded words. */
function nearest(inputs: readonly Input[]): Input[] {
  const own = inputs.filter((i) => i.where === 'parameters');
  const loaded = inputs.filter((i) => i.where === 'memory').slice(-MOST_INPUTS);
  return [...own.slice(0, MOST_INPUTS / 2), ...loaded.reverse(), ...own.slice(MOST_INPUTS / 2)].slice(
    0,
    MOST_INPUTS,
  );
}

/** The world with another value of an input. */
function changed(world: World, { where, at, bits }: Input, value: bigint, goal: Goal): World {
  const words = new Map(world[where]);
  const first = at - (at % 4);
  const v = wrap(value, bits) << BigInt(8 * (at % 4));
  words.set(first, Number(BigInt.asIntN(32, v)));
  if (bits === 64) words.set(first + 4, Number(BigInt.asIntN(32, v >> 32n)));
  const what = goal.entry >= 0 ? 'an entry of a table' : goal.way > 0 ? 'a branch' : 'a comparison';
  return { ...world, name: `${world.name}, an input for ${what}`, [where]: words };
}

/** True if the goal is only about the difference of two compared values. */
const isDistance = (g: Goal): boolean => g.way === 0 && g.target < 0;

function isReached(g: Goal, seen: ReadonlyMap<Code, Uint8Array>): boolean {
  const bits = seen.get(g.code);
  if (bits === undefined) return false;
  return g.target >= 0 ? (bits[g.target] & Seen.Ran) !== 0 : (bits[g.pc] & g.way) !== 0;
}

/** Differences of compared values at which behaviour may change. */
const AROUND: readonly bigint[] = [0n, 1n, -1n];

/** Goals from what has run: first guards and jump tables with missing outcomes, then comparisons. */
function goalsOf(seen: ReadonlyMap<Code, Uint8Array>): Goal[] {
  const ways: Goal[] = [];
  const distances: Goal[] = [];
  const none = { way: 0, target: -1, entry: -1 };
  for (const [code, bits] of seen)
    code.ins.forEach((d, pc) => {
      if ((bits[pc] & Seen.Ran) === 0) return;
      if (d.table !== null)
        d.table.forEach((target, entry) => {
          if ((bits[target] & Seen.Ran) === 0)
            ways.push({ ...none, code, pc, target, entry, comparisons: [pc], distances: [0n] });
        });
      else if (d.guard >= 0)
        for (const way of [Seen.True, Seen.False]) {
          if ((bits[pc] & way) !== 0) continue;
          const comparisons = comparisonsBefore(code, pc);
          if (comparisons.length > 0) ways.push({ ...none, code, pc, way, comparisons, distances: AROUND });
        }
      if (isComparison(d))
        for (const distance of AROUND)
          distances.push({ ...none, code, pc, comparisons: [pc], distances: [distance] });
    });
  return [...ways, ...distances];
}

const isPredicate = (r: number): boolean =>
  r !== NO_REG && (regFile(r) === RegFile.P || regFile(r) === RegFile.UP);

/** True for a comparison of two values that are not predicates. */
const isComparison = ({ ins }: Decoded): boolean =>
  ins.dst.some(isPredicate) &&
  ins.op.means !== null &&
  ins.src.length >= 2 &&
  !isPredicate(ins.src[0].reg) &&
  !isPredicate(ins.src[1].reg) &&
  ins.src.some((o) => o.reg !== NO_REG && !isPredicate(o.reg));

/** Comparisons that determine the guard of an instruction, found through the nearest preceding definitions. */
function comparisonsBefore(code: Code, pc: number): number[] {
  const out: number[] = [];
  const seen = new Set<number>();
  const work: [number, number][] = [[regIndex(code.ins[pc].ins.guard), pc]];
  for (let step = 0; work.length > 0 && step < MOST_STEPS; step++) {
    const [r, before] = work.pop()!;
    const at = definitionOf(code, r, before);
    if (at < 0 || seen.has(at)) continue;
    seen.add(at);
    if (isComparison(code.ins[at])) out.push(at);
    for (const o of code.ins[at].ins.src) if (isPredicate(o.reg)) work.push([regIndex(o.reg), at]);
  }
  return out;
}

/** The nearest definition of a register before an instruction, otherwise any; -1 if there is none. */
function definitionOf(code: Code, r: number, before: number): number {
  let any = -1;
  for (let k = code.ins.length - 1; k >= 0; k--) {
    if (!code.ins[k].ins.dst.some((d) => d !== NO_REG && regIndex(d) === r)) continue;
    if (k < before) return k;
    any = k;
  }
  return any;
}

/** Records the operands of a goal's comparisons at their first execution, and the loaded words. */
class Look implements Probe {
  readonly compared: Compared[] = [];
  readonly words: Input[] = [];
  private readonly goal: Goal;
  private readonly seenAddresses = new Set<number>();

  constructor(goal: Goal) {
    this.goal = goal;
  }

  wants(code: Code): Iterable<number> {
    return code === this.goal.code ? this.goal.comparisons : [];
  }

  asked(f: Frame, pc: number, lanes: number): number {
    if (this.compared.some((c) => c.pc === pc)) return 0;
    const d = f.code.ins[pc];
    const l = lowest(lanes);
    if (this.goal.entry >= 0) {
      const a = operandOf(f, d, 0, l);
      if (a !== null) this.compared.push({ pc, bits: a.bits, a: a.v, b: BigInt(this.goal.entry) });
      return 0;
    }
    const [a, b] = [operandOf(f, d, 0, l), operandOf(f, d, 1, l)];
    if (a !== null && b !== null) this.compared.push({ pc, a: a.v, b: b.v, bits: Math.max(a.bits, b.bits) });
    return 0;
  }

  loaded(address: number, bytes: number, from: Location): void {
    const each = Math.min(bytes, 8);
    for (let k = 0; k < bytes && this.words.length < MOST_LOADED; k += each) {
      if (this.seenAddresses.has(address + k)) continue;
      this.seenAddresses.add(address + k);
      this.words.push({ where: 'memory', at: address + k, ...bitsAt(from.view, from.at + k, each) });
      // The words of a 16-byte access may be single words as well as pairs.
      if (bytes < 16) continue;
      for (const half of [0, 4])
        this.words.push({
          where: 'memory',
          at: address + k + half,
          ...bitsAt(from.view, from.at + k + half, 4),
        });
    }
  }
}

/** Value of a source in a lane, as a signed number; null if the operand has none. */
function operandOf(f: Frame, d: Decoded, src: number, l: number): { v: bigint; bits: number } | null {
  const at = f.code.operands[d.k + d.ins.dst.length + src];
  const o = d.ins.src[src];
  if (at === undefined || at < 0 || o.mods !== 0) return null;
  const i = f.regs.i32;
  const slot = srcSlot(d.ins.op, src);
  const bits = slot === undefined ? 32 : slotWidth(d.ins.op, d.ins.mods, slot);
  return bits === 64
    ? { v: (BigInt(i[at + 2 * l + 1]) << 32n) | BigInt(i[at + 2 * l] >>> 0), bits }
    : { v: BigInt(i[at + l]), bits: 32 };
}
