import { memoPair } from '../../ir/memo.ts';
import { congruential } from '../../ir/random.ts';
import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';
import { constantsFor } from '../witness.ts';
import { numbersOf, specialValues } from './specials.ts';

/** Values at which integer operations, shifts and float operations of both widths change behaviour. */
const EDGES = [
  0n,
  1n,
  2n,
  3n,
  7n,
  10n,
  -1n,
  -2n,
  -3n,
  31n,
  32n,
  33n,
  63n,
  64n,
  0xffn,
  0x100n,
  0xffffn,
  0x7fffffffn,
  0x80000000n,
  0x80000001n,
  0xffffffffn,
  0x3f800000n,
  0xbf800000n,
  0x3f000000n,
  0x40000000n,
  0x7fc00000n,
  0xffc00000n,
  0x7f800000n,
  0xff800000n,
  0x00800000n,
  0x007fffffn,
  0x00000001n,
  0x7f7fffffn,
  0x7fffffffffffffffn,
  1n << 63n,
  0x3ff0000000000000n,
  0x3fe0000000000000n,
  0x7ff8000000000000n,
  0x7ff0000000000000n,
  0x0010000000000000n,
];

/** Pseudorandom values from a seed, the same in every run. */
export class Draw {
  private readonly word: () => number;
  constructor(seed: string) {
    let state = 0x9e3779b9;
    for (const c of seed) state = Math.imul(state ^ c.charCodeAt(0), 0x01000193) >>> 0;
    this.word = congruential(state);
  }

  /** 24 bits: the low ones of this generator are not random enough. */
  next(): number {
    return this.word() >>> 8;
  }

  /** A value of `width` bits, unsigned: often an edge case. Constants are mostly small or near powers of two. */
  value(width: number, constant: boolean): bigint {
    const pick = this.next() % (constant ? 7 : 4);
    // Conditions seldom hold for arbitrary constants.
    if (pick === 0) return BigInt.asUintN(width, EDGES[this.next() % EDGES.length]);
    if (pick === 1)
      return BigInt.asUintN(width, (1n << BigInt(this.next() % width)) - BigInt(this.next() % 2));
    // Floats with few bits in their significands.
    if (pick === 6)
      return BigInt.asUintN(width, BigInt(this.next() & 0xffff) << BigInt(Math.max(width - 16, 0)));
    if (pick >= 4) return BigInt.asUintN(width, BigInt(this.next() % (pick === 4 ? 64 : 256)));
    return BigInt.asUintN(
      width,
      (BigInt(this.next()) << 44n) ^ (BigInt(this.next()) << 20n) ^ BigInt(this.next()),
    );
  }

  /** Values of all variables of an instance, by variable. */
  values(rule: Rule, instance: Instance): bigint[] {
    const near = nearOf(rule, instance);
    // A rule with two constants may be wrong only if both are at an edge; a rule may be wrong for a register only
    // near a number in the rule.
    const atEdges = near.length > 0 && this.next() % 4 === 0;
    return rule.vars.map((v, i) => {
      const width = instance.widths[i] || 32;
      return atEdges && (v.kind === 'const' || this.next() % 2 === 0)
        ? BigInt.asUintN(width, near[this.next() % near.length])
        : this.value(width, v.kind === 'const');
    });
  }
}

/** The numbers in a rule, and their neighbours, where off-by-one errors show. */
const nearOf = memoPair((rule: Rule, instance: Instance): readonly bigint[] => [
  ...new Set(numbersOf(rule, instance).flatMap((v) => [v - 1n, v, v + 1n])),
]);

/** Draws allowed per sample that is wanted, since conditions on constants seldom hold. */
const TRIES = 40;
/** Number of known solutions of the condition that samples draw from. */
const KNOWN = 24;

/**
 * Tests a rule by exact evaluation of both sides: on random values, then on pairs of special values.
 * @param wanted number of random samples that satisfy the condition
 * @param pairs maximum number of pairs of special values
 * @param start offset into the pairs, so that the instances of a rule together try all of them
 * @returns the number of samples to which the rule applied, and the first one whose sides differ
 */
export function tryOut(
  rule: Rule,
  instance: Instance,
  wanted: number,
  pairs = wanted,
  start = 0,
): { applied: number; differs: Sample | null } {
  const draw = new Draw(`${rule.id} ${instance.match.join()}`);
  let applied = 0;
  const differs = (values: readonly bigint[]): Sample | null => {
    const s = sample(rule, instance, values);
    if (!s.applies) return null;
    applied++;
    return s.results.some((r) => r.left !== r.right) ? s : null;
  };
  for (let n = 0, drawn = 0; n < wanted * TRIES && drawn < wanted; n++) {
    const given = draw.values(rule, instance);
    // Every second sample takes its constants from known solutions of the condition.
    const known = n % 2 === 0 ? constantsFor(rule, instance, (n >> 1) % KNOWN) : null;
    const before = applied;
    const found = differs(
      given.map((v, i) => (known !== null && rule.vars[i].kind === 'const' ? known[i] : v)),
    );
    if (found !== null) return { applied, differs: found };
    drawn += applied - before;
  }
  for (const values of specialValues(rule, instance, draw, pairs, start)) {
    const found = differs(values);
    if (found !== null) return { applied, differs: found };
  }
  return { applied, differs: null };
}
