import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { currentReview, reviewFaults, reviewsOf } from '../../src/review/rule-reviews.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { floatSpecials, integerSpecials } from '../../src/rules/prove/specials.ts';
import { needsReview, type Verdicts } from '../../src/rules/prove/verdict.ts';
import type { Rule } from '../../src/rules/rule.ts';
import { sample } from '../../src/rules/sample.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { testIsa } from '../support/isa.ts';
import { shipped } from '../support/specs.ts';

const at = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
const verdicts = JSON.parse(at('pipelines/rules/verdicts.json')) as Verdicts;
const rules = [...shipped.rules!.values()].flatMap((f) => rulesOfDoc(f.data, testIsa(), 'texts').rules);
const whole = (id: string): Rule => {
  const groups = [...shipped.rules!.values()];
  const doc = groups.find((f) => (f.data.rules as { id: string }[]).some((r) => r.id === id))!;
  return rulesOfDoc(doc.data, testIsa(), 'all').rules.find((r) => r.id === id)!;
};
const reviews = reviewsOf(shipped.reviews!.data);

describe('reviews', () => {
  it('stand for every rule without a full proof, as it is now', () => {
    const open = rules.filter((r) => needsReview(verdicts[r.id]));
    expect(open.length).toBeGreaterThan(0);
    expect(open.filter((r) => currentReview(reviews, r) === null).map((r) => r.id)).toEqual([]);
  });
  it('are of no other rule', () => {
    expect(reviewFaults(shipped.reviews!, rules, verdicts)).toEqual([]);
  });

  const file = (more: object): SpecFile => {
    const [first] = reviews.values();
    const all = [{ ...first, ...more }];
    return { file: 'mine.yaml', text: '', kind: 'reviews', data: { kind: 'reviews', reviews: all } };
  };
  const first = [...reviews.values()][0];
  it.each([
    [{}, []],
    [{ hash: '0123456789abcdef' }, ['review-stale hash']],
    [{ rule: `${first.rule}x` }, ['review-unknown rule']],
    [
      { rule: 'add-of-nothing', hash: rules.find((r) => r.id === 'add-of-nothing')!.hash },
      ['review-idle rule'],
    ],
  ])('with %o is reported', (more, codes) => {
    const found = reviewFaults(file(more), rules, verdicts);
    expect(found.map((i) => `${i.code} ${i.path.at(-1)}`)).toEqual(codes);
  });
  it('of one rule twice is reported', () => {
    const twice = { ...file({}), data: { kind: 'reviews', reviews: [first, first] } };
    expect(reviewFaults(twice, rules, verdicts).map((i) => [i.code, i.path])).toEqual([
      ['review-twice', ['reviews', 1, 'rule']],
    ]);
  });
  it('of another text are none', () => {
    expect(currentReview(reviews, { id: first.rule, hash: 'other' })).toBeNull();
  });
});

// ------------------------------------------------------------------ what the arguments rest on, at small widths

/** A real number as a fraction, `exact` false if it is a little larger than that. */
interface Real {
  readonly num: bigint;
  readonly den: bigint;
  readonly exact: boolean;
}
const real = (num: bigint, den = 1n, exact = true): Real => ({ num, den, exact });

/** The nearest number with `p` bits of significand, ties to even, that is a multiple of 2^least. */
function rounded({ num, den, exact }: Real, p: number, least: number): Real {
  if (num === 0n) return real(0n);
  const sign = num < 0n ? -1n : 1n;
  const size = num * sign;
  let e = size.toString(2).length - den.toString(2).length;
  const below = (k: number): boolean => (k >= 0 ? size < den << BigInt(k) : size << BigInt(-k) < den);
  if (below(e)) e--;
  const last = Math.max(e - p + 1, least);
  const [n, d] = last >= 0 ? [size, den << BigInt(last)] : [size << BigInt(-last), den];
  const q = n / d;
  const rest = 2n * (n % d);
  const up = rest > d || (rest === d && (!exact || (q & 1n) === 1n));
  const units = (q + (up ? 1n : 0n)) * sign;
  return last >= 0 ? real(units << BigInt(last)) : real(units, 1n << BigInt(-last));
}
const equal = (a: Real, b: Real): boolean => a.num * b.den === b.num * a.den;

/** Positive numbers with `p` bits of significand from 2^-6 to 2^6, and the subnormal ones below. */
function numbers(p: number): Real[] {
  const out: Real[] = [];
  for (let f = 1n; f < 1n << BigInt(p - 1); f++) out.push(real(f, 1n << BigInt(p + 5)));
  for (let e = -6; e <= 6; e++)
    for (let f = 1n << BigInt(p - 1); f < 1n << BigInt(p); f++)
      out.push(e - p + 1 >= 0 ? real(f << BigInt(e - p + 1)) : real(f, 1n << BigInt(p - 1 - e)));
  return out;
}

/** A root to 60 bits behind the point, and whether there is more. */
function root(x: Real): Real {
  const scaled = (x.num << 120n) / x.den;
  let r = 0n;
  for (let bit = 1n << 70n; bit > 0n; bit >>= 1n) if ((r | bit) * (r | bit) <= scaled) r |= bit;
  return real(r, 1n << 60n, r * r * x.den === x.num << 120n);
}

describe('rounding a result first to more than twice the bits and two changes nothing', () => {
  const p = 4;
  /** The last place of the subnormal numbers. */
  const least = -6 - p + 1;
  const all = numbers(p);
  /** How often rounding through `q` bits makes a difference. */
  const differences = (q: number, results: Iterable<Real>): number => {
    let n = 0;
    for (const r of results) if (!equal(rounded(rounded(r, q, -99), p, least), rounded(r, p, least))) n++;
    return n;
  };
  function* pairs(f: (x: Real, y: Real) => Real): Generator<Real> {
    for (const x of all) for (const y of all) yield f(x, y);
  }
  const sums = () => pairs((x, y) => real(x.num * y.den + y.num * x.den, x.den * y.den));
  const gaps = () => pairs((x, y) => real(x.num * y.den - y.num * x.den, x.den * y.den));
  const quotients = () => pairs((x, y) => real(x.num * y.den, x.den * y.num));
  const products = () => pairs((x, y) => real(x.num * y.num, x.den * y.den));
  it.each([
    ['sums', sums],
    ['differences', gaps],
    ['quotients', quotients],
    ['roots', () => all.map(root)],
  ] as const)('%s', (_, of) => {
    expect(differences(2 * p + 2, of())).toBe(0);
    expect(differences(p + 2, of())).toBeGreaterThan(0);
  });
  it('products fit twice the bits', () => {
    for (const r of products()) expect(equal(rounded(r, 2 * p, -99), r)).toBe(true);
  });
});

describe('reciprocals of words of 8 bits', () => {
  const N = 8;
  const mask = (1 << N) - 1;
  const clz = (x: number): number => N - x.toString(2).length + (x === 0 ? 1 : 0);
  const signed = (x: number): number => (x << (32 - N)) >> (32 - N);
  const isPower = (k: number): boolean => (k & (k - 1)) === 0;
  const words = Array.from({ length: 1 << N }, (_, i) => i);
  const divisors = words.filter((k) => !isPower(k));
  const high = (a: number, m: number): number => Math.floor((a * m) / (1 << N)) & mask;

  it('divide-by-reciprocal, exactly where its condition holds or the quotients happen to be right', () => {
    let left = 0;
    for (const k of divisors) {
      const s = N - 1 - clz(k);
      const p = 2 ** (2 * N - 1 - clz(k));
      const holds = !(2 ** s < k - (p % k));
      const m = (Math.floor(p / k) & mask) + 1;
      const right = words.every((a) => high(a, m) >> s === Math.floor(a / k));
      if (holds) expect([k, right, m <= mask]).toEqual([k, true, true]);
      else if (!right) left++;
    }
    expect(left).toBeGreaterThan(10);
  });
  it('divide-by-even', () => {
    for (const k of divisors.filter((x) => (x & 1) === 0)) {
      const c = k >> 1;
      const m = (Math.floor(2 ** (2 * N - 1 - clz(c - 1)) / c) & mask) + 1;
      expect(m).toBeLessThanOrEqual(mask);
      for (const a of words)
        if (high(a >> 1, m) >> (N - 1 - clz(c - 1)) !== Math.floor(a / k)) expect.fail(`${a} / ${k}`);
    }
  });
  it('divide-by-long-reciprocal', () => {
    for (const k of divisors) {
      const m = (Math.floor(((2 ** (N - clz(k - 1)) - k) * 2 ** N) / k) & mask) + 1;
      expect(m).toBeLessThanOrEqual(mask);
      for (const a of words) {
        const t = high(a, m);
        const w = (((a - t) & mask) >> 1) + t;
        if (w > mask || w >> (N - 1 - clz(k - 1)) !== Math.floor(a / k)) expect.fail(`${a} / ${k}`);
      }
    }
  });
  it('divide-by-reciprocal-signed', () => {
    for (const k of divisors.filter((x) => signed(x) > 0))
      for (const word of words) {
        const a = signed(word);
        const m = signed((Math.floor(2 ** (2 * N - 1 - clz(k - 1)) / k) + 1) & mask);
        const t = signed((Math.floor((a * m) / (1 << N)) + a) & mask);
        if ((t >> (N - 1 - clz(k - 1))) - (a >> (N - 1)) !== Math.trunc(a / k) + 0)
          expect.fail(`${a} / ${k}`);
      }
  });
  it('divide-twice', () => {
    for (let j = 1; j < 16; j++)
      for (let k = 1; k < 16; k++)
        for (const a of words)
          if (Math.floor(Math.floor(a / j) / k) !== Math.floor(a / (j * k)))
            expect.fail(`${a} / ${j} / ${k}`);
  });
});

it('a product under a mask depends on no more bits than the mask has, in words of 6 bits', () => {
  const all = Array.from({ length: 64 }, (_, i) => i);
  for (let n = 0; n < 6; n++)
    for (let b = 0; b <= n; b++)
      for (const extended of [false, true])
        for (const a of all) {
          const low = a & ((1 << n) - 1);
          const t = extended && n > 0 && (low >> (n - 1)) & 1 ? low | (63 << n) : low;
          for (const y of all)
            for (const c of [0, 1, 37, 63])
              if (((t * y + c) & ((1 << b) - 1)) !== ((a * y + c) & ((1 << b) - 1)))
                throw new Error(`n = ${n}, b = ${b}, a = ${a}, y = ${y}, c = ${c}`);
        }
});

describe('exact evaluation over whole ranges of constants', () => {
  /** Both sides agree for all given values, and the rule applies to some of them. */
  function agree(rule: Rule, choices: Iterable<readonly bigint[]>): number {
    let applied = 0;
    for (const values of choices)
      for (const instance of rule.instances) {
        const s = sample(rule, instance, values);
        if (!s.applies) continue;
        applied++;
        if (s.results.some((r) => r.left !== r.right))
          throw new Error(`${rule.id}: ${values.map((v) => `0x${v.toString(16)}`).join(', ')}`);
      }
    return applied;
  }
  /** Values by the names of variables. */
  const values = (rule: Rule, by: Readonly<Record<string, bigint>>): bigint[] =>
    rule.vars.map((v) => by[v.name] ?? 0n);

  it('shift-of-lea: all amounts', () => {
    const rule = whole('shift-of-lea');
    function* choices(): Generator<bigint[]> {
      const words = [...integerSpecials(64)].filter((_, i) => i % 9 === 1);
      for (let m = 0n; m < 64n; m++)
        for (let n = 0n; n < 64n; n++)
          for (const a of words) yield values(rule, { a, j: (a ^ 0x5bd1e995n) | 1n, m, n });
    }
    expect(agree(rule, choices())).toBeGreaterThan(4096);
  }, 60_000);
  it('ddivide-by-power-of-two: exponents over the whole range', () => {
    const rule = whole('ddivide-by-power-of-two');
    const special = floatSpecials('f64');
    function* choices(): Generator<bigint[]> {
      for (let e = 1n; e < 2046n; e += e < 60n || e > 1990n ? 7n : 61n)
        for (const [i, a] of special.entries())
          yield values(rule, { a, k: (BigInt(i & 1) << 63n) | (e << 52n) });
    }
    expect(agree(rule, choices())).toBeGreaterThan(special.length);
  }, 60_000);
  it('ffma-of-powers: exponents over the whole range', () => {
    const rule = whole('ffma-of-powers');
    const special = floatSpecials('f32');
    function* choices(): Generator<bigint[]> {
      for (let e = 0x41n; e < 0xben; e += 31n)
        for (let f = 0x41n; f < 0xben; f += 31n)
          for (const [i, c] of special.entries())
            yield values(rule, { c, j: (BigInt(i & 1) << 31n) | (e << 23n), k: (f << 23n) | 0x6b4a95n });
    }
    expect(agree(rule, choices())).toBeGreaterThan(special.length);
  }, 60_000);
});
