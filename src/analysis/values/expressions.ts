import type { Draft, Ins } from '../../ir/draft/index.ts';
import { withModsOf } from '../../ir/edit.ts';
import { memo } from '../../ir/memo.ts';
import { chosen, type ModGroup, modOf, type Opcode, OpFlag, withMods } from '../../ir/opcode.ts';
import { isPredReg, isTrue, NO_REG, type Operand, regFile, sameOperand } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { mix } from '../structures/hash.ts';

const NONE: Ins = -1;

/**
 * Expressions of a draft in SSA, keyed by what they compute: opcode, modifiers, operands (`a < b` is `b > a`), guard, values under a false
 * guard, and a number for everything else (which memory a load sees). Scopes nest: closing one forgets what was added
 * since it was opened, so in a walk over the dominator tree the table holds what has certainly been computed.
 *
 * A custom hash table with chaining, so that a look-up allocates nothing.
 */
export class ExpressionTable {
  private readonly d: Draft;
  private buckets = new Int32Array(64).fill(NONE);
  /** By entry: the instruction, its hash, its number, and the entry below it in its bucket. */
  private readonly entries: Ins[] = [];
  private readonly hashes: number[] = [];
  private readonly states: number[] = [];
  private readonly below: number[] = [];
  private readonly scopes: number[] = [];

  constructor(d: Draft) {
    this.d = d;
  }

  open(): void {
    this.scopes.push(this.entries.length);
  }

  close(): void {
    const mark = this.scopes.pop()!;
    while (this.entries.length > mark) {
      this.entries.pop();
      this.states.pop();
      this.buckets[this.hashes.pop()! & (this.buckets.length - 1)] = this.below.pop()!;
    }
  }

  /**
   * The first instruction that computes the same; `n` itself if there is none yet, which is then the first.
   * @param state a number for everything that `n` depends on besides its operands
   */
  findOrAdd(n: Ins, state: number): Ins {
    const x = this.d.at(n);
    const h = hash(x, state);
    const first = this.search(x, state, h);
    return first === NONE ? this.put(n, state, h) : first;
  }

  /** The first instruction that computes the same as `x`, which is not added; -1 if there is none. */
  find(x: Instr, state: number): Ins {
    return this.search(x, state, hash(x, state));
  }

  /** Adds `n`, which is found from now on instead of earlier instructions that compute the same. */
  add(n: Ins, state: number): Ins {
    return this.put(n, state, hash(this.d.at(n), state));
  }

  private search(x: Instr, state: number, h: number): Ins {
    for (let e = this.buckets[h & (this.buckets.length - 1)]; e >= 0; e = this.below[e])
      if (this.hashes[e] === h && this.states[e] === state && computeTheSame(this.d.at(this.entries[e]), x))
        return this.entries[e];
    return NONE;
  }

  private put(n: Ins, state: number, h: number): Ins {
    if (this.entries.length >= this.buckets.length) this.grow();
    const bucket = h & (this.buckets.length - 1);
    this.below.push(this.buckets[bucket]);
    this.buckets[bucket] = this.entries.length;
    this.entries.push(n);
    this.hashes.push(h);
    this.states.push(state);
    return n;
  }

  private grow(): void {
    this.buckets = new Int32Array(this.buckets.length * 2).fill(NONE);
    for (let e = 0; e < this.entries.length; e++) {
      const bucket = this.hashes[e] & (this.buckets.length - 1);
      this.below[e] = this.buckets[bucket];
      this.buckets[bucket] = e;
    }
  }
}

const hashOperand = (o: Operand): number =>
  mix(mix(mix(o.kind * 8 + o.mods, o.reg), o.lo), o.hi ^ o.sym.length);

/** How many operands, from the first on, may be exchanged. */
const exchangeable = ({ op, src }: Instr): number =>
  (op.flags & OpFlag.Symmetric) !== 0 && src.length >= 3
    ? 3
    : (op.flags & OpFlag.Commutative) !== 0 && src.length >= 2
      ? 2
      : 0;

/** By comparison: the one that is equal to it with exchanged operands; those not listed stay the same. */
const EXCHANGED: Readonly<Record<string, string>> = {
  LT: 'GT',
  GT: 'LT',
  LE: 'GE',
  GE: 'LE',
  LTU: 'GTU',
  GTU: 'LTU',
  LEU: 'GEU',
  GEU: 'LEU',
};

/** By opcode: the modifier group of its comparison; null if it compares no two operands that may be exchanged. */
const comparisonOf = memo((op: Opcode): ModGroup | null =>
  // VSET2 and VSET4 have a type for each operand (`at`, `bt`).
  op.groupByName.has('at') ? null : (op.groupByName.get('cmp') ?? null),
);

/** The modifiers of a comparison with its operands exchanged. */
function exchangedMods(op: Opcode, mods: number, group: ModGroup): number {
  const now = EXCHANGED[chosen(group, mods).name];
  return now === undefined ? mods : withMods(op, mods, now);
}

/** By comparison: the one that is true wherever it is false, unordered floats included. */
const NEGATED: Readonly<Record<string, string>> = {
  EQ: 'NE',
  NE: 'EQ',
  LT: 'GE',
  GE: 'LT',
  LE: 'GT',
  GT: 'LE',
};
const NEGATED_FLOAT: Readonly<Record<string, string>> = {
  EQ: 'NEU',
  NEU: 'EQ',
  NE: 'EQU',
  EQU: 'NE',
  LT: 'GEU',
  GEU: 'LT',
  LE: 'GTU',
  GTU: 'LE',
  GT: 'LEU',
  LEU: 'GT',
  GE: 'LTU',
  LTU: 'GE',
  NUM: 'NAN',
  NAN: 'NUM',
};

/**
 * The comparison that gives the opposite result in every case: for floats, the unordered complement. Null for anything but a plain
 * comparison into one predicate, without another predicate combined into it.
 */
export function negatedComparison(x: Instr): Instr | null {
  const group = comparisonOf(x.op);
  if (group === null || !isPredReg(x.dst[0]) || x.dst.slice(1).some((r) => r !== NO_REG)) return null;
  if (!x.op.groupByName.has('bool') || modOf(x.op, x.mods, 'bool') !== 'AND') return null;
  if (x.src.length > 2 && !isTrue(x.src[2])) return null;
  const floats = group.values.some((v) => v.name === 'NUM');
  const now = (floats ? NEGATED_FLOAT : NEGATED)[chosen(group, x.mods).name];
  return now === undefined ? null : withModsOf(x, withMods(x.op, x.mods, now));
}

/** Equal for instructions that compute the same. */
export const hashExpression = (x: Instr): number => hash(x, 0);

function hash(x: Instr, state: number): number {
  const { src } = x;
  const comparison = comparisonOf(x.op);
  const mods = comparison === null ? x.mods : Math.min(x.mods, exchangedMods(x.op, x.mods, comparison));
  let h = mix(mix(mix(x.op.id, mods), x.guardNot ? ~x.guard : x.guard), state);
  let k = comparison === null ? exchangeable(x) : 2;
  let sum = 0;
  for (let i = 0; i < k; i++) sum += hashOperand(src[i]);
  if (k > 0) h = mix(h, sum);
  for (; k < src.length; k++) h = mix(h, hashOperand(src[k]));
  for (let i = 0; i < x.otherwise.length; i++) h = mix(h, x.otherwise[i]);
  return h;
}

/**
 * Do two instructions apply the same operation to the same operands, with results in the same register files? In SSA
 * their results are then equal.
 */
export function computeTheSame(a: Instr, b: Instr): boolean {
  if (a.op !== b.op || a.guard !== b.guard || a.guardNot !== b.guardNot) return false;
  if (a.src.length !== b.src.length || a.otherwise.length !== b.otherwise.length) return false;
  for (let i = 0; i < a.otherwise.length; i++) if (a.otherwise[i] !== b.otherwise[i]) return false;
  if (a.dst.length !== b.dst.length) return false;
  for (let i = 0; i < a.dst.length; i++)
    if (a.dst[i] !== NO_REG && b.dst[i] !== NO_REG && regFile(a.dst[i]) !== regFile(b.dst[i])) return false;
  const comparison = comparisonOf(a.op);
  let k = comparison === null ? exchangeable(a) : 2;
  if (comparison !== null) {
    if (!compareTheSame(a, b, comparison)) return false;
  } else if (a.mods !== b.mods || (k > 0 && !sameInAnyOrder(a.src, b.src, k))) return false;
  for (; k < a.src.length; k++) if (!sameOperand(a.src[k], b.src[k])) return false;
  return true;
}

/** Do two comparisons compare the same two operands in the same way, or in exchanged order? */
const compareTheSame = ({ op, mods, src: [p, q] }: Instr, b: Instr, comparison: ModGroup): boolean =>
  (mods === b.mods && sameOperand(p, b.src[0]) && sameOperand(q, b.src[1])) ||
  (exchangedMods(op, mods, comparison) === b.mods && sameOperand(p, b.src[1]) && sameOperand(q, b.src[0]));

/** Are the first `count` operands the same in any order? */
function sameInAnyOrder(a: readonly Operand[], b: readonly Operand[], count: number): boolean {
  let taken = 0;
  for (let i = 0; i < count; i++) {
    let k = 0;
    while (k < count && ((taken & (1 << k)) !== 0 || !sameOperand(a[i], b[k]))) k++;
    if (k === count) return false;
    taken |= 1 << k;
  }
  return true;
}
