import { xorshift32 } from '../ir/random.ts';
import type { CoreOp } from '../isa/lang/graph.ts';
import { prune } from '../rules/prove/goal.ts';
import { questionOf } from '../rules/prove/question.ts';
import { ask, type Solver } from '../rules/prove/solver.ts';
import { drawn, valuesOf } from './samples.ts';
import type { Values } from './values.ts';

/**
 * Inputs of a single-thread kernel launch for which two versions differ: words of the constant bank, and contents of memory. The target of
 * pointer parameter k, in order of their offsets, begins at `POINTERS + k * APART`.
 */
export interface Inputs {
  /** 32-bit words by byte offset in constant bank 0. */
  readonly constants: ReadonlyMap<number, number>;
  /** Offsets of the parameters that are used as pointers. */
  readonly pointers: readonly number[];
  readonly memory: readonly { readonly address: bigint; readonly bytes: number; readonly value: bigint }[];
}

/** Address of the first pointer's target, and the distance between targets. */
export const POINTERS = 0x7000_0000_0000n;
export const APART = 0x1_0000_0000n;
/** Number of bytes after a pointer that may be read: what fits a launch file comfortably. */
export const REACH = 0x10000n;

/** Special registers of the only thread of a launch. A region that reads others is not refuted. */
const ALONE: Readonly<Record<string, bigint>> = {
  ...Object.fromEntries(['TID', 'CTAID'].flatMap((r) => ['X', 'Y', 'Z'].map((d) => [`${r}.${d}`, 0n]))),
  ...Object.fromEntries(['NTID', 'NCTAID'].flatMap((r) => ['X', 'Y', 'Z'].map((d) => [`${r}.${d}`, 1n]))),
  LANEID: 0n,
};

/** Maximum number of inputs tried before the solver. */
const SAMPLES = 400;
/** Maximum number of nodes evaluated for all samples together: a large region gets fewer samples. */
const MOST_COMPUTED = 2_000_000;
/** Solver steps: twice those of an equality query, since a model is wanted here. */
const WORK = 4_000_000;

/**
 * Finds inputs of a single-thread launch for which two values differ where `given` holds; null if none are found.
 *
 * Only integer values are refuted: PTX lets products and sums be fused, and leaves NaN payloads open. Inputs that cause a division by zero
 * are excluded, since PTX leaves its result undefined (PTX ISA 9.0, div).
 *
 * @param addresses nodes of the addresses that the versions access, which show the parameters that are pointers
 * @param solver used if sampling finds nothing; null for none
 */
export async function refuted(
  values: Values,
  given: number,
  left: number,
  right: number,
  addresses: readonly number[],
  solver: Solver | null,
): Promise<Inputs | null> {
  const plan = setup(values, addresses);
  if (plan === null || !ofIntegers(values, [given, left, right])) return null;
  const { fixed, loads, pointers } = plan;
  const found =
    sampled(values, given, left, right, fixed) ??
    (solver === null ? null : await solved(values, given, left, right, plan, solver));
  if (found === null) return null;
  const at = valuesOf(values.table.nodes, found);
  const constants = new Map<number, number>();
  values.leaves.forEach(({ key }, k) => {
    const offset = /^c\[0\]\[(\d+)\]$/.exec(key)?.[1];
    if (offset !== undefined) constants.set(Number(offset), Number(found[k]));
  });
  const memory = loads.map(({ leaf, address, bytes }) => ({
    address: at[address],
    bytes,
    value: found[leaf],
  }));
  return { constants, pointers, memory };
}

interface Setup {
  /** Leaves with a single possible value, and that value. */
  readonly fixed: ReadonlyMap<number, bigint>;
  readonly loads: readonly { readonly leaf: number; readonly address: number; readonly bytes: number }[];
  readonly pointers: readonly number[];
}

/** Classifies the leaves of a region; null if a launch cannot choose one, such as the result of an atomic operation. */
function setup(values: Values, addresses: readonly number[]): Setup | null {
  const fixed = new Map<number, bigint>();
  const loads: { leaf: number; address: number; bytes: number }[] = [];
  const offsets = new Map<number, number>();
  for (const [k, { key }] of values.leaves.entries()) {
    const bank = /^c\[0\]\[(\d+)\]$/.exec(key);
    const load = /^load (\d+) (\d+) (\d+) $/.exec(key);
    const special = /^special (\S+)$/.exec(key);
    if (bank !== null) offsets.set(Number(bank[1]), k);
    else if (load !== null) loads.push({ leaf: k, address: Number(load[2]), bytes: Number(load[1]) });
    else if (special !== null && ALONE[special[1]] !== undefined) fixed.set(k, ALONE[special[1]]);
    else return null;
  }
  const pointers = [...offsets.keys()]
    .filter(
      (at) => offsets.has(at + 4) && isPointer(values, offsets.get(at)!, offsets.get(at + 4)!, addresses),
    )
    .sort((a, b) => a - b);
  pointers.forEach((at, k) => {
    const address = POINTERS + BigInt(k) * APART;
    fixed.set(offsets.get(at)!, BigInt.asUintN(32, address));
    fixed.set(offsets.get(at + 4)!, address >> 32n);
  });
  return { fixed, loads, pointers };
}

function sampled(
  values: Values,
  given: number,
  left: number,
  right: number,
  fixed: ReadonlyMap<number, bigint>,
): bigint[] | null {
  const draw = xorshift32(1);
  const divisors = divisorsOf(values);
  const most = Math.min(SAMPLES, MOST_COMPUTED / values.table.nodes.length);
  for (let i = 0; i < most; i++) {
    const inputs = values.leaves.map(({ width }, k) => fixed.get(k) ?? drawn(draw, width));
    const at = valuesOf(values.table.nodes, inputs);
    if (at[given] !== 1n || at[left] === at[right]) continue;
    if (divisors.every((d) => at[d] !== 0n)) return inputs;
  }
  return null;
}

async function solved(
  values: Values,
  given: number,
  left: number,
  right: number,
  { fixed, loads }: Setup,
  solver: Solver,
): Promise<bigint[] | null> {
  const assumed = [given];
  const eq = (x: number, y: number): number => values.node('eq', 1, [x, y]);
  for (const [k, value] of fixed) {
    const { node, width } = values.leaves[k];
    assumed.push(eq(node, values.constant(value, width)));
  }
  for (const d of divisorsOf(values))
    assumed.push(values.negation(eq(d, values.constant(0n, values.at(d).width))));
  // Loads from equal addresses give equal values.
  loads.forEach((a, i) => {
    for (const b of loads.slice(0, i)) {
      if (a.bytes !== b.bytes || values.at(a.address).width !== values.at(b.address).width) continue;
      const same = eq(values.leaves[a.leaf].node, values.leaves[b.leaf].node);
      assumed.push(values.either(values.negation(eq(a.address, b.address)), same));
    }
  });
  const inputs = values.leaves.map(({ key, width }) => ({
    name: key,
    width,
    v: -1,
    wildcard: -1,
    constant: false,
  }));
  const goal = prune(values.table.nodes, inputs, assumed, [{ v: 0, left, right }]);
  const answer = await ask(solver, questionOf(goal), WORK);
  if (answer.k !== 'sat') return null;
  const byName = new Map(goal.inputs.map((x, k) => [x.name, answer.model.get(`v${k}`) ?? 0n]));
  return values.leaves.map(({ key }, k) => fixed.get(k) ?? byName.get(key) ?? 0n);
}

function ofIntegers(values: Values, ends: readonly number[]): boolean {
  const seen = new Set(ends);
  for (const x of seen) {
    const { fmt, args } = values.at(x);
    if (fmt !== '') return false;
    for (const a of args) seen.add(a);
  }
  return true;
}

/** Divisors of all divisions in the region. */
const divisorsOf = (values: Values): readonly number[] => [
  ...new Set(values.table.nodes.filter((n) => DIVISIONS.has(n.op)).map((n) => n.args[1])),
];

const DIVISIONS: ReadonlySet<CoreOp> = new Set<CoreOp>(['udiv', 'sdiv', 'urem', 'srem']);

/** True if the pair of leaves, low and high word, is a term of one of these addresses. */
const isPointer = (values: Values, low: number, high: number, addresses: readonly number[]): boolean =>
  addresses.some((x) =>
    [...values.sumOf(x).terms.keys()].some((t) => {
      const { op, args } = values.at(t);
      return op === 'concat' && args[0] === values.leaves[high].node && args[1] === values.leaves[low].node;
    }),
  );
