import type { Form, Machine } from '../machine/forms.ts';
import { copyOf } from './allocate.ts';
import type { MachineBlock, MachineFunction, MachineOp } from './machine-op.ts';
import { PRODUCT } from './schedule.ts';
import { type BlockLiveness, blockLiveness, wordsOf } from './segments.ts';

/*
 * List scheduling before registers are allocated: within a block, instructions are ordered so that one that waits for a result has others
 * before it. Of those that can be issued, the one on the longest path to the end of the block goes first; while as many words are live as
 * allowed, the one that frees most.
 */

/** Latencies by space and unit, in cycles: `latencies` of a back end. */
export type Latencies = Readonly<Record<string, number>>;

/** What an instruction of variable latency waits for, by the first part of its row, or else by its pipe. */
const WAITS_FOR: Readonly<Record<string, string>> = {
  LDG: 'global',
  ATOMG: 'global',
  LD: 'generic',
  ATOM: 'generic',
  LDL: 'local',
  LDC: 'const',
  lsu: 'shared',
  mufu: 'xu',
  fp64: 'fp64',
  tex: 'global',
};
/** Cycles of a fixed latency that is in no table. */
const USUAL = 6;
/** Words that may be live in any kernel: with 32 registers a thread, an SM holds as many threads as it can. */
const FREE = 28;

/** Instructions of the largest block that is ordered: the time grows with their square. */
const MOST = 3000;

/** Priority of what is issued as soon as it can be. */
const AT_ONCE = 1e9;

/** Rows that nothing may pass, and those that keep their place among accesses to memory. */
const FENCES = /^CS2R/;
const KEPT = /^(?:VOTE|SHFL|MATCH|REDUX|B2R|MEMBAR|LDGSTS|LDGDEPBAR|DEPBAR|CCTL|ERRBAR|CGAERRBAR)/;
const LOADS = /^(?:LDG|LDS|LDSM|LDL|LD)(?:\.|$)/;

/** A function with the instructions of its blocks in a better order. */
export function ordered(fn: MachineFunction, machine: Machine, latencies: Latencies): MachineFunction {
  const liveness = blockLiveness(fn);
  return {
    ...fn,
    blocks: fn.blocks.map((b, k) =>
      b.ops.length < 3 || b.ops.length > MOST
        ? b
        : { ...b, ops: orderOf(fn, b, k, liveness, machine, latencies) },
    ),
  };
}

/** Dependences of an instruction: those that must follow it, each with the cycles between them. */
type Edges = Map<number, number>;

function orderOf(
  fn: MachineFunction,
  b: MachineBlock,
  k: number,
  live: BlockLiveness,
  machine: Machine,
  latencies: Latencies,
): MachineOp[] {
  const { ops } = b;
  const edges = dependences(fn, ops, live, machine, latencies);
  const height = new Array<number>(ops.length).fill(0);
  const waiting = new Array<number>(ops.length).fill(0);
  for (let i = ops.length - 1; i >= 0; i--)
    for (const [j, cycles] of edges[i]) {
      height[i] = Math.max(height[i], height[j] + cycles);
      waiting[j]++;
    }
  const pressure = new Pressure(fn, ops, live, live.out[k]);
  const most = Math.max(FREE, pressure.mostIn([...ops.keys()]));
  const isCopy = ops.map((x) => copyOf(x) !== null);
  const ready = new Set(ops.keys());
  for (const i of ready) if (waiting[i] > 0) ready.delete(i);
  const earliest = new Array<number>(ops.length).fill(0);
  const out: number[] = [];
  for (let now = 0; ready.size > 0; now++) {
    const list = [...ready];
    const isFull = pressure.live >= most;
    const key = (i: number): number => {
      // A copy that ends the life of its source vanishes if both get one register: nothing may come between.
      if (isCopy[i] && pressure.change(i) <= 0) return AT_ONCE;
      if (isFull) return -pressure.change(i) * 1000 + height[i] / 1000;
      return (earliest[i] <= now ? 100_000 : -earliest[i]) + height[i];
    };
    let best = list[0];
    for (const i of list) if (key(i) > key(best) || (key(i) === key(best) && i < best)) best = i;
    ready.delete(best);
    now = Math.max(now, earliest[best]);
    pressure.issue(best);
    out.push(best);
    for (const [j, cycles] of edges[best]) {
      earliest[j] = Math.max(earliest[j], now + cycles);
      if (--waiting[j] === 0) ready.add(j);
    }
  }
  // Greedy choices can end where each that is left needs more registers.
  return pressure.mostIn(out) > most ? [...ops] : out.map((i) => ops[i]);
}

/** Words of general registers that are live while a block is issued. */
class Pressure {
  live = 0;
  private readonly uses = new Map<number, number>();
  private readonly now = new Set<number>();
  private readonly touched: readonly {
    readonly reads: readonly number[];
    readonly writes: readonly number[];
  }[];
  private readonly stays: (unit: number) => boolean;
  /** Words that are live after the block. */
  private readonly through: readonly number[];

  constructor(
    fn: MachineFunction,
    ops: readonly MachineOp[],
    { first, owner }: BlockLiveness,
    out: Uint32Array,
  ) {
    this.stays = (u) => ((out[u >>> 5] >>> (u & 31)) & 1) === 1;
    this.touched = ops.map((x) => {
      const [reads, writes] = [new Set<number>(), new Set<number>()];
      wordsOf(x, first, (u, isResult) => {
        if (fn.registers[owner[u]].file === 'R') (isResult ? writes : reads).add(u);
      });
      return { reads: [...reads], writes: [...writes] };
    });
    this.through = [...owner.keys()].filter((u) => fn.registers[owner[u]].file === 'R' && this.stays(u));
    this.reset();
  }

  private reset(): void {
    this.uses.clear();
    this.now.clear();
    const defined = new Set<number>();
    for (const { reads, writes } of this.touched) {
      for (const u of reads) {
        this.uses.set(u, (this.uses.get(u) ?? 0) + 1);
        if (!defined.has(u)) this.now.add(u);
      }
      for (const u of writes) defined.add(u);
    }
    for (const u of this.through) if (!defined.has(u)) this.now.add(u);
    this.live = this.now.size;
  }

  /** Most words that are live if the instructions have this order. */
  mostIn(order: readonly number[]): number {
    this.reset();
    let most = this.live;
    for (const i of order) {
      this.issue(i);
      most = Math.max(most, this.live);
    }
    this.reset();
    return most;
  }

  /** By how many words an instruction changes what is live. */
  change(i: number): number {
    const { reads, writes } = this.touched[i];
    const freed = reads.filter((u) => this.uses.get(u) === 1 && !this.stays(u) && !writes.includes(u)).length;
    return writes.filter((u) => !this.now.has(u)).length - freed;
  }

  issue(i: number): void {
    const { reads, writes } = this.touched[i];
    for (const u of reads) {
      const left = this.uses.get(u)! - 1;
      this.uses.set(u, left);
      if (left === 0 && !this.stays(u)) this.now.delete(u);
    }
    for (const u of writes) if ((this.uses.get(u) ?? 0) > 0 || this.stays(u)) this.now.add(u);
    this.live = this.now.size;
  }
}

/** What must follow what: results and their readers, memory, and whatever lanes do together. */
function dependences(
  fn: MachineFunction,
  ops: readonly MachineOp[],
  { first, owner }: BlockLiveness,
  machine: Machine,
  latencies: Latencies,
): Edges[] {
  const edges: Edges[] = ops.map(() => new Map());
  const after = (i: number, j: number, cycles: number): void => {
    if (i >= 0 && i !== j) edges[i].set(j, Math.max(cycles, edges[i].get(j) ?? 0));
  };
  const writers = new Map<number, number[]>();
  const readers = new Map<number, number[]>();
  let [lastStore, lastFence]: [number, number] = [-1, -1];
  let loads: number[] = [];
  ops.forEach((x, j) => {
    wordsOf(x, first, (u, isResult) => {
      if (isResult) return;
      for (const i of writers.get(u) ?? [])
        after(i, j, latency(ops[i], x, fn.registers[owner[u]].file, machine, latencies));
      readers.set(u, [...(readers.get(u) ?? []), j]);
    });
    wordsOf(x, first, (u, isResult) => {
      if (!isResult) return;
      for (const i of [...(readers.get(u) ?? []), ...(writers.get(u) ?? [])]) after(i, j, 1);
      // A guarded result leaves the old value where the guard is false.
      writers.set(u, x.guard < 0 ? [j] : [...(writers.get(u) ?? []), j]);
      readers.set(u, []);
    });
    const { row, pipe } = x.form;
    after(lastFence, j, 1);
    if (pipe === 'control' || FENCES.test(row)) {
      // Nothing passes what lanes do together, or the end of the block.
      for (let i = lastFence + 1; i < j; i++) after(i, j, 1);
      lastFence = j;
      loads = [];
      lastStore = -1;
    } else if (LOADS.test(row) && x.isOrdered !== true) {
      after(lastStore, j, 1);
      loads.push(j);
    } else if (pipe === 'lsu' || pipe === 'tex' || KEPT.test(row)) {
      if (row.startsWith('LDC')) return;
      after(lastStore, j, 1);
      for (const i of loads) after(i, j, 1);
      loads = [];
      lastStore = j;
    }
  });
  // Copies at the end carry values to the next iteration: there most of them vanish.
  let end = ops.length;
  while (end > 0 && (ops[end - 1].form.pipe === 'control' || copyOf(ops[end - 1]) !== null)) end--;
  for (let j = end; j < ops.length; j++) for (let i = 0; i < j; i++) after(i, j, 1);
  return edges;
}

/** Cycles from an instruction to one that reads its result. */
function latency(
  x: MachineOp,
  reader: MachineOp,
  file: string,
  { timing }: Machine,
  latencies: Latencies,
): number {
  if (timing.late(x.form)) return lateness(x.form, latencies);
  if (x.form.pipe === 'tensor') return PRODUCT;
  return (
    timing.distance(`${timing.result(x.form, false)}.${file}`, timing.reader(reader.form, false)) ?? USUAL
  );
}

const lateness = (f: Form, latencies: Latencies): number =>
  latencies[WAITS_FOR[f.row.split('.')[0]] ?? WAITS_FOR[f.pipe] ?? 'special'] ?? USUAL;
