import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openSolver, packagedSolver } from '../../src/cli/rules/solver.ts';
import type { Node } from '../../src/isa/lang/graph.ts';
import { compileGroup } from '../../src/rules/group.ts';
import { Draw, tryOut } from '../../src/rules/prove/draw.ts';
import { decimal } from '../../src/rules/prove/float-values.ts';
import { type Goal, goalOf } from '../../src/rules/prove/goal.ts';
import { integerQuestion } from '../../src/rules/prove/integers.ts';
import { lawful } from '../../src/rules/prove/laws.ts';
import { NodeTable } from '../../src/rules/prove/nodes.ts';
import { LIMITS, prove } from '../../src/rules/prove/prove.ts';
import { boundText, questionOf, readModel } from '../../src/rules/prove/question.ts';
import { refutation } from '../../src/rules/prove/refute.ts';
import { oneBit } from '../../src/rules/prove/slices.ts';
import { ask, type Solver } from '../../src/rules/prove/solver.ts';
import { floatSpecials, integerSpecials, specialValues } from '../../src/rules/prove/specials.ts';
import { outweighs, type Verdict } from '../../src/rules/prove/verdict.ts';
import type { Rule } from '../../src/rules/rule.ts';
import { testIsa } from '../support/isa.ts';
import { runs } from '../support/size.ts';

const solver = packagedSolver() ? openSolver(undefined) : null;
if (solver === null)
  console.warn('prove.test.ts: z3-solver is not installed, so that nothing is proved here');
afterAll(() => solver?.close());

/** Parses a rule. */
function ruleOf(match: string, rewrite: string, when?: string, more: object = {}): Rule {
  const rule = { id: 'r', title: 't', match, rewrite, when, source: 's', ...more };
  const { rules, issues } = compileGroup({ group: 'test', rules: [rule] }, testIsa());
  expect(issues).toEqual([]);
  return rules[0];
}

/** The limits of real proofs with fewer samples; and smaller ones for what is too hard anyway. */
const FEW = { ...LIMITS, samples: 200, pairs: 200 };
const SHORT = { ...FEW, question: 300_000, rule: 300_000 };
const verdictOf = (...texts: Parameters<typeof ruleOf>): Promise<Verdict> =>
  prove(ruleOf(...texts), solver!.solve, FEW);

const numberOf = (text: string): bigint => (text === 'true' ? 1n : text === 'false' ? 0n : BigInt(text));

/** Values in a counterexample, by name; the results by their side. */
function numbers(v: Verdict): Record<string, bigint> {
  if (v.verdict !== 'refuted') throw new Error(`not refuted: ${JSON.stringify(v)}`);
  const out: Record<string, bigint> = {};
  for (const [, name, hex] of v.counterexample.matchAll(/^ +([$#]\w+) *= 0x(\w+) \(/gm))
    out[name] = BigInt(`0x${hex}`);
  const results = /= (\w+)(?: = \S+)? before, (\w+)(?: = \S+)? after/.exec(v.counterexample)!;
  out.before = numberOf(results[1]);
  out.after = numberOf(results[2]);
  return out;
}

describe.skipIf(solver === null)('right rules are verified', () => {
  it.each([
    ['in all widths', 'IADD3 $d, $a, -$a, $b', 'MOV $d, $b'],
    ['through an inner line', 'SHL $t, $a, 8\nSHR.U32 $d, $t, 8', 'LOP3 $d, $a, 0xffffff, 0, 0xc0'],
    [
      'that keep what an inner line defines',
      'IADD3 $t, $a, $b, 0\nIADD3 $d, $t, $a, $b',
      'IADD3 $d, $t, $t, 0',
    ],
    ['whatever nobody asks about is', 'LOP3 $d, $a, $b, _, 0xc0', 'LOP3 $d, $a, $b, 0, 0xc0'],
    [
      'with a table that is a constant',
      'LOP3 $d, $a, $a, $a, #t',
      'LOP3 $d, $a, 0, 0, #((bit(t, 7) ? 0xf0 : 0) | (bit(t, 0) ? 0x0f : 0))',
    ],
    [
      'with a condition',
      'IMAD.U32 $d, $a, #k, 0',
      'SHL $d, $a, #(31 - clz(k))',
      'k != 0 && (k & (k - 1)) == 0',
    ],
    ['in floating point', 'FADD $d, $a, $b', 'FADD $d, $b, $a'],
    ['with two results', 'PAIR $p, $x, $y\nUNPAIR $l, $h, $p', 'MOV.B32 $l, $x\nMOV.B32 $h, $y'],
    ['of a 64-bit address', 'IADD3.64 $t, $a, #k, 0\n* [$t+#o]', '* [$a+#(o + k)]'],
    // A 32-bit base wraps: the memory behind it has no more than 2^32 places.
    ['of a 32-bit address', 'IADD3.B32 $t, $a, #k, 0\n* [$t+#o]', '* [$a+#(o + sext(k, 64))]'],
  ] as const)('%s', async (_, match, rewrite, when?) => {
    expect(await verdictOf(match, rewrite, when)).toMatchObject({ verdict: 'verified' });
  });
});

describe('one bit stands for all', () => {
  const H = '#resize(lop3(lop3(resize(0xf0, 8), 0xcc, 0xaa, g), 0xcc, 0xaa, f), 32)';
  const [inner, outer] = ['LOP3 $t, $a, $b, $c, #g', 'LOP3 $d, $t, $b, $c, #f'];
  const composed = (h: string) => ruleOf(`${inner}\n${outer}`, `LOP3 $d, $a, $b, $c, ${h}`);
  it.skipIf(solver === null)('where only logic is done', async () => {
    expect(await prove(composed(H), solver!.solve, FEW)).toMatchObject({
      verdict: 'verified',
      how: 'bit by bit',
    });
    const swapped = H.replace('0xcc, 0xaa, f', '0xaa, 0xcc, f');
    expect((await prove(composed(swapped), solver!.solve, FEW)).verdict).toBe('refuted');
  });
  it('and not where bits are carried, moved or compared, or a constant is not the same in all', () => {
    const bits = (match: string, rewrite: string) => {
      const r = ruleOf(match, rewrite);
      return oneBit(goalOf(r, r.instances[0]));
    };
    expect(
      bits('LOP3 $d, $a, $b, $c, 0x96', 'LOP3 $d, $b, $a, $c, 0x96')?.inputs.map((x) => x.width),
    ).toEqual([1, 1, 1]);
    expect(bits('IADD3 $d, $a, $b, 0', 'LOP3 $d, $a, $b, 0, 0x3c')).toBeNull();
    expect(bits('LOP3 $d, $a, 7, 0, 0xc0', 'LOP3 $d, 7, $a, 0, 0xc0')).toBeNull();
    expect(bits('BREV $t, $a\nBREV $d, $t', 'MOV $d, $a')).toBeNull();
  });
});

it('samples meet the edges of several conditions at once', () => {
  const twice = (most: string) => {
    const when = `ult(j, 0x10000) && ult(k, ${most}) && j != 0 && k != 0`;
    const r = ruleOf('IDIV.U32 $t, $a, #j\nIDIV.U32 $d, $t, #k', 'IDIV.U32 $d, $a, #(j * k)', when);
    return tryOut(r, r.instances[0], 2000).differs;
  };
  expect(twice('0x10000')).toBeNull();
  // Only 0xffff * 0x1000f and its like do not fit 32 bits.
  expect(twice('0x10010')).not.toBeNull();
});

it('laws of one format say nothing of another of the same width', () => {
  const sumOf = (first: 'f16' | 'bf16') => {
    const t = new NodeTable();
    const source = (n: number) => t.node('src', 16, [], { n });
    const [x, y] = [source(0), source(1)];
    const fadd = (f: 'f16' | 'bf16', a: number, b: number) =>
      t.node('fadd', 16, [a, b], { fmt: f, aux: 'RN' });
    const copied = fadd(first, x, t.constant(0x8000n, 16));
    const flushed = t.node('ftz', 16, [y], { fmt: first });
    const inputs = ['$x', '$y'].map((name, v) => ({ name, width: 16, v, wildcard: -1, constant: false }));
    const results = [
      { v: 2, left: fadd('bf16', copied, y), right: fadd('bf16', x, y) },
      {
        v: 3,
        left: fadd('bf16', x, t.node('ftz', 16, [flushed], { fmt: 'bf16' })),
        right: fadd('bf16', x, t.node('ftz', 16, [y], { fmt: 'bf16' })),
      },
      // Of x + -0, which is x or the canonical NaN, what is flushed is x flushed or that NaN.
      {
        v: 4,
        left: t.node('ftz', 16, [copied], { fmt: 'bf16' }),
        right: fadd(first, t.node('ftz', 16, [x], { fmt: 'bf16' }), t.constant(0x8000n, 16)),
      },
    ];
    return lawful({ nodes: t.nodes, inputs, given: [], results })!.results.map((r) => r.left === r.right);
  };
  expect(sumOf('bf16')).toEqual([true, true, true]);
  expect(sumOf('f16')).toEqual([false, false, false]);
});

describe.skipIf(solver === null)('wrong rules are refuted with numbers that are really so', () => {
  it('a shift that loses a bit', async () => {
    const n = numbers(await verdictOf('SHL.B32 $t, $a, 1\nSHR.U32 $d, $t, 1', 'MOV $d, $a'));
    expect([n.before, n.after]).toEqual([((n.$a << 1n) & 0xffffffffn) >> 1n, n.$a]);
    expect(n.before).not.toBe(n.after);
  });
  it('a comparison without its equal case', async () => {
    const n = numbers(await verdictOf('ISETP.LE.S32 $d, $a, $b', 'ISETP.LT.S32 $d, $a, $b'));
    expect([n.$a, n.before, n.after]).toEqual([n.$b, 1n, 0n]);
  });
  it('a condition that lets through too much', async () => {
    const n = numbers(await verdictOf('IMAD.U32 $d, $a, #k, 0', 'SHL $d, $a, #(31 - clz(k))', 'k != 0'));
    expect(n['#k'] & (n['#k'] - 1n)).not.toBe(0n);
    expect(n.before).toBe((n.$a * n['#k']) & 0xffffffffn);
  });
  it('x + 0.0 = x, for minus zero and for a NaN with another pattern', async () => {
    const n = numbers(await verdictOf('FADD $d, $a, 0', 'MOV $d, $a'));
    expect(n.$a === 0x80000000n || (n.$a & 0x7fffffffn) > 0x7f800000n).toBe(true);
    expect(n.after).toBe(n.$a);
  });
  it('questions that no rule of the tables raises', async () => {
    expect(await verdictOf('LOP3 $d, $a, $b, _, 0xca', 'LOP3 $d, $a, $b, 0, 0xca')).toMatchObject({
      verdict: 'refuted',
    });
  });
  it('a replacement that reads its own result before it is there', async () => {
    expect(await verdictOf('IADD3 $d, $a, $b, 0', 'MOV $d, $d')).toMatchObject({ verdict: 'refuted' });
  });
  it('an offset that forgets the sign', async () => {
    expect(await verdictOf('IADD3.64 $t, $a, -$b, 0\n* [$t+#o]', '* [$b+#o]')).toMatchObject({
      verdict: 'refuted',
    });
  });
  it('a base that loses its upper half', async () => {
    expect(await verdictOf('I2I.U64.U32 $t, $a\n* [$t+#o]', '* [$a+#o]')).toMatchObject({
      verdict: 'refuted',
    });
    expect(await verdictOf('I2I.U64.U32 $t, $a\n* [$t+#o]', '* [$a+#o]', 'o == 0')).toMatchObject({
      verdict: 'verified',
    });
  });
  it('numbers in it are small where small ones do', async () => {
    const n = numbers(await verdictOf('IMAD.U32 $d, $a, $b, $c', 'IMAD.U32 $d, $a, $c, $b'));
    for (const name of ['$a', '$b', '$c']) expect(BigInt.asIntN(32, n[name])).toBeLessThan(16n);
  });
});

describe.skipIf(solver === null)('what a solver does not decide', () => {
  // Associativity of products of three symbols in another form: beyond bit blasting at 64 bits.
  const hard = [
    'IMAD.HI.U64 $t, $a, $b, 0\nIMAD.HI.U64 $d, $t, $b, 0',
    'IMAD.HI.U64 $t2, $b, $a, 0\nIMAD.HI.U64 $s, $b, $t2, 0\nIADD3.64 $d, $s, 0, 0',
  ] as const;
  it('is bounded, or rests on the reason given', async () => {
    const short = (texts: readonly [string, string]) => prove(ruleOf(...texts), solver!.solve, SHORT);
    const quotient = [
      'IDIV.U32 $t, $a, $b\nIMAD.U32 $d, $t, $b, 0',
      'IREM.U32 $r, $a, $b\nIADD3 $d, $a, -$r, 0',
    ] as const;
    // By zero the two differ: all ones times zero, against a less all ones.
    expect((await short(quotient)).verdict).toBe('refuted');
    const square = [
      'IMAD.U64 $s, $a, $a, 0\nIMAD.U64 $t, $b, $b, 0\nIADD3.64 $d, $s, -$t, 0',
      'IADD3.64 $p, $a, $b, 0\nIADD3.64 $m, $a, -$b, 0\nIMAD.U64 $d, $p, $m, 0',
    ] as const;
    expect((await short(square)).verdict).toMatch(/verified|bounded/);
    expect((await short(hard)).verdict).toMatch(/verified|bounded/);
  }, 60_000);
  it('approximate functions are out of scope', async () => {
    expect(
      await verdictOf('MUFU.RCP $t, $a\nMUFU.RCP $d, $t', 'MUFU.SQRT $t2, $a\nMUFU.SQRT $d, $t2'),
    ).toMatchObject({ verdict: 'refuted' });
    const signs = ruleOf('MUFU.RCP $t, -$a\nFMUL $d, $t, $b', 'MUFU.RCP $s, $a\nFMUL $d, -$s, $b');
    expect(await prove(signs, solver!.solve, SHORT)).toMatchObject({ verdict: 'out of scope' });
    expect(await verdictOf('MUFU.RCP $d, $a', 'MUFU.RCP $d, $a')).toMatchObject({ verdict: 'verified' });
  });
});

describe.skipIf(solver === null)('a verdict depends on nothing but the rule and the limits', () => {
  // A product of unknowns that is zero for one value in 2^32 takes a solver some million steps.
  const hard = () =>
    ruleOf(
      'IMAD.U32 $s, $a, $a, 0\nIMAD.HI.U32 $t, $a, $a, 0\nLOP3 $x, $s, $t, 0, 0x3c\nISETP.EQ.U32 $d, $x, 0x7abc73d2',
      'ISETP.LT.U32 $d, $a, 0',
    );
  const TINY = { ...FEW, question: 20_000, rule: 30_000 };
  const pair = solver === null ? [] : [openSolver(undefined), openSolver(undefined)];
  afterAll(() => {
    for (const s of pair) s.close();
  });

  it('a small limit leaves a hard rule undecided, each time with the same words', async () => {
    const first = await prove(hard(), solver!.solve, TINY);
    expect(first).toMatchObject({ verdict: expect.stringMatching(/^(unknown|bounded)$/) });
    // Another process, and one that has answered other questions before.
    const [fresh] = pair;
    await prove(ruleOf('IMAD.U32 $d, $a, $b, $c', 'IMAD.U32 $d, $b, $a, $c'), fresh.solve, FEW);
    expect(await prove(hard(), fresh.solve, TINY)).toEqual(first);
  });

  it('a slow or loaded solver says what a quick one says', async () => {
    const late: Solver = async (commands, backstop) => {
      await new Promise((resolve) => setTimeout(resolve, 120));
      return solver!.solve(commands, backstop);
    };
    const verdicts = await Promise.all([
      prove(hard(), late, TINY),
      ...pair.map((s) => prove(hard(), s.solve, TINY)),
    ]);
    expect(new Set(verdicts.map((v) => JSON.stringify(v))).size).toBe(1);
  });

  it('the same question takes the same number of steps, whatever was asked before', async () => {
    const q = questionOf(goalOf(hard(), hard().instances[0]));
    const easy = questionOf(goalOf(ruleOf('MOV $t, $a\nMOV $d, $t', 'MOV $d, $a'), hard().instances[0]));
    const once = await ask(solver!.solve, q, 100_000);
    await ask(solver!.solve, easy, 100_000);
    expect(once.spent).toBeGreaterThanOrEqual(100_000);
    expect(await ask(solver!.solve, q, 100_000)).toEqual(once);
  });

  it('a larger limit decides what a smaller one leaves open', async () => {
    const rule = () =>
      ruleOf(
        'SHF.L.W $x, 0, $n, $a\nIADD3.B32 $m, -$n, #k, 0\nSHF.R.W $y, $a, $m, 0\nLOP3.B32 $d, $x, $y, _, 0xfc',
        'SHF.L.W $d, $a, $n, $a',
        '(k & 31) == 0',
      );
    const small = await prove(rule(), solver!.solve, { ...FEW, question: 3, rule: 3, argued: 3 });
    expect(small).toMatchObject({ verdict: 'unknown', why: expect.stringContaining('steps') });
    expect(await prove(rule(), solver!.solve, FEW)).toMatchObject({ verdict: 'verified' });
  });

  it('what the clock ends decides nothing, and says so', async () => {
    const hanging: Solver = async (_, backstop) => {
      await new Promise((resolve) => setTimeout(resolve, backstop));
      return '';
    };
    const q = questionOf(goalOf(hard(), hard().instances[0]));
    expect(await ask(hanging, q, 1000, 50)).toMatchObject({
      k: 'unknown',
      late: true,
      why: 'the solver was ended by the clock after 0.05 s',
    });
    const clock: Solver = (commands) => hanging(commands, 0).then(() => '');
    expect(await prove(hard(), clock, FEW)).toMatchObject({ verdict: 'unknown' });
  });
});

describe('verdicts on one rule', () => {
  const [proved, argued, partly, bounded, open, wrong]: Verdict[] = [
    { verdict: 'verified', instances: 1 },
    { verdict: 'by argument', instances: 1, samples: 5 },
    { verdict: 'by argument', instances: 1, samples: 5, to: '3 choices of the constants' },
    { verdict: 'bounded', instances: 1, to: 'some' },
    { verdict: 'unknown', why: 'no answer' },
    { verdict: 'refuted', counterexample: 'x' },
  ];
  it('a proof outweighs what did not find it, a refutation outweighs a proof', () => {
    const order = [wrong, proved, partly, argued, bounded, open];
    for (const [i, a] of order.entries())
      for (const [j, b] of order.entries()) expect(outweighs(a, b), `${i} ${j}`).toBe(i < j);
  });
});

describe('wrong rules that few drawn values show are refuted when they are loaded', () => {
  it.each([
    [
      'rounded twice: a tie of f16 that f32 makes',
      'F2F.F32.F64 $t, $a\nF2F.F16.F32 $d, $t',
      'F2F.F16.F64 $d, $a',
    ],
    ['fused or not', 'FMUL $t, $a, $b\nFADD $d, $t, $c', 'FFMA $d, $a, $b, $c'],
    ['equal infinities', 'FADD $t, $a, -$b\nFSETP.EQ $d, $t, 0', 'FSETP.EQ $d, $a, $b'],
    [
      'a reciprocal that is too short',
      'IDIV.U32 $d, $a, 7',
      'IMAD.HI.U32 $t, $a, 0x92492493, 0\nSHR.U32 $d, $t, 2',
    ],
    [
      'one value of two operands',
      'LOP3 $t, $a, $b, _, 0xc0\nISETP.EQ.U32 $d, $t, 0x55555555',
      'ISETP.EQ.U32 $d, 1, 0',
    ],
  ] as const)('%s', (_, match, rewrite) => {
    expect(refutation(ruleOf(match, rewrite))).toMatch(/before, .* after/);
  });
  it('special values have every boundary, with both signs', () => {
    const f32 = new Set(floatSpecials('f32'));
    const [low, infinity] = [0x800000n, 0x7f800000n];
    const edges = [
      0n,
      1n,
      low - 1n,
      low,
      infinity - 1n,
      infinity,
      0x3f800000n,
      0x3f800001n,
      0x4b800001n,
      0x5f000000n,
    ];
    for (const x of edges) expect([x, f32.has(x), f32.has(x | 0x80000000n)]).toEqual([x, true, true]);
    expect([...f32].filter((x) => (x & 0x7fffffffn) > infinity).length).toBeGreaterThanOrEqual(5);
    // 1 + 2^-11 is halfway between two halves, 1 + 2^-24 as a double between two singles.
    expect(f32.has(0x3f801000n)).toBe(true);
    expect(floatSpecials('f64')).toContain(0x3ff0000010000000n);
    const ints = new Set(integerSpecials(32));
    for (const k of [3n, 8n, 16n, 24n])
      for (const x of [1n << k, (1n << k) - 1n, (1n << k) + 1n]) expect(ints.has(x)).toBe(true);
    for (const x of [0n, 0xffffffffn, 0x80000000n, 0x7fffffffn, 0x80000001n]) expect(ints.has(x)).toBe(true);
  });
  it('all pairs of them are tried, where they may be', () => {
    const r = ruleOf('FADD $d, $a, $b', 'FADD $d, $b, $a');
    const all = floatSpecials('f32');
    const met = new Set<string>();
    for (const v of specialValues(r, r.instances[0], new Draw('x'), all.length ** 2, 0))
      met.add(r.vars.flatMap((x, i) => (x.name === 'd' ? [] : [v[i]])).join());
    expect(met.size).toBe(all.length ** 2);
  });
});

describe.skipIf(solver === null)('laws of IEEE 754 that proofs rest on hold in a small format', () => {
  // 3 bits of exponent and 3 of significand have every kind of number: what no format tells apart shows here.
  const F = '(_ FloatingPoint 3 3)';
  const one = '(fp #b0 #b011 #b00)';
  const two = '(fp #b0 #b100 #b00)';
  const minusZero = '(_ -zero 3 3)';
  const zero = '(_ +zero 3 3)';
  const exact = (then: string): string => `(ite (= (fp.mul RTN x y) (fp.mul RTP x y)) ${then} x)`;
  const LAWS: readonly (readonly [law: string, left: string, right: string, modes: string])[] = [
    ['sums commute', '(fp.add r x y)', '(fp.add r y x)', 'RNE RTZ RTN RTP'],
    ['products commute', '(fp.mul r x y)', '(fp.mul r y x)', 'RNE RTZ RTN RTP'],
    ['signs of factors cancel', '(fp.mul r (fp.neg x) (fp.neg y))', '(fp.mul r x y)', 'RNE RTZ RTN RTP'],
    ['and in fused ones', '(fp.fma r (fp.neg x) y z)', '(fp.fma r x (fp.neg y) z)', 'RNE RTZ RTN RTP'],
    ['size and sign of a product', '(fp.mul r (fp.neg x) y)', '(fp.neg (fp.mul r x y))', 'RNE RTZ'],
    ['size and sign of a quotient', '(fp.div r (fp.neg x) y)', '(fp.neg (fp.div r x y))', 'RNE RTZ'],
    ['one', `(fp.mul r x ${one})`, 'x', 'RNE RTZ RTN RTP'],
    ['plus zero', `(fp.add r x ${zero})`, `(ite (= x ${minusZero}) ${zero} x)`, 'RNE RTZ RTP'],
    ['plus zero, rounded down', `(fp.add r x ${zero})`, 'x', 'RTN'],
    ['minus zero, rounded down', `(fp.add r x ${minusZero})`, `(ite (= x ${zero}) ${minusZero} x)`, 'RTN'],
    [
      'plus zero, fused, of a size',
      `(fp.fma r (fp.abs x) (fp.abs y) ${zero})`,
      '(fp.mul r (fp.abs x) (fp.abs y))',
      'RNE RTZ RTN RTP',
    ],
    ['plus zero, fused, of a square', `(fp.fma r x x ${zero})`, '(fp.mul r x x)', 'RNE RTZ RTN RTP'],
    [
      'an exact product, fused',
      exact('(fp.fma r x y z)'),
      exact('(fp.add r (fp.mul r x y) z)'),
      'RNE RTZ RTN RTP',
    ],
    [
      'integers',
      '(fp.roundToIntegral RTP (fp.roundToIntegral r x))',
      '(fp.roundToIntegral r x)',
      'RNE RTZ RTN RTP',
    ],
    ['two', `(fp.mul r x ${two})`, '(fp.add r x x)', 'RNE RTZ RTN RTP'],
    ['minus zero', `(fp.add r x ${minusZero})`, 'x', 'RNE RTZ RTP'],
    ['one, fused', `(fp.fma r x ${one} z)`, '(fp.add r x z)', 'RNE RTZ RTN RTP'],
    ['minus one, fused', `(fp.fma r x (fp.neg ${one}) z)`, '(fp.add r (fp.neg x) z)', 'RNE RTZ RTN RTP'],
    ['minus zero, fused', `(fp.fma r x y ${minusZero})`, '(fp.mul r x y)', 'RNE RTZ RTP'],
  ];
  it.each(LAWS)(
    '%s',
    async (_, left, right, modes) => {
      const asked = (mode: string): string =>
        `(reset)(set-option :timeout 30000)(declare-fun x () ${F})(declare-fun y () ${F})(declare-fun z () ${F})` +
        `(define-fun r () RoundingMode ${mode})(assert (not (= ${left} ${right})))(check-sat)`;
      for (const mode of modes.split(' '))
        expect((await solver!.solve(asked(mode), 60_000)).trim(), mode).toBe('unsat');
      // Where a law leaves a mode out, it does not hold in it.
      for (const mode of ['RNE', 'RTZ', 'RTN', 'RTP'])
        if (!modes.includes(mode))
          expect((await solver!.solve(asked(mode), 60_000)).trim(), mode).toBe('sat');
    },
    60_000,
  );
  it.each([
    ['FFMA $d, $a, 0x3f800000, $c', 'FADD $d, $a, $c'],
    ['FMUL $d, $a, 0x40000000', 'FADD $d, $a, $a'],
    ['DADD $t, $a, 0x8000000000000000\nDMUL $d, $t, $b', 'DMUL $d, $b, $a'],
    ['FMUL.FTZ.SAT $t, $a, $b\nFADD.FTZ $d, $t, 0x80000000', 'MOV $d, $t'],
    ['FMUL.RM $d, -$a, -$b', 'FMUL.RM $d, $a, $b'],
  ])('%s is %s', async (match, rewrite) => {
    expect(await verdictOf(match, rewrite)).toMatchObject({
      verdict: 'verified',
      how: 'by laws of IEEE 754',
    });
  });
  it.each([
    ['FADD.RM $t, $a, 0x80000000\nFADD $d, $t, $b', 'FADD $d, $a, $b'],
    ['FFMA.RM $d, $a, $b, 0x80000000', 'FMUL.RM $d, $a, $b'],
    ['FMUL.RM $d, -$a, $b', 'FMUL.RM $t, $a, $b\nFADD $d, -$t, 0x80000000'],
  ])('%s is not %s', async (match, rewrite) => {
    expect((await prove(ruleOf(match, rewrite), solver!.solve, SHORT)).verdict).not.toBe('verified');
  });
});

describe.skipIf(solver === null)('a goal as linear arithmetic over integers', () => {
  const u = (x: bigint): bigint => BigInt.asUintN(8, x);
  const s = (x: bigint): bigint => BigInt.asIntN(8, x);
  type Exact = (a: bigint, b: bigint) => bigint;
  const CONSTANTS = [1n, 3n, 10n, 127n, 128n, 200n, 255n];
  const SHIFTS = [0n, 1n, 5n, 7n, 8n, 9n];
  // Quotients of BigInt are rounded towards zero, its shifts down.
  interface Operation {
    readonly op: Node['op'];
    readonly exact: Exact;
    /** What the second operand is, if it has to be a constant. */
    readonly constants?: readonly bigint[];
    readonly more?: Partial<Node>;
  }
  const OPERATIONS: readonly Operation[] = [
    { op: 'add', exact: (a, b) => u(a + b) },
    { op: 'sub', exact: (a, b) => u(a - b) },
    { op: 'mul', exact: (a, c) => u(a * c), constants: CONSTANTS },
    { op: 'umulh', exact: (a, c) => (a * c) >> 8n, constants: CONSTANTS },
    { op: 'smulh', exact: (a, c) => u((s(a) * s(c)) >> 8n), constants: CONSTANTS },
    { op: 'udiv', exact: (a, c) => a / c, constants: CONSTANTS },
    { op: 'urem', exact: (a, c) => a % c, constants: CONSTANTS },
    { op: 'sdiv', exact: (a, c) => u(s(a) / s(c)), constants: CONSTANTS },
    { op: 'srem', exact: (a, c) => u(s(a) % s(c)), constants: CONSTANTS },
    { op: 'shl', exact: (a, k) => u(a << k), constants: SHIFTS },
    { op: 'lshr', exact: (a, k) => a >> k, constants: SHIFTS },
    { op: 'ashr', exact: (a, k) => u(s(a) >> k), constants: SHIFTS },
    { op: 'and', exact: (a, c) => a & c, constants: [0n, 1n, 15n, 127n, 128n, 240n, 255n] },
    { op: 'not', exact: (a) => u(~a) },
    { op: 'eq', exact: (a, b) => BigInt(a === b), more: { width: 1 } },
    { op: 'ult', exact: (a, b) => BigInt(a < b), more: { width: 1 } },
    { op: 'slt', exact: (a, b) => BigInt(s(a) < s(b)), more: { width: 1, n: 8 } },
    { op: 'zext', exact: (a) => a, more: { width: 16, n: 8 } },
    { op: 'sext', exact: (a) => BigInt.asUintN(16, s(a)), more: { width: 16, n: 8 } },
    { op: 'extract', exact: (a) => (a >> 2n) & 7n, more: { width: 3, n: 2 } },
    { op: 'concat', exact: (a, b) => (a << 8n) | b, more: { width: 16, n: 8 } },
  ];
  const CORNERS = [0n, 1n, 2n, 77n, 127n, 128n, 129n, 254n, 255n];

  it.each(OPERATIONS)(
    '$op gives its exact value and no other',
    async ({ op, exact, constants, more = {} }) => {
      const plain = { width: 8, args: [], fmt: '', aux: '', n: 0, value: 0n } as const;
      const asked: string[] = [];
      for (const c of constants ?? [null]) {
        const result = { ...plain, op, args: [0, c === null ? 1 : 3], ...more } as Node;
        const nodes = [
          { ...plain, op: 'src', n: 0 },
          { ...plain, op: 'src', n: 1 },
          { ...plain, op: 'src', n: 2, width: result.width },
          { ...plain, op: 'const', value: c ?? 0n },
          result,
        ] as Node[];
        const inputs = [0, 1, 2].map((v) => ({
          name: `$${v}`,
          width: nodes[v].width,
          v,
          wildcard: -1,
          constant: false,
        }));
        const goal: Goal = { nodes, inputs, given: [], results: [{ v: 0, left: 4, right: 2 }] };
        asked.push(`(reset)\n${integerQuestion(goal)!.text}`);
        for (const a of CORNERS)
          for (const b of c === null ? CORNERS : [c]) {
            const r = exact(a, b);
            for (const other of [r, r ^ 1n])
              asked.push(
                `(push)(assert (= v0 ${a}))(assert (= v1 ${b}))(assert (= v2 ${other}))(check-sat)(pop)`,
              );
          }
      }
      const said = (await solver!.solve(asked.join('\n'), 60_000)).trim().split('\n');
      expect(said.length).toBeGreaterThanOrEqual(2 * CORNERS.length);
      expect(said).toEqual(said.map((_, k) => (k % 2 === 0 ? 'unsat' : 'sat')));
    },
    60_000,
  );
});

describe('questions', () => {
  it.skipIf(solver === null)('two tables are one function exactly if they are equal', async () => {
    const table = fc.integer({ min: 0, max: 255 });
    await fc.assert(
      fc.asyncProperty(table, table, fc.boolean(), async (s, t, same) => {
        const v = await verdictOf(
          `LOP3.B32 $d, $a, $b, $c, ${s}`,
          `LOP3.B32 $d, $a, $b, $c, ${same ? s : t}`,
        );
        expect(v.verdict).toBe(same || s === t ? 'verified' : 'refuted');
      }),
      { numRuns: runs(20), seed: 7 },
    );
  });
  it('of instances that differ in nothing but names of modifiers are one', () => {
    const rule = ruleOf('IMAD.$type $d, $a, 1, $c', 'IADD3 $d, $a, $c, 0');
    const texts = new Set(rule.instances.map((i) => questionOf(goalOf(rule, i)).text));
    expect([rule.instances.length, texts.size]).toEqual([4, 2]);
  });
  it('a bound of so many bits is the range of signed numbers of that many', () => {
    const rule = ruleOf('IMAD $d, $a, 1, $c', 'IADD3 $d, $a, $c, 0');
    const goal = goalOf(rule, rule.instances[0]);
    expect(boundText(goal, { bits: 8, constants: false })).toBe('operands from -2^7 to 2^7-1');
    expect(boundText(goal, { bits: 12, constants: true })).toBe(
      'operands and constants from -2^11 to 2^11-1',
    );
  });
  it('answers are read in every form of a bit vector', () => {
    expect([...readModel('((v0 #x0f)\n (v1 #b101) (v2 (_ bv12 32)))')]).toEqual([
      ['v0', 15n],
      ['v1', 5n],
      ['v2', 12n],
    ]);
  });
  it('a program that is no solver is reported', async () => {
    for (const command of ['no-such-solver -in', `${process.execPath} --version`]) {
      const s = openSolver(command);
      await expect(
        prove(ruleOf('SHL $t, $a, 8\nSHR.U32 $d, $t, 8', 'LOP3 $d, $a, 0xffffff, 0, 0xc0'), s.solve),
      ).rejects.toThrow(/cannot use/);
      s.close();
    }
  });
});

describe('floats in counterexamples', () => {
  it.each([
    [0x3f800000n, 'f32', '1'],
    [0x3dcccccdn, 'f32', '0.1'],
    [0x7f7fffffn, 'f32', '3.4028235e+38'],
    [0x80000000n, 'f32', '-0'],
    [0xff800000n, 'f32', '-Infinity'],
    [0x7fffffffn, 'f32', 'NaN'],
    [0x3fb999999999999an, 'f64', '0.1'],
    [0xc000000000000000n, 'f64', '-2'],
    [0x3555n, 'f16', '0.333251953125'],
    [0xbf80n, 'bf16', '-1'],
  ] as const)('0x%x of %s is %s', (pattern, fmt, text) => {
    expect(decimal(pattern, fmt)).toBe(text);
  });

  it('are shown where a float operation takes or gives them, integers are not', () => {
    expect(refutation(ruleOf('FADD $d, $a, $b', 'FADD $d, $a, -$b'))).toMatch(
      /\$b += 0x[0-9a-f]{8} \(32 bits\) = \S+\n[\s\S]*\$d += 0x[0-9a-f]{8} = \S+ before, 0x[0-9a-f]{8} = \S+ after/,
    );
    expect(refutation(ruleOf('IADD3 $d, $a, $b, 0', 'IADD3 $d, $a, -$b, 0'))).not.toMatch(/bits\) =/);
  });
});
