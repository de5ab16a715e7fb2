import { dimensions } from '../ir/directives.ts';
import { NO_REG, type Reg, RegFile, regFile } from '../ir/operand.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { SimFault } from './faults.ts';
import { findKernel, paramBank, placeVariables } from './launch.ts';
import { Machine } from './machine.ts';
import { holdsFloats, LINE, mix, OpenMemory, PIECE, pageOf } from './memory.ts';
import { LOG } from './primitives/log.ts';
import type { MachineOptions } from './simulation.ts';
import { floatLoads, floatOffsets, pointerLoads, pointerOffsets, type UsedAs } from './used-as.ts';

type Turns = Pick<MachineOptions, 'slice' | 'pathSlice' | 'schedule' | 'apart'>;

export interface OpenOptions {
  readonly seed: number;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Most warp instructions. */
  readonly budget: number;
  /** Warp instructions before the next warp, or the next lanes of a warp, get their turn. */
  readonly turns?: Turns;
  /** Listener for every load from global memory. */
  readonly followed?: Machine['followed'];
}

/** The result of one run in an open world. */
export interface OpenResult {
  readonly status: 'done' | 'budget' | 'fault';
  /** What prevented it from running; null unless the status is 'fault'. */
  readonly fault: SimFault | null;
  /** Everything that was written: bytes by piece, and which of them. */
  readonly memory: OpenMemory;
  /** What each thread stored, in order: address, value, ... */
  readonly logs: readonly (readonly number[])[];
  /** Threads ended by a trap, and warps ended by a fault, by block, warp and lane, with the kind of fault. */
  readonly ended: ReadonlyMap<string, string>;
  readonly executed: number;
}

/** Distance between the bases of two pointer parameters. */
const FAR = 2 ** 36;
/** Room of a variable that says it is larger: no GPU has as much memory, and addresses stay exact. */
const MOST_VARIABLE = 2 ** 38;

/** From 1 up to 3: with two bits behind the point for odd seeds, as exact as open memory's floats, for even ones with 24. */
function floatParameter(offset: number, seed: number): number {
  const h = mix(offset, seed);
  return (seed & 1) === 1 ? 1 + (h & 7) / 4 : 1 + (h & 0xffffff) / 2 ** 23;
}

/** Parameter bytes of an open-world run: pointers far apart, everything else small. */
function openBank(kernel: Fn, used: UsedAs, paramBase: number, seed: number): DataView {
  const { parameters: pointers, floatParameters: floats } = used;
  const bank = paramBank();
  const view = new DataView(bank.buffer);
  for (const p of kernel.params) {
    const at = paramBase + p.offset;
    if (p.type === 'f32' && !p.array) view.setFloat32(at, floatParameter(p.offset, seed), true);
    else if (p.type === 'f64' && !p.array) view.setFloat64(at, floatParameter(p.offset, seed), true);
    else if (p.array) {
      for (let k = 0; k + 4 <= p.size; k += 4)
        view.setUint32(at + k, 1 + (mix(p.offset + k, seed) & 31), true);
      for (const [offset, bytes] of floats) {
        const to = at + offset - p.offset;
        if (offset < p.offset || offset + bytes > p.offset + p.size) continue;
        if (bytes === 8) view.setFloat64(to, floatParameter(offset, seed), true);
        else view.setFloat32(to, floatParameter(offset, seed), true);
      }
    }
    // Mostly sizes: small for odd seeds, so that bounds are reached; for even seeds large enough that most threads
    // have work.
    else if (p.size >= 4)
      view.setUint32(
        at,
        (seed & 1) === 1 ? 1 + (mix(p.offset, seed) & 63) : 64 + (mix(p.offset, seed) & 127),
        true,
      );
    else view.setUint8(at, mix(p.offset, seed) & 15);
  }
  // Pointers inside by-value structs are pointers too.
  let n = 1;
  for (const offset of [...pointers].sort((a, b) => a - b))
    if (offset % 8 === 0 && kernel.params.some((p) => offset >= p.offset && offset + 8 <= p.offset + p.size))
      view.setBigUint64(paramBase + offset, BigInt(FAR * n++), true);
  return view;
}

/** Runs a kernel in an open world: every address exists; unwritten memory holds values hashed from the address. */
export function openWorld(
  program: Program,
  kernelName: string,
  used: UsedAs,
  paramBase: number,
  opts: OpenOptions,
): OpenResult {
  const memory = new OpenMemory(opts.seed, used.words, used.floats);
  let m: Machine | null = null;
  const result = (status: OpenResult['status'], fault: SimFault | null = null): OpenResult => {
    memory.flush();
    return {
      status,
      fault,
      memory,
      logs: m?.logs ?? [],
      ended: m?.ended ?? new Map(),
      executed: m?.executed ?? 0,
    };
  };
  try {
    const kernel = findKernel(program, kernelName);
    m = new Machine(
      program,
      kernel,
      {
        grid: opts.grid,
        block: opts.block,
        dynamicShared: 4096,
        budget: opts.budget,
        counters: null,
        open: true,
        seed: opts.seed,
        ...opts.turns,
      },
      memory,
      openBank(kernel, used, paramBase, opts.seed),
    );
    m.followed = opts.followed ?? null;
    let next = 2 ** 42;
    placeVariables(m, program, (v) => {
      const at = next;
      const size = Math.min(Math.max(v.size, 1), MOST_VARIABLE);
      next += Math.ceil((size + 4096) / 4096) * 4096;
      if (v.init !== null) memory.init(at, v.init, size);
      return at;
    });
    return result(m.run(kernel));
  } catch (e) {
    if (e instanceof SimFault) return result('fault', e);
    throw e;
  }
}

/** Rounds of searching for what the kernel uses values as: each finds those that the previous ones lead to. */
const ROUNDS = 4;

/**
 * Runs a kernel with pointers wherever it uses loaded words as addresses, and for even seeds with floats wherever it
 * uses them as such: a rounding shows in floats only, while integers let it go the ways that it goes with zeros. The
 * first run shows which words those are; it is repeated as long as they lead to more.
 */
function runFollowing(
  program: Program,
  kernel: string,
  paramBase: number,
  opts: OpenOptions,
): { run: OpenResult; used: UsedAs } {
  const fn = findKernel(program, kernel);
  const parameters = pointerOffsets(fn, paramBase);
  const floatParameters = floatOffsets(fn, paramBase);
  const toWords = new Set(program.functions.flatMap((f) => [...pointerLoads(f)]));
  const toFloats =
    (opts.seed & 1) === 1 ? new Set() : new Set(program.functions.flatMap((f) => [...floatLoads(f)]));
  const [words, floats] = [new Set<number>(), new Set<number>()];
  for (let round = 0; ; round++) {
    const used: UsedAs = { parameters, floatParameters, words: new Set(words), floats: new Set(floats) };
    const note = (ins: Instr, address: number): void => {
      if (toWords.has(ins))
        for (let k = 0; k < ins.dst.length; k++) words.add(address - (address % 8) + 8 * k);
      if (toFloats.has(ins) && !holdsFloats(pageOf(address), opts.seed)) floats.add(pageOf(address));
    };
    const followed = toWords.size + toFloats.size === 0 ? null : { note };
    const run = openWorld(program, kernel, used, paramBase, { ...opts, followed });
    if (words.size === used.words.size && floats.size === used.floats.size) return { run, used };
    if (round === ROUNDS) return { run, used };
  }
}

export interface OpenComparison {
  readonly same: boolean;
  /** Whether some run exhausted its budget; such runs were compared as far as they got. */
  readonly partial: boolean;
  /** Whether the kernel's own results depend on the order of its threads, so that it was compared with fewer of them or lane by lane. */
  readonly raced: boolean;
  /** Differences in words, at most ten. */
  readonly differences: readonly string[];
  /** What kind of difference the first one is, whatever the seed, the addresses and the values; '' if there is none. */
  readonly kind: string;
  readonly seeds: readonly number[];
  readonly executed: number;
}

interface Difference {
  readonly kind: string;
  readonly text: string;
}

export interface OpenCheckOptions {
  readonly seeds?: readonly number[];
  readonly budget?: number;
  readonly block?: readonly [number, number, number];
  readonly grid?: readonly [number, number, number];
  /** Threads that a multiprocessor holds: `limits.threads-per-sm` of the back end. */
  readonly threadsPerSm?: number;
}

/** Threads that any multiprocessor can hold: sm_75 has the fewest (`pipelines/backends/turing.yaml`). */
const FEWEST_THREADS = 1024;

/** A block of this shape, shrunk to at most this many threads. */
function shrunk([x, y, z]: OpenOptions['block'], threads: number): [number, number, number] {
  const across = Math.min(x, threads);
  const down = Math.min(y, Math.floor(threads / across));
  return [across, down, Math.min(z, Math.floor(threads / (across * down)))];
}

/**
 * Block size of a check: what the kernel requires, or else up to 64 threads in a shape that it allows. The product of
 * .maxntid bounds a block, and .minnctapersm blocks must fit a multiprocessor together (PTX ISA 9.0, 11.4).
 */
export function blockOf(fn: Fn, threadsPerSm: number): [number, number, number] {
  const required = dimensions(fn, '.reqntid');
  if (required !== null) return required;
  const together = Math.max(1, dimensions(fn, '.minnctapersm')?.[0] ?? 1);
  const most = Math.min(64, Math.max(1, Math.floor(threadsPerSm / together)));
  return shrunk(dimensions(fn, '.maxntid') ?? [64, 1, 1], most);
}

/**
 * Compares a kernel before and after optimization in open worlds: the same memory written and the same end of every
 * warp, for every seed. Runs that exhaust the budget or fault are compared by what each thread stored to each
 * address, as far as both got; stores may be left out where others overwrite them. If they differ and the original kernel
 * also differs from itself when its threads take other turns, the threads race; then a single warp decides, or a single
 * thread if the lanes of that warp race too. Lanes that race although they run in step are compared one after the other.
 * Where the result has uniform registers, one warp must also give the same if its lanes take turns at random.
 *
 * @param paramBase offset of parameters in constant bank 0
 */
export function sameOpenWorld(
  before: Program,
  after: Program,
  kernel: string,
  paramBase: number,
  opts: OpenCheckOptions = {},
): OpenComparison {
  const fn = findKernel(before, kernel);
  const seeds = opts.seeds ?? [1, 2];
  const differences: Difference[] = [];
  let partial = false;
  let raced = false;
  let executed = 0;
  for (const seed of seeds) {
    const o: OpenOptions = {
      seed,
      grid: opts.grid ?? [2, 1, 1],
      block: opts.block ?? blockOf(fn, opts.threadsPerSm ?? FEWEST_THREADS),
      budget: opts.budget ?? 300_000,
    };
    const { run: first, used } = runFollowing(before, kernel, paramBase, o);
    const run = (program: Program, o: OpenOptions): OpenResult => {
      const r = openWorld(program, kernel, used, paramBase, o);
      executed += r.executed;
      return r;
    };
    executed += first.executed;
    /** Lanes one after the other; each needs what a warp needs together. */
    const inTurn: Partial<OpenOptions>[] = asksForLanes(before)
      ? []
      : APART.map((turns) => ({ turns, budget: 32 * o.budget }));
    /** What fixed turns cannot show: differences of one warp under a schedule, if the original has none under any of several. */
    const late = (one: OpenOptions, run: (p: Program, o: OpenOptions) => OpenResult): Difference[] => {
      const a = run(before, one);
      if (a.status !== 'done') return [];
      const found = compare(a, run(after, { ...one, turns: { schedule: seed } }), o.budget);
      if (found.length === 0) return [];
      const others = [...SCHEDULES.map((schedule) => ({ turns: { schedule } })), ...inTurn];
      return others.some((how) => compare(a, run(before, { ...one, ...how }), o.budget).length > 0)
        ? []
        : found;
    };
    const fewer: OpenOptions[] = [32, 1].map((n) => ({ ...o, grid: [1, 1, 1], block: shrunk(o.block, n) }));
    for (let tried = o, a = first; ; tried = fewer.shift()!, a = run(before, tried)) {
      const b = run(after, tried);
      let found = compare(a, b, o.budget);
      let whole = a.status !== 'budget' && b.status !== 'budget';
      if (found.length > 0 && !whole) {
        // A store that another one overwrites may be gone: what memory holds at the end decides, if the end is near enough.
        const longer = { ...tried, budget: tried.budget * FURTHER };
        const [x, y] = [run(before, longer), run(after, longer)];
        whole = x.status !== 'budget' && y.status !== 'budget';
        if (whole) found = compare(x, y, longer.budget);
        else if (x.status === 'budget' && storeLess(b.logs, x.logs)) found = [];
      }
      partial ||= !whole;
      const races = (how: Partial<OpenOptions>): boolean => {
        const other = run(before, { ...tried, ...how });
        // Whoever waits for what never gets its turn does not race.
        if (other.status !== a.status && other.status === 'budget') return false;
        // Where the ends are out of sight, each store of a thread tells: one program stores the same under any turns.
        return (!whole && !storeAlike(a.logs, other.logs)) || compare(a, other, o.budget).length > 0;
      };
      if (found.length > 0 && fewer.length > 0 && OTHER_TURNS.some((turns) => races({ turns }))) {
        raced = true;
        continue;
      }
      if (found.length > 0 && inTurn.some(races)) {
        // Lanes that race in step: one after the other, each runs as if alone.
        raced = true;
        const alone = { ...tried, ...inTurn[0] };
        const [x, y] = [run(before, alone), run(after, alone)];
        found = compare(x, y, alone.budget);
        if (found.length === 0 && x.status === 'done') found = lastStores(x.logs, y.logs);
      }
      const keep = ({ kind, text }: Difference, where: string): void => {
        if (differences.length < 10) differences.push({ kind, text: `${where}: ${text}` });
      };
      for (const d of found) keep(d, `seed ${seed}`);
      if (found.length === 0 && a.status === 'done' && hasUniformRegisters(after))
        for (const d of late({ ...o, grid: [1, 1, 1], block: shrunk(o.block, 32) }, run))
          keep(d, `seed ${seed}, turns at random`);
      break;
    }
  }
  return {
    same: differences.length === 0,
    partial,
    raced,
    differences: differences.map((d) => d.text),
    kind: differences[0]?.kind ?? '',
    seeds,
    executed,
  };
}

/**
 * Turns that produce other orders: of the warps, and of the diverged lanes of a warp. An optimizer may make a warp so short that it
 * ends in its first turn; the next one then reads everything that it wrote, as if each ran to its end before the next begins.
 */
const OTHER_TURNS: readonly Turns[] = [
  { slice: 250 },
  { slice: Number.POSITIVE_INFINITY },
  { pathSlice: 250 },
  { slice: 250, pathSlice: 17 },
];
/** Turns of lanes that run one after the other: of two that race, another one is first in one of these orders. */
const APART: readonly Turns[] = [{ apart: 'first' }, { apart: 'last' }];
/** Does a kernel ask which lanes are with it? One after the other they get another answer, which is no race. */
const asksForLanes = (p: Program): boolean =>
  p.functions.some((f) => f.blocks.some((b) => b.ins.some((x) => x.op.primitive === 'activemask')));

/** Has a warp any register once? */
const hasUniformRegisters = (p: Program): boolean =>
  p.functions.some((f) => f.blocks.some((b) => b.ins.some((x) => x.dst.some(isUniformFile))));

const isUniformFile = (r: Reg): boolean =>
  r !== NO_REG && (regFile(r) === RegFile.UR || regFile(r) === RegFile.URD || regFile(r) === RegFile.UP);

/** Schedules under which an original without races among its lanes gives the same. */
const SCHEDULES: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8];

/** How many times the budget runs get that were cut off where they seemed to differ. */
const FURTHER = 16;

/** Slowdown factor beyond which an optimized program counts as not terminating. A speed-up may be arbitrarily large. */
const SLOWER = 8;

/** The differences between two runs with the same budget. */
function compare(a: OpenResult, b: OpenResult, budget: number): Difference[] {
  const found: Difference[] = [];
  const say = (kind: string, text: string) => void found.push({ kind, text });
  const unfinished = a.status === 'budget' || b.status === 'budget';
  if (a.status === 'done' && b.status === 'budget' && budget > SLOWER * a.executed)
    return [
      {
        kind: 'does not end',
        text: `ends before, in ${a.executed} warp instructions, and not in ${b.executed} after`,
      },
    ];
  if (!unfinished) {
    if (a.status !== b.status || a.fault?.kind !== b.fault?.kind || a.fault?.subject !== b.fault?.subject) {
      const end = (r: OpenResult) =>
        `${r.status}${r.fault === null ? '' : ` (${r.fault.message.split('\n')[0]})`}`;
      const kind = (r: OpenResult) => `${r.status}${r.fault === null ? '' : ` (${r.fault.kind})`}`;
      return [{ kind: `before: ${kind(a)}; after: ${kind(b)}`, text: `before: ${end(a)}; after: ${end(b)}` }];
    }
    compareEnds(a, b, (text) => say('threads end otherwise', text));
  }
  const memory = (text: string) => say('memory differs', text);
  // A warp's work before a fault may be reordered; a trap keeps its place.
  if (unfinished || [...a.ended.values()].some((kind) => kind !== 'trap'))
    compareLogs(a.logs, b.logs, memory);
  else compareWritten(a.memory, b.memory, memory);
  return found;
}

function compareEnds(a: OpenResult, b: OpenResult, say: (s: string) => void): void {
  for (const w of new Set([...a.ended.keys(), ...b.ended.keys()])) {
    const [x, y] = [a.ended.get(w), b.ended.get(w)];
    if (x !== y) say(`block, warp and lane ${w} end by ${x ?? 'exit'} before and by ${y ?? 'exit'} after`);
  }
}

/** Compares what each thread stored to each address, in order, as far as both runs got. */
function compareLogs(
  a: readonly (readonly number[])[],
  b: readonly (readonly number[])[],
  say: (s: string) => void,
): void {
  for (let t = 0; t < Math.min(a.length, b.length); t++) {
    const [p, q] = [byAddress(a[t]), byAddress(b[t])];
    for (const [address, values] of p) {
      const others = q.get(address) ?? [];
      for (let i = 0; i < Math.min(values.length, others.length); i++)
        if (values[i] !== others[i]) {
          say(`store ${i} of thread ${t} to 0x${address.toString(16)} differs`);
          return;
        }
    }
    // If a long-running thread stores only to addresses that the other run never wrote, that is a difference too.
    if (p.size > 0 && q.size > 0 && ![...p.keys()].some((x) => q.has(x))) {
      say(`thread ${t} stores to other addresses`);
      return;
    }
  }
}

/**
 * The first thread, if any, whose last store to some address differs: one after the other, threads hide each other's stores, but what
 * each of them leaves no optimizer takes away. Threads that store to other addresses, such as wider words, are left out.
 */
function lastStores(a: OpenResult['logs'], b: OpenResult['logs']): Difference[] {
  for (let t = 0; t < a.length; t++) {
    const [p, q] = [byAddress(a[t]), byAddress(b[t])];
    if (p.size !== q.size || Math.max(a[t].length, b[t].length) >= LOG) continue;
    for (const [address, values] of p) {
      const others = q.get(address);
      if (others !== undefined && others[others.length - 1] !== values[values.length - 1])
        return [
          {
            kind: 'memory differs',
            text: `the last store of thread ${t} to 0x${address.toString(16)} differs`,
          },
        ];
    }
  }
  return [];
}

/** Does each thread store the same values to the same addresses in the same order, as far as both runs got? */
const storeAlike = (a: OpenResult['logs'], b: OpenResult['logs']): boolean =>
  a.every((log, t) => log.every((x, i) => i >= b[t].length || x === b[t][i]));

/** Stores of a thread to one address that may be missing: a loop that takes other steps leaves out more. */
const MOST_MISSING = 4;

/**
 * Does each thread store to each address what it stores in a longer run, but for a few values? An optimizer leaves out stores that
 * others overwrite.
 */
const storeLess = (some: OpenResult['logs'], all: OpenResult['logs']): boolean =>
  some.every((log, t) => {
    const theirs = byAddress(all[t]);
    return [...byAddress(log)].every(([address, values]) => {
      let at = 0;
      const last = (theirs.get(address) ?? []).findIndex((v) => v === values[at] && ++at === values.length);
      return last >= 0 && last + 1 - values.length <= MOST_MISSING;
    });
  });

function byAddress(log: readonly number[]): Map<number, number[]> {
  const out = new Map<number, number[]>();
  for (let i = 0; i < log.length; i += 2) {
    const values = out.get(log[i]);
    if (values === undefined) out.set(log[i], [log[i + 1]]);
    else values.push(log[i + 1]);
  }
  return out;
}

function compareWritten(a: OpenMemory, b: OpenMemory, say: (s: string) => void): void {
  for (const key of new Set([...a.pieces.keys(), ...b.pieces.keys()])) {
    const p = a.pieces.get(key);
    const q = b.pieces.get(key);
    const stored = (p?.stored ?? 0) | (q?.stored ?? 0);
    for (let line = 0; line < PIECE / LINE; line++) {
      if ((stored & (1 << line)) === 0) continue;
      for (let i = line * LINE; i < (line + 1) * LINE; i++) {
        const wp = p?.written[p.from + i] ?? 0;
        const wq = q?.written[q.from + i] ?? 0;
        if (wp === 0 && wq === 0) continue;
        if (wp === wq && p!.bytes[p!.from + i] === q!.bytes[q!.from + i]) continue;
        const byte = `byte 0x${(key * PIECE + i).toString(16)}`;
        if (wp === wq) say(`${byte} is ${p!.bytes[p!.from + i]} before and ${q!.bytes[q!.from + i]} after`);
        else say(`${byte} is written only ${wp === 1 ? 'before' : 'after'}`);
        return;
      }
    }
  }
}
