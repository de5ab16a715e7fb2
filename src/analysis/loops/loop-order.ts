import { Kind, NO_REG, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { dominates } from '../flow/dominators.ts';
import { type Accesses, Does, rowsOf } from '../memory/address.ts';
import { Alias, alias } from '../memory/alias.ts';
import { MUTABLE } from '../memory/memory-ops.ts';
import { addScaled, constantForm, constantOf } from '../values/form-arithmetic.ts';
import type { Evolution } from './scalar-evolution.ts';
import type { TripCounts } from './trip-count.ts';

/** Two loops with equal trip counts, one after the other, by id. */
export interface TwoLoops {
  readonly first: number;
  readonly second: number;
}

/**
 * May an access `n` of the first loop touch, in some iteration, what an access `m` of the second one touches in an earlier iteration,
 * where one of them writes? Then the whole first loop has to run before the second one: if the iterations of both alternated, `n` would
 * come too late. (Equal iterations, and earlier ones of `n`, keep their order.)
 *
 * Addresses that advance by the same constant in both loops differ by d + k * step, where k = 1, 2, ... is the number of iterations by
 * which `n` is later. The difference is compared with the sizes of both accesses, for all k that can occur.
 */
export function comesTooLate(
  a: Accesses,
  counts: TripCounts,
  loops: TwoLoops,
  n: number,
  m: number,
): boolean {
  const p = rowsOf(a, n);
  const q = rowsOf(a, m);
  for (let x = p.first; x < p.end; x++)
    for (let y = q.first; y < q.end; y++) {
      if (((a.does[x] | a.does[y]) & Does.Write) === 0 || (a.memory[x] & a.memory[y] & MUTABLE) === 0)
        continue;
      if (alias(a, x, y, true) !== Alias.No && !staysApart(a, counts, loops, x, y)) return true;
    }
  return false;
}

function staysApart(a: Accesses, counts: TripCounts, loops: TwoLoops, x: number, y: number): boolean {
  const p = addressOf(a, counts, loops.first, x);
  const q = addressOf(a, counts, loops.second, y);
  if (p === null || q === null || p.at.width !== q.at.width || p.symbol !== q.symbol) return false;
  const { width } = p.at;
  const apart = constantOf(addScaled(p.at.start, q.at.start, -1n));
  const steps = [p.at.step, q.at.step].map(constantOf);
  if (apart === null || steps[0] === null || steps[0] !== steps[1]) return false;
  let step = BigInt.asIntN(width, steps[0]);
  let d = BigInt.asIntN(width, apart);
  let [below, above] = [BigInt(a.bytes[x]), BigInt(a.bytes[y])];
  // They meet if -below < d + k * step < above. Moving down mirrors moving up.
  if (step < 0n) [d, step, below, above] = [-d, -step, above, below];
  if (step === 0n) return d <= -below || d >= above;
  const sure = isCertain(a, counts, loops.first, x) || isCertain(a, counts, loops.second, y);
  const last = lastIteration(counts.of(loops.first).most, step, width, sure);
  if (last === null || abs(d) + step * last + below + above >= 1n << BigInt(width)) return false;
  const from = floorDivide(-below - d, step) + 1n;
  const to = -floorDivide(d - above, step) - 1n;
  return larger(from, 1n) > smaller(to, last);
}

/**
 * An upper bound of the last iteration; null if there is none that keeps addresses from wrapping. An access that every iteration makes
 * bounds it: no memory covers a quarter of all addresses, so a loop that got that far would have faulted.
 */
function lastIteration(most: bigint | null, step: bigint, width: number, sure: boolean): bigint | null {
  const quarter = (1n << BigInt(width - 2)) / step;
  if (sure) return most === null || most > quarter ? quarter : most;
  return most !== null && most <= quarter ? most : null;
}

/** Does every iteration make the access? */
function isCertain(a: Accesses, counts: TripCounts, loop: number, row: number): boolean {
  const n = a.at[row];
  if (a.du.ins[n].guard !== NO_REG) return false;
  const { latches } = counts.evolutions.forest.loops[loop];
  return latches.every((l) => dominates(a.dominators, a.du.blockAt[n], l));
}

/** The address of a row and its evolution in a loop, without the value of its symbol; null if it is not known. */
function addressOf(
  a: Accesses,
  counts: TripCounts,
  loop: number,
  row: number,
): { at: Evolution; symbol: string } | null {
  const ins = a.du.ins[a.at[row]];
  const place = ins.op.accesses[row - a.firstRow[a.at[row]]];
  if (place === undefined || a.bytes[row] === 0) return null;
  const o = ins.src[place.src];
  if (o.kind !== Kind.Addr || o.mods !== 0) return null;
  const width = o.reg === NO_REG ? 64 : regWidth(o.reg);
  const offset = constantForm(BigInt(o.lo), width);
  const zero = constantForm(0n, width);
  const at =
    o.reg === NO_REG ? { width, start: zero, step: zero } : counts.evolutions.evolutionOf(loop, o.reg);
  // Offsets of opcodes of other spaces count from another start of memory.
  const symbol = `${spaceOf(ins)} ${o.sym}`;
  return at === null ? null : { at: { ...at, start: addScaled(at.start, offset, 1n) }, symbol };
}

const spaceOf = (x: Instr): string => x.op.space ?? '';

const abs = (x: bigint): bigint => (x < 0n ? -x : x);
const larger = (x: bigint, y: bigint): bigint => (x > y ? x : y);
const smaller = (x: bigint, y: bigint): bigint => (x < y ? x : y);
const floorDivide = (x: bigint, by: bigint): bigint => (x >= 0n ? x / by : -((-x + by - 1n) / by));
