import type { Condition } from '../values/condition.ts';
import { addScaled, constantOf } from '../values/form-arithmetic.ts';
import type { LinearForm } from '../values/linear.ts';
import { firstInRange } from '../values/modular.ts';
import type { Evolution, Evolutions } from './scalar-evolution.ts';

/**
 * A trip count that is not a number. The loop continues while `value relation bound`, where the value is start + k *
 * step in iteration k. Read as integers (signed or unsigned), the count is
 *
 *     <   max(0, ceil((bound - start) / step))          >   max(0, ceil((start - bound) / -step))
 *     <=  max(0, floor((bound - start) / step) + 1)     >=  max(0, floor((start - bound) / -step) + 1)
 *     !=  ((bound - start) / step) mod 2^width, step is 1 or -1
 */
export interface SymbolicCount {
  readonly relation: '<' | '<=' | '>' | '>=' | '!=';
  readonly signed: boolean;
  readonly start: LinearForm;
  /** Moves towards the bound: positive for `<` and `<=`, negative for `>` and `>=`. Assumed if it is not a constant. */
  readonly step: LinearForm;
  readonly bound: LinearForm;
  /** Whether the formula holds for all values; if not, it holds only if the value does not wrap before the bound. */
  readonly always: boolean;
}

/** When something first becomes true, in iterations of the loop counted from 0. */
export interface When {
  /** The iteration, 'never', or null if unknown. */
  readonly at: bigint | 'never' | null;
  /** No later than this iteration; null if unknown or never. */
  readonly most: bigint | null;
  readonly symbolic: SymbolicCount | null;
}

/** No statement about the iteration. */
export const NOTHING_KNOWN: When = { at: null, most: null, symbolic: null };
const NEVER: When = { at: 'never', most: null, symbolic: null };
const inRun = (k: bigint): When => ({ at: k, most: k, symbolic: null });

/** The first iteration of a loop in which a condition holds, given that every iteration evaluates it. */
export function exitIteration(evolutions: Evolutions, loop: number, c: Condition, wanted = true): When {
  switch (c.kind) {
    case 'known':
      return c.value === wanted ? inRun(0n) : NEVER;
    case 'predicate':
      return NOTHING_KNOWN;
    case 'not':
      return exitIteration(evolutions, loop, c.of, !wanted);
    case 'and':
    case 'or': {
      const a = exitIteration(evolutions, loop, c.a, wanted);
      const b = exitIteration(evolutions, loop, c.b, wanted);
      return (c.kind === 'or') === wanted ? earlier(a, b) : together(a, b);
    }
    case 'compare': {
      const a = evolutions.evolutionOfForm(loop, c.a);
      const b = a === null ? null : evolutions.evolutionOfForm(loop, c.b);
      return a === null || b === null ? NOTHING_KNOWN : firstCompare(c.test, a, b, wanted);
    }
  }
}

/** When either becomes true. */
function earlier(a: When, b: When): When {
  if (a.at === 'never') return b;
  if (b.at === 'never') return a;
  const most = a.most === null ? b.most : b.most === null || a.most < b.most ? a.most : b.most;
  return { at: (a.at !== null && b.at !== null) || most === 0n ? most : null, most, symbolic: null };
}

/** When both are true: known if one never is, or if both first times are the same. */
function together(a: When, b: When): When {
  if (a.at === 'never' || b.at === 'never') return NEVER;
  return a.at !== null && a.at === b.at ? a : NOTHING_KNOWN;
}

type Test = 'eq' | 'ult' | 'slt';

function firstCompare(test: Test, a: Evolution, b: Evolution, wanted: boolean): When {
  return exactly(test, a, b, wanted) ?? bounded(test, a, b, wanted);
}

/** The iteration by exact arithmetic modulo 2^width, with wrap-around; null if something is not constant. */
function exactly(test: Test, a: Evolution, b: Evolution, wanted: boolean): When | null {
  const { width } = a;
  const top = (1n << BigInt(width)) - 1n;
  const enters = (start: bigint, step: bigint, low: bigint, high: bigint): When => {
    if (low > high) return NEVER;
    const k = firstInRange(start, step, width, low, high);
    return k === null ? NEVER : inRun(k);
  };
  if (test === 'eq') {
    const start = constantOf(addScaled(a.start, b.start, -1n));
    const step = constantOf(addScaled(a.step, b.step, -1n));
    if (start === null || step === null) return null;
    return wanted ? enters(start, step, 0n, 0n) : enters(start, step, 1n, top);
  }
  const [sa, da, sb, db] = [a.start, a.step, b.start, b.step].map(constantOf);
  // Signed order is unsigned order after adding half the range.
  const shift = test === 'slt' ? 1n << BigInt(width - 1) : 0n;
  const moved = (x: bigint): bigint => BigInt.asUintN(width, x + shift);
  if (sb !== null && db === 0n && sa !== null && da !== null) {
    const bound = moved(sb);
    return wanted ? enters(moved(sa), da, 0n, bound - 1n) : enters(moved(sa), da, bound, top);
  }
  if (sa !== null && da === 0n && sb !== null && db !== null) {
    const bound = moved(sa);
    return wanted ? enters(moved(sb), db, bound + 1n, top) : enters(moved(sb), db, 0n, bound);
  }
  return null;
}

/** Bounds and formula if start, step or bound is not constant, but one side moves and the other does not. */
function bounded(test: Test, a: Evolution, b: Evolution, wanted: boolean): When {
  const still = (e: Evolution): boolean => constantOf(e.step) === 0n;
  if (still(a) === still(b)) return NOTHING_KNOWN;
  const [v, bound] = still(b) ? [a, b.start] : [b, a.start];
  if (test === 'eq') return wanted ? until(v, bound) : whileEqual(v);
  const signed = test === 'slt';
  // The loop continues while the comparison is not as wanted.
  const relation = v === a ? (wanted ? '>=' : '<') : wanted ? '<=' : '>';
  const step = constantOf(v.step);
  if (step === null)
    return {
      at: null,
      most: null,
      symbolic: { relation, signed, start: v.start, step: v.step, bound, always: false },
    };
  return ordered(v, BigInt.asIntN(v.width, step), relation, bound, signed);
}

/** Continues while unequal: an odd step reaches every number, and a step of one reaches them in order. */
function until(v: Evolution, bound: LinearForm): When {
  const step = constantOf(v.step);
  if (step === null || step % 2n === 0n) return NOTHING_KNOWN;
  const one = step === 1n || BigInt.asIntN(v.width, step) === -1n;
  return {
    at: null,
    most: (1n << BigInt(v.width)) - 1n,
    symbolic: one
      ? { relation: '!=', signed: false, start: v.start, step: v.step, bound, always: true }
      : null,
  };
}

/** Continues while equal: after one step it is not. */
const whileEqual = (v: Evolution): When => {
  const step = constantOf(v.step);
  return step === null || step === 0n ? NOTHING_KNOWN : { at: null, most: 1n, symbolic: null };
};

function ordered(
  v: Evolution,
  step: bigint,
  relation: '<' | '<=' | '>' | '>=',
  bound: LinearForm,
  signed: boolean,
): When {
  const { width } = v;
  const up = relation === '<' || relation === '<=';
  if (step > 0n !== up) return NOTHING_KNOWN;
  const least = signed ? -(1n << BigInt(width - 1)) : 0n;
  const last = least + (1n << BigInt(width)) - 1n;
  const number = (f: LinearForm, otherwise: bigint): bigint => {
    const c = constantOf(f);
    return c === null ? otherwise : signed ? BigInt.asIntN(width, c) : c;
  };
  // Counting down mirrors counting up.
  const size = up ? step : -step;
  const from = up ? number(v.start, least) : -number(v.start, last);
  const strict = relation === '<' || relation === '>';
  const end = up ? number(bound, last) : -number(bound, least);
  const limit = up ? last : -least;
  // The largest value that continues; one step from it must stay in the range.
  const largest = strict ? end - 1n : end;
  const always = largest + size <= limit || (strict && size === 1n);
  const symbolic: SymbolicCount = { relation, signed, start: v.start, step: v.step, bound, always };
  if (!always) return { at: null, most: null, symbolic };
  const most = largest < from ? 0n : (largest - from) / size + 1n;
  return { at: most === 0n ? 0n : null, most, symbolic };
}
