import { afterAll, describe, expect, it } from 'vitest';
import { openSolver, packagedSolver } from '../../src/cli/rules/solver.ts';
import { evalGraph } from '../../src/isa/lang/evaluate.ts';
import { compileGroup } from '../../src/rules/group.ts';
import { armsOf } from '../../src/rules/prove/arms.ts';
import { Draw } from '../../src/rules/prove/draw.ts';
import { goalOf } from '../../src/rules/prove/goal.ts';
import { LIMITS, prove } from '../../src/rules/prove/prove.ts';
import { refutation } from '../../src/rules/prove/refute.ts';
import type { Rule } from '../../src/rules/rule.ts';
import { testIsa } from '../support/isa.ts';
import { runs } from '../support/size.ts';

// Rules that are wrong for a few constants out of 2^32 or 2^64, and similar ones that are right.
const solver = packagedSolver() ? openSolver(undefined) : null;
if (solver === null)
  console.warn(
    'prove-rare.test.ts: z3-solver is not installed, so that only what needs no solver is tested here',
  );
afterAll(() => solver?.close());

function ruleOf(match: string, rewrite: string, when?: string): Rule {
  const rule = { id: 'r', title: 't', match, rewrite, when, source: 's' };
  const { rules, issues } = compileGroup({ group: 'test', rules: [rule] }, testIsa());
  expect(issues).toEqual([]);
  return rules[0];
}

/** The constants of a counterexample, and the results of both sides. */
function numbers(text: string): { k: bigint; j: bigint; before: string; after: string } {
  const of = (name: string): bigint =>
    BigInt(new RegExp(`^ +#${name} *= (0x\\w+) `, 'm').exec(text)?.[1] ?? 0);
  const [, before, after] = /= (\w+)(?: = \S+)? before, (\w+)(?: = \S+)? after/.exec(text)!;
  return { k: of('k'), j: of('j'), before, after };
}

const u32 = (x: bigint): bigint => BigInt.asUintN(32, x);
const u64 = (x: bigint): bigint => BigInt.asUintN(64, x);
const ones = (x: bigint): number => x.toString(2).replaceAll('0', '').length;
const single = (x: bigint): number => new Float32Array(new Uint32Array([Number(x)]).buffer)[0];

/** The sign of a product goes into its constant, which the replacement computes so. */
const into = (constant: string): readonly [string, string] => [
  'FMUL.RN $t, -$a, #k\nFADD.RN $d, $t, $c',
  `FMUL.RN $t2, $a, #(${constant})\nFADD.RN $d, $t2, $c`,
];
/** The same, but where `arm` holds it loses a bit of the significand. */
const product = (arm: string): readonly [string, string] => into(`${arm} ? k ^ 0x80400000 : k ^ 0x80000000`);
const quotient = (arm: string): readonly [string, string] => [
  'IDIV.U32 $t, $a, #k\nIDIV.U32 $d, $b, $t',
  `IDIV.U32 $t2, $a, #(${arm} ? k + 1 : k)\nIDIV.U32 $d, $b, $t2`,
];
const high = (arm: string): readonly [string, string] => [
  'IMAD.HI.U32 $t, $a, #k, 0\nIMAD.HI.U32 $d, $t, $b, $a',
  `IMAD.HI.U32 $t2, #(${arm} ? k ^ 1 : k), $a, 0\nIMAD.HI.U32 $d, $b, $t2, $a`,
];
const HASH = 'k * 0x9e3779b1';
const SIGN = 'k ^ 0x80000000';
/** A constant is a power of two from 1 up to one whose biased exponent is below `end`. */
const power = (x: string, end: string): string =>
  `(${x} & 0x7fffff) == 0 && ult(0x7e, lshr(${x}, 23) & 0xff) && ult(lshr(${x}, 23) & 0xff, ${end})`;

interface Planted {
  readonly name: string;
  /** Whether undoing operations finds the constants, so that the rule is refuted where it is loaded. */
  readonly atLoad?: false;
  readonly texts: readonly [string, string];
  readonly when?: string;
  /** Whether constants are among those for which the rule is wrong, by other arithmetic than the prover's. */
  readonly wrongAt: (k: bigint, j: bigint) => boolean;
}

const PLANTED: readonly Planted[] = [
  {
    name: 'a hash of the constant',
    texts: product(`(${HASH}) == 0x51ab3c77`),
    wrongAt: (k) => u32(k * 0x9e3779b1n) === 0x51ab3c77n,
  },
  {
    name: 'a hash of the constant, in a quotient',
    texts: quotient(`(${HASH}) == 0x51ab3c77`),
    wrongAt: (k) => u32(k * 0x9e3779b1n) === 0x51ab3c77n,
  },
  {
    name: 'a hash of the constant, in a high product',
    texts: high(`(${HASH}) == 0x51ab3c77`),
    wrongAt: (k) => u32(k * 0x9e3779b1n) === 0x51ab3c77n,
  },
  {
    name: 'bits under a mask',
    texts: product('(k | 0x00ff00ff) == 0xa5ffb6ff && (k & 0x00ff00ff) == 0x00110022'),
    wrongAt: (k) => k === 0xa511b622n,
  },
  {
    name: 'a number of ones',
    texts: product('popc(k ^ 0x5a5a1234) == 32'),
    wrongAt: (k) => ones(k ^ 0x5a5a1234n) === 32,
  },
  {
    name: 'leading zeros',
    texts: quotient('clz(k - 0x13572468) == 32'),
    wrongAt: (k) => k === 0x13572468n,
  },
  {
    name: 'one end of a range',
    texts: product('ult(k - 0x3a345677, 2)'),
    wrongAt: (k) => k === 0x3a345677n || k === 0x3a345678n,
  },
  {
    name: 'a shift that does not yet shift everything out',
    texts: product('shl(resize(1, 32), k ^ 0x51ab3c60) != 0'),
    wrongAt: (k) => (k ^ 0x51ab3c60n) < 32n,
  },
  {
    name: 'a quotient and its remainder',
    texts: product('udiv(k, 0x10000001) == 5 && urem(k, 0x10000001) == 77'),
    wrongAt: (k) => k === 5n * 0x10000001n + 77n,
  },
  {
    name: 'the high half of a product',
    texts: product('mulhi(k, 0x9e3779b1, false) == 0x22345678'),
    wrongAt: (k) => (k * 0x9e3779b1n) >> 32n === 0x22345678n,
  },
  {
    name: 'an inner choice',
    texts: into(`ult(k, 0x40000000) ? ((k ^ 0x2345) * 3 == 0x33333333 ? k ^ 0x80400000 : ${SIGN}) : ${SIGN}`),
    wrongAt: (k) => k < 0x40000000n && u32((k ^ 0x2345n) * 3n) === 0x33333333n,
  },
  {
    name: 'a bit that no comparison makes',
    atLoad: false,
    texts: into(`${SIGN} ^ shl(lshr(~((k - 0x3c0ffee1) | (0x3c0ffee1 - k)), 31), 22)`),
    wrongAt: (k) => k === 0x3c0ffee1n,
  },
  {
    name: 'two constants together',
    atLoad: false,
    texts: [
      'FMUL.RN $t, -$a, #k\nFADD.RN $d, $t, #j',
      'FMUL.RN $t2, $a, #((j + k) == 0x80bd79bd && (j ^ k) == 0x7ebd75bd ? k ^ 0x80400000 : k ^ 0x80000000)\nFADD.RN $d, $t2, #j',
    ],
    wrongAt: (k, j) => u32(j + k) === 0x80bd79bdn && (j ^ k) === 0x7ebd75bdn,
  },
  {
    name: 'two choices that are harmless alone',
    atLoad: false,
    texts: into(`${SIGN} ^ shl(((k & 0xffff) == 0x1234 ? 1 : 0) & (lshr(k, 16) == 0x3f9d ? 1 : 2), 22)`),
    wrongAt: (k) => k === 0x3f9d1234n,
  },
  {
    name: 'a product of floats',
    atLoad: false,
    texts: product('fcmp(fmul(float(k, F32), float(0x40490fdb, F32), RN), float(0x42c80000, F32), EQ)'),
    // Pi as a single, times k: 100 after rounding.
    wrongAt: (k) => Math.fround(single(k) * single(0x40490fdbn)) === 100,
  },
  {
    name: 'powers of two whose product is infinite',
    atLoad: false,
    texts: [
      'FMUL.RN $t, $a, #j\nFMUL.RN $d, $t, #k',
      'FMUL.RN $d, $a, #fmul(float(j, F32), float(k, F32), RN)',
    ],
    when: `${power('j', '0xbf')} && ${power('k', '0xc1')}`,
    wrongAt: (k, j) => Math.abs(single(j) * single(k)) >= 2 ** 128,
  },
  {
    name: 'the sum of two zeros',
    texts: ['FADD.RN $t, $a, #k\nFADD.RN $d, $t, 0', 'FADD.RN $d, $a, #k'],
    wrongAt: (k) => k === 0x80000000n,
  },
  {
    name: 'a hash of 64 bits',
    texts: [
      'DMUL.RN $t, -$a, #k\nDADD.RN $d, $t, $c',
      'DMUL.RN $t2, $a, #((k * 0x9e3779b97f4a7c15) == 0x3243f6a8885a308d ? k ^ 0x8000000000000 : k)\nDADD.RN $d, -$t2, $c',
    ],
    wrongAt: (k) => u64(k * 0x9e3779b97f4a7c15n) === 0x3243f6a8885a308dn,
  },
];

/** Too few steps for a whole goal, so that what is found is found at the constants. */
const FEW = { ...LIMITS, question: 1_500_000, rule: 3_000_000, samples: 200, pairs: 200 };

describe('a rule that is wrong for few constants is refuted with one of them', () => {
  it.skipIf(solver === null).each(PLANTED)(
    '$name',
    async ({ texts, when, wrongAt }) => {
      const v = await prove(ruleOf(...texts, when), solver!.solve, FEW);
      if (v.verdict !== 'refuted') throw new Error(JSON.stringify(v));
      const { k, j, before, after } = numbers(v.counterexample);
      expect([wrongAt(k, j), before === after]).toEqual([true, false]);
    },
    240_000,
  );

  it.each(PLANTED.filter((p) => p.atLoad !== false))(
    '$name, when it is loaded',
    ({ texts, when, wrongAt }) => {
      const { k, j } = numbers(refutation(ruleOf(...texts, when))!);
      expect(wrongAt(k, j)).toBe(true);
    },
  );

  it('such constants are few: none of many drawn ones is among them', () => {
    let seed = 7n;
    const draw = (): bigint => (seed = u64(seed * 6364136223846793005n + 1442695040888963407n)) >> 32n;
    // The powers of two have a condition of their own, and minus zero is one in 2^32.
    for (const { name, when, wrongAt } of PLANTED)
      if (when === undefined)
        for (let n = 0; n < runs(100_000); n++)
          if (wrongAt(draw(), draw())) throw new Error(`${name} is not rare`);
  });
});

/** With the same arms, on which the same result is made otherwise. */
const RIGHT: readonly {
  readonly name: string;
  readonly texts: readonly [string, string];
  readonly when?: string;
  /** The solver decides only a part of it. */
  readonly part?: true;
}[] = [
  { name: 'a hash', texts: into(`(${HASH}) == 0x51ab3c77 ? 0x1de4faa7 : ${SIGN}`) },
  {
    name: 'a hash of a divisor',
    texts: [
      quotient('')[0],
      `IDIV.U32 $t2, $a, #((${HASH}) == 0x51ab3c77 ? 0x9de4faa7 : k)\nIDIV.U32 $d, $b, $t2`,
    ],
  },
  {
    name: 'a hash of a factor',
    texts: [
      high('')[0],
      `IMAD.HI.U32 $t2, #((${HASH}) == 0x51ab3c77 ? 0x9de4faa7 : k), $a, 0\nIMAD.HI.U32 $d, $b, $t2, $a`,
    ],
  },
  { name: 'a number of ones', texts: into(`popc(k ^ 0x5a5a1234) == 32 ? 0x25a5edcb : ${SIGN}`) },
  { name: 'a range', texts: into(`ult(k - 0x3a345677, 2) ? k + 0x80000000 : ${SIGN}`) },
  { name: 'a shift', texts: into(`shl(resize(1, 32), k ^ 0x51ab3c60) != 0 ? k - 0x80000000 : ${SIGN}`) },
  {
    name: 'an inner choice',
    texts: into(`ult(k, 0x40000000) ? ((k ^ 0x2345) * 3 == 0x33333333 ? k | 0x80000000 : ${SIGN}) : ${SIGN}`),
  },
  {
    name: 'a bit that no comparison makes',
    texts: into(
      `${SIGN} ^ shl(lshr(~((k - 0x3c0ffee1) | (0x3c0ffee1 - k)), 31), 31) ^ shl(k == 0x3c0ffee1 ? 1 : 0, 31)`,
    ),
    part: true,
  },
  {
    name: 'the sum of two zeros, without them',
    texts: ['FADD.RN $t, $a, #k\nFADD.RN $d, $t, 0', 'FADD.RN $d, $a, #k'],
    when: 'k != 0x80000000',
  },
];

describe.skipIf(solver === null)('a rule that is right on the same arms is not refuted', () => {
  it.each(RIGHT)(
    '$name',
    async ({ texts, when, part }) => {
      const rule = ruleOf(...texts, when);
      expect(refutation(rule)).toBeNull();
      const v = await prove(rule, solver!.solve, FEW);
      expect(v.verdict).toBe(part === true ? 'bounded' : 'verified');
    },
    240_000,
  );

  it('a proof by cases says so, and one of which a case is wrong is none', async () => {
    const way = (bad: string) => prove(ruleOf(...into(bad)), solver!.solve, FEW);
    expect(await way(`ult(k - 0x3a345677, 2) ? k + 0x80000000 : ${SIGN}`)).toMatchObject({
      how: 'by cases of the choices among constants, at most 2',
    });
    expect((await way(`ult(k - 0x3a345677, 2) ? k + 0x80000001 : ${SIGN}`)).verdict).toBe('refuted');
    expect((await way(`ult(k - 0x3a345677, 2) ? ${SIGN} : k + 0x80000001`)).verdict).toBe('refuted');
  });
});

describe('arms', () => {
  const armsFor = (texts: readonly [string, string], when?: string) => {
    const rule = ruleOf(...texts, when);
    return armsOf(goalOf(rule, rule.instances[0]))!;
  };
  it('are asked for where they decide: both sides of each condition, under the choices that lead to it', () => {
    const { nodes, arms, inputs } = armsFor(
      into(`ult(k, 0x100) ? (k == 0x12345678 ? ${SIGN} : k + 0x80000000) : ${SIGN}`),
    );
    expect(inputs.map((x) => x.name)).toEqual(['#k']);
    const sides = arms.filter((a) => a.side).map((a) => a.node);
    const taken = (k: bigint) => evalGraph({ nodes, dsts: sides, srcWidths: [] }, [k]).map((x) => x === 1n);
    // The inner condition never holds where it is asked: of four sides, no constant takes that one.
    const all = [0n, 0xffn, 0x100n, 0x12345678n, 0xffffffffn].map(taken);
    expect(sides.map((_, i) => all.some((t) => t[i])).sort()).toEqual([false, true, true, true]);
  });
  it('separate the classes of a float that is read, and of one that is computed', () => {
    /** The arms that a constant takes where it is multiplied by another. */
    const taken = (factor: string) => {
      const { nodes, arms } = armsFor([
        'IADD3 $d, $a, #k, 0',
        `IADD3 $d, $a, #fmul(float(k, F32), float(${factor}, F32), RN), 0`,
      ]);
      const dsts = arms.map((a) => a.node);
      return (k: bigint): string => evalGraph({ nodes, dsts, srcWidths: [] }, [k]).join('');
    };
    // Zeros, subnormals of both signs, infinities, a NaN, one, a power of two, the highest exponent, and what is none of these.
    const classes = [
      ...[0n, 0x80000000n, 0x00000003n, 0x80000003n, 0x7f800000n, 0xff800000n],
      ...[0x7fc12345n, 0x3f800000n, 0x41000000n, 0x7f012345n, 0x40490fdbn],
    ];
    expect(new Set(classes.map(taken('0x3f800000'))).size).toBe(classes.length);
    // An eighth of 1.25 * 2^-124 is subnormal, that of 10 is not.
    const eighth = taken('0x3e000000');
    expect(eighth(0x01a00000n)).not.toBe(eighth(0x41200000n));
  });
  it('have none where no constant is read', () => {
    const rule = ruleOf('IADD3 $d, $a, $b, 0', 'IADD3 $d, $b, $a, 0');
    expect(armsOf(goalOf(rule, rule.instances[0]))).toBeNull();
  });
});

it('drawn numbers include every power of two, and every number with only low bits', () => {
  const draw = new Draw('a seed');
  const drawn = new Set(Array.from({ length: 8000 }, () => draw.value(32, false)));
  for (let k = 0n; k < 32n; k++) {
    expect(drawn).toContain(1n << k);
    expect(drawn).toContain((1n << k) - 1n);
  }
});
