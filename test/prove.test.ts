import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openSolver, packagedSolver } from '../src/cli/solver.ts';
import { compileGroup } from '../src/rules/group.ts';
import { tryOut } from '../src/rules/prove/draw.ts';
import { decimal } from '../src/rules/prove/float-values.ts';
import { goalOf } from '../src/rules/prove/goal.ts';
import { lawful } from '../src/rules/prove/laws.ts';
import { NodeTable } from '../src/rules/prove/nodes.ts';
import { LIMITS, prove } from '../src/rules/prove/prove.ts';
import { questionOf, readModel } from '../src/rules/prove/question.ts';
import { refutation } from '../src/rules/prove/refute.ts';
import { oneBit } from '../src/rules/prove/slices.ts';
import type { Verdict } from '../src/rules/prove/verdict.ts';
import type { Rule } from '../src/rules/rule.ts';
import { testIsa } from './support/isa.ts';
import { runs } from './support/size.ts';

const solver = packagedSolver() ? openSolver(undefined) : null;
if (solver === null)
  console.warn('prove.test.ts: z3-solver is not installed, so that nothing is proved here');
afterAll(() => solver?.close());

/** A rule from its texts. */
function ruleOf(match: string, rewrite: string, when?: string, more: object = {}): Rule {
  const rule = { id: 'r', title: 't', match, rewrite, when, source: 's', ...more };
  const { rules, issues } = compileGroup({ group: 'test', rules: [rule] }, testIsa());
  expect(issues).toEqual([]);
  return rules[0];
}

/** The limits of real proofs, so that no verdict hangs on how busy the machine is; and some for what is too hard anyway. */
const FEW = { ...LIMITS, samples: 200 };
const SHORT = { ...FEW, question: 600, rule: 600 };
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
    const inputs = ['$x', '$y'].map((name, v) => ({ name, width: 16, v, unasked: -1, constant: false }));
    const results = [
      { v: 2, left: fadd('bf16', copied, y), right: fadd('bf16', x, y) },
      {
        v: 3,
        left: fadd('bf16', x, t.node('ftz', 16, [flushed], { fmt: 'bf16' })),
        right: fadd('bf16', x, t.node('ftz', 16, [y], { fmt: 'bf16' })),
      },
    ];
    return lawful({ nodes: t.nodes, inputs, given: [], results })!.results.map((r) => r.left === r.right);
  };
  expect(sumOf('bf16')).toEqual([true, true]);
  expect(sumOf('f16')).toEqual([false, false]);
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
  it('what nobody asks about, asked', async () => {
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
    expect(
      await verdictOf('MUFU.RCP $t, -$a\nFMUL $d, $t, $b', 'MUFU.RCP $s, $a\nFMUL $d, -$s, $b'),
    ).toMatchObject({ verdict: 'out of scope' });
    expect(await verdictOf('MUFU.RCP $d, $a', 'MUFU.RCP $d, $a')).toMatchObject({ verdict: 'verified' });
  });
});

describe.skipIf(solver === null)('laws of IEEE 754 that proofs rest on hold in a small format', () => {
  // 3 bits of exponent and 3 of significand have every kind of number: what no format tells apart shows here.
  const F = '(_ FloatingPoint 3 3)';
  const one = '(fp #b0 #b011 #b00)';
  const two = '(fp #b0 #b100 #b00)';
  const minusZero = '(_ -zero 3 3)';
  const LAWS: readonly (readonly [law: string, left: string, right: string, modes: string])[] = [
    ['sums commute', '(fp.add r x y)', '(fp.add r y x)', 'RNE RTZ RTN RTP'],
    ['products commute', '(fp.mul r x y)', '(fp.mul r y x)', 'RNE RTZ RTN RTP'],
    ['signs of factors cancel', '(fp.mul r (fp.neg x) (fp.neg y))', '(fp.mul r x y)', 'RNE RTZ RTN RTP'],
    ['and in fused ones', '(fp.fma r (fp.neg x) y z)', '(fp.fma r x (fp.neg y) z)', 'RNE RTZ RTN RTP'],
    ['size and sign of a product', '(fp.mul r (fp.neg x) y)', '(fp.neg (fp.mul r x y))', 'RNE RTZ'],
    ['size and sign of a quotient', '(fp.div r (fp.neg x) y)', '(fp.neg (fp.div r x y))', 'RNE RTZ'],
    ['one', `(fp.mul r x ${one})`, 'x', 'RNE RTZ RTN RTP'],
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
  it('answers are read in every form of a bit vector', () => {
    expect([...readModel('((v0 #x0f)\n (v1 #b101) (v2 (_ bv12 32)))')]).toEqual([
      ['v0', 15n],
      ['v1', 5n],
      ['v2', 12n],
    ]);
  });
  it('a program that is no solver is told', async () => {
    for (const command of ['no-such-solver -in', `${process.execPath} --version`]) {
      const s = openSolver(command);
      await expect(prove(ruleOf('MOV $t, $a\nMOV $d, $t', 'MOV $d, $a'), s.solve)).rejects.toThrow(
        /cannot use/,
      );
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
