import { NO_REG, type Reg } from '../../ir/operand.ts';
import { Pool, poolOf, reads, unitsIn } from '../registers/liveness.ts';
import { latency, type Times } from '../schedule/block-time.ts';
import { instrCost } from '../schedule/costs.ts';
import type { Dependence, LoopBody } from './loop-dependences.ts';

/** Each next interval is longer by a sixteenth, or by one cycle. */
const STEP = 16;
/** Maximum number of intervals tried: up to 45 times the first. */
const MOST_TRIES = 64;

/** When each instruction of a loop's body issues, if a new iteration starts every `interval` cycles. */
export interface ModuloSchedule {
  readonly interval: number;
  /** Bodies that the loop needs, so that no result of a load is overwritten, or copied, while it is in use. */
  readonly copies: number;
  readonly stages: number;
  /** By place in the body, from the start of its iteration. */
  readonly start: Int32Array;
}

/** Limits of a schedule. */
export interface ScheduleLimits {
  readonly stages: number;
  readonly copies: number;
}

/** The stage of an instruction: how many intervals after the start of its iteration it issues. */
export const stageOf = (s: ModuloSchedule, i: number): number => Math.floor(s.start[i] / s.interval);

/** Places of the body in the order in which one round of the loop issues them, across iterations. */
export function roundOrder(s: ModuloSchedule): number[] {
  const at = (i: number): number => s.start[i] % s.interval;
  return [...s.start.keys()].sort((a, b) => at(a) - at(b) || a - b);
}

/**
 * Modulo scheduling of a loop that is one block (Rau, "Iterative Modulo Scheduling", 1994, without its backtracking): the shortest
 * interval at which iterations can start such that all dependences hold, no unit is needed twice at once, and at most `stages`
 * iterations are under way. The test of an iteration is in its first stage, so that no iteration starts that would not have run. The
 * interval starts at the larger of what units (ResMII) and cycles of dependences (RecMII) need, and grows until everything has a place.
 *
 * @param isLate whether an instruction's result arrives late, so that its register must not need a copy. With several stages, at least
 * one such result is used in a later stage
 * @param most longest interval tried, in cycles
 * @returns null if no interval up to `most` works
 */
export function moduloSchedule(
  body: LoopBody,
  times: Times,
  limits: ScheduleLimits,
  isLate: (i: number) => boolean,
  most: number,
): ModuloSchedule | null {
  const copies = limits.copies;
  const edges = withOverwrites(body, copies, isLate);
  const least = Math.max(resourceInterval(body, times), 1);
  const recurrence = recurrenceInterval(body, edges, least, most);
  if (recurrence === null) return null;
  const waits = body.dependences.filter((e) => e.value && isLate(e.from));
  const room = [...new Set(waits.map((e) => e.to))].reduce(
    (sum, i) => sum + instrCost(body.instructions[i], times.costs),
    1,
  );
  let interval = recurrence;
  for (let tries = 0; tries < MOST_TRIES && interval <= most; tries++) {
    // Users of late results may come first in a round, before the instructions that write these results again.
    for (const delay of [0, room]) {
      const start = new Placement(body, edges, times, interval, limits.stages).run((i) =>
        isLate(i) ? delay : 0,
      );
      if (start === null) continue;
      const last = start.reduce((a, b) => Math.max(a, b), 0);
      const s = { interval, copies, stages: Math.floor(last / interval) + 1, start };
      if (limits.stages === 1 || waits.some((e) => stageOf(s, e.to) + e.distance > stageOf(s, e.from)))
        return s;
    }
    interval += Math.max(1, Math.floor(interval / STEP));
  }
  return null;
}

/** Cycles for which an iteration occupies the busiest unit, or the issue slot: no interval is shorter (ResMII). */
function resourceInterval(body: LoopBody, times: Times): number {
  const units = new Map<string, number>();
  let issued = 1; // the branch
  for (const x of body.instructions) {
    const cost = instrCost(x, times.costs);
    units.set(x.op.unit, (units.get(x.op.unit) ?? 0) + cost);
    if (cost > 0) issued++;
  }
  return Math.max(issued, ...units.values());
}

/** Cycles from the test of an iteration to its branch. */
const testTime = (body: LoopBody, times: Times): number =>
  Math.max(1, latency(body.instructions[body.test], times));

/** Adds dependences so that a result of `isLate` is read before the same register is written again, `copies` rounds later. */
function withOverwrites(body: LoopBody, copies: number, isLate: (i: number) => boolean): Dependence[] {
  const out = [...body.dependences];
  for (const { from, to, distance, value } of body.dependences)
    if (value && isLate(from) && distance <= copies)
      out.push({ from: to, to: from, latency: 1, distance: copies - distance, value: false });
  return out;
}

/**
 * The shortest interval of at least `least` for which every dependence can hold (RecMII): an interval is too short if times grow
 * without bound around a cycle. Every longer interval is possible too.
 */
function recurrenceInterval(
  body: LoopBody,
  edges: readonly Dependence[],
  least: number,
  most: number,
): number | null {
  const n = body.instructions.length;
  if (least > most || earliest(n, edges, most) === null) return null;
  let low = least;
  let high = most;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (earliest(n, edges, middle) === null) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Earliest times under the dependences alone; null if there are none (Bellman and Ford). */
function earliest(
  n: number,
  edges: readonly Dependence[],
  interval: number,
  least: (i: number) => number = () => 0,
): Int32Array | null {
  const at = Int32Array.from({ length: n }, (_, i) => least(i));
  for (let round = 0; round <= n; round++) {
    let changed = false;
    for (const { from, to, latency, distance } of edges) {
      const t = at[from] + latency - distance * interval;
      if (t <= at[to]) continue;
      at[to] = t;
      changed = true;
    }
    if (!changed) return at;
  }
  return null;
}

/** Gives every instruction a time for one interval. */
class Placement {
  private readonly n: number;
  private readonly body: LoopBody;
  private readonly times: Times;
  private readonly interval: number;
  private readonly stages: number;
  private readonly edges: readonly Dependence[];
  private readonly into: Dependence[][];
  private readonly out: Dependence[][];
  private readonly start: Int32Array;
  /** Whether an instruction issues in a cycle of the interval; by unit, whether it is occupied. */
  private readonly issue: Uint8Array;
  private readonly units = new Map<string, Uint8Array>();

  constructor(body: LoopBody, edges: readonly Dependence[], times: Times, interval: number, stages: number) {
    this.n = body.instructions.length;
    this.body = body;
    this.edges = edges;
    this.times = times;
    this.interval = interval;
    this.stages = stages;
    this.into = Array.from({ length: this.n }, () => []);
    this.out = Array.from({ length: this.n }, () => []);
    for (const e of edges) {
      this.into[e.to].push(e);
      this.out[e.from].push(e);
    }
    this.start = new Int32Array(this.n).fill(-1);
    this.issue = new Uint8Array(interval);
    // The branch issues last.
    this.issue[interval - 1] = 1;
  }

  /** @param least earliest time of each instruction */
  run(least: (i: number) => number): Int32Array | null {
    const { body, interval, stages, n, start } = this;
    const at = earliest(n, this.edges, interval, least);
    if (at === null) return null;
    // The order of the body is one in which values are defined before they are used.
    for (let i = 0; i < n; i++) {
      const from = this.from(i, at[i]);
      const last = i === body.test ? this.lastOfTest() : interval * stages - 1;
      const to = Math.min(from + interval - 1, this.before(i, last));
      if (!this.place(i, from, to)) return null;
    }
    // What only later stages need is computed there: an earlier result would occupy one more register.
    for (let i = n - 1; i >= 0; i--) this.delay(i);
    return start;
  }

  /** The test must have its result when the branch issues, in the first stage. */
  private lastOfTest(): number {
    return this.interval - 1 - testTime(this.body, this.times);
  }

  private from(i: number, least: number): number {
    let from = least;
    for (const e of this.into[i])
      if (this.start[e.from] >= 0 && e.from !== i)
        from = Math.max(from, this.start[e.from] + e.latency - e.distance * this.interval);
    return from;
  }

  private before(i: number, last: number): number {
    let to = last;
    for (const e of this.out[i])
      if (this.start[e.to] >= 0 && e.to !== i)
        to = Math.min(to, this.start[e.to] + e.distance * this.interval - e.latency);
    return to;
  }

  private place(i: number, from: number, to: number): boolean {
    for (let t = from; t <= to; t++) if (this.take(i, t, 1)) return true;
    return false;
  }

  /** Delays a value until after the last use of the value that it replaces, or to its first use, if that is in a later stage. */
  private delay(i: number): void {
    const { body, interval, start, stages } = this;
    const x = body.instructions[i];
    const cost = instrCost(x, this.times.costs);
    if (i === body.test || cost === 0 || x.op.accesses.length > 0 || this.out[i].length === 0) return;
    const to = Math.min(this.before(i, interval * stages - 1), start[i] + interval * stages);
    const own = start[i];
    let wanted = to;
    for (const c of body.carried)
      if (x.dst.includes(c.next.reg)) {
        // A phi's register is free for its next value once all reads of it are done.
        wanted = Math.min(wanted, Math.max(own, this.lastRead(c.phi) + 1));
      }
    if (Math.floor(wanted / interval) === Math.floor(own / interval)) return;
    this.take(i, own, 0);
    for (let t = wanted; t <= to; t++) if (this.take(i, t, 1)) return;
    for (let t = Math.min(wanted, to); t >= own; t--) if (this.take(i, t, 1)) return;
    throw new Error('the place that an instruction had is gone');
  }

  private lastRead(r: Reg): number {
    let last = 0;
    for (let k = 0; k < this.n; k++)
      reads(this.body.instructions[k], (u) => {
        if (u === r) last = Math.max(last, this.start[k]);
      });
    return last;
  }

  /** Reserves (1) or frees (0) the issue slot and unit of instruction i at a time; false if they are in use. */
  private take(i: number, t: number, by: 0 | 1): boolean {
    const { interval, issue, start } = this;
    const x = this.body.instructions[i];
    const cost = Math.min(interval, instrCost(x, this.times.costs));
    // An instruction without cost only renames registers.
    if (cost > 0) {
      let unit = this.units.get(x.op.unit);
      if (unit === undefined) this.units.set(x.op.unit, (unit = new Uint8Array(interval)));
      if (by === 1) {
        if (issue[t % interval] === 1) return false;
        for (let c = 0; c < cost; c++) if (unit[(t + c) % interval] === 1) return false;
      }
      issue[t % interval] = by;
      for (let c = 0; c < cost; c++) unit[(t + c) % interval] = by;
    }
    start[i] = by === 1 ? t : -1;
    return true;
  }
}

/**
 * Cycles from one round of a loop to the next, for a single warp that issues in the given order. Of the simulated `rounds`, the first
 * half fills the loop and is not measured. Round k runs an instruction of stage s for iteration k - s; the test is in stage 0.
 *
 * @param order places of the body in issue order
 * @param stage the stage of an instruction
 */
export function roundTime(
  body: LoopBody,
  times: Times,
  order: readonly number[],
  stage: (i: number) => number,
  rounds = 12,
): number {
  const n = body.instructions.length;
  const into: Dependence[][] = Array.from({ length: n }, () => []);
  for (const e of body.dependences) into[e.to].push(e);
  const issued = new Int32Array(n * rounds);
  const free: Record<string, number> = {};
  let now = 0;
  let half = 0;
  for (let k = 0; k < rounds; k++) {
    for (const i of order) {
      const iteration = k - stage(i);
      if (iteration < 0) continue;
      const x = body.instructions[i];
      const cost = instrCost(x, times.costs);
      let t = cost === 0 ? now : Math.max(now, free[x.op.unit] ?? 0);
      for (const e of into[i])
        if (iteration >= e.distance)
          t = Math.max(t, issued[(iteration - e.distance) * n + e.from] + e.latency);
      issued[iteration * n + i] = t;
      if (cost === 0) continue;
      free[x.op.unit] = t + cost;
      now = t + 1;
    }
    now = Math.max(now, issued[k * n + body.test] + testTime(body, times)) + 1;
    if (k === (rounds >> 1) - 1) half = now;
  }
  return (now - half) / (rounds - (rounds >> 1));
}

/** Maximum number of 32-bit registers that values of the body occupy under a schedule, in all iterations under way. */
export function registersOf(body: LoopBody, s: ModuloSchedule): number {
  const units = new Int32Array(s.interval);
  const defined = new Map<Reg, number>();
  const until = new Map<Reg, number>();
  for (let i = 0; i < s.start.length; i++)
    for (const r of body.instructions[i].dst) if (r !== NO_REG) defined.set(r, s.start[i]);
  const next = new Map(body.carried.map((c) => [c.phi, c.next.reg]));
  for (let i = 0; i < s.start.length; i++)
    reads(body.instructions[i], (r) => {
      const through = next.get(r);
      const value = through ?? r;
      if (!defined.has(value)) return;
      const t = s.start[i] + (through === undefined ? 0 : s.interval);
      until.set(value, Math.max(until.get(value) ?? 0, t));
    });
  for (const [r, from] of defined)
    if (poolOf(r) === Pool.R)
      for (let t = from; t < (until.get(r) ?? from + 1); t++) units[t % s.interval] += unitsIn(r);
  return units.reduce((a, b) => Math.max(a, b), 0);
}
