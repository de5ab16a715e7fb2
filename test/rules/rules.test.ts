import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/engine/settle.ts';
import { OpFlag } from '../../src/ir/opcode.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { checkSet } from '../../src/rules/checks.ts';
import type { RulesDoc } from '../../src/rules/document.ts';
import { applyRules, type DriverOptions, RulesDiverge } from '../../src/rules/driver.ts';
import { byPrecedence } from '../../src/rules/engine.ts';
import { compileGroup } from '../../src/rules/group.ts';
import { Matcher } from '../../src/rules/matcher.ts';
import type { Rule } from '../../src/rules/rule.ts';
import { ORDERS, permuteTable } from '../../src/rules/tables.ts';
import { testIsa } from '../support/isa.ts';
import { runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const costs = (await planWith({})).plan!.backend.facts.costs as Record<string, number>;

type RuleTexts = readonly [match: string, rewrite: string, when?: string, more?: object];

/** Parses rules. */
function rulesOf(...texts: readonly RuleTexts[]): Rule[] {
  const doc: RulesDoc = {
    group: 'test',
    rules: texts.map(([match, rewrite, when, more], i) => ({
      id: `r${i}`,
      title: 'test',
      match,
      rewrite,
      when,
      source: 'test',
      ...more,
    })),
  };
  const { rules, issues } = compileGroup(doc, isa);
  expect(issues).toEqual([]);
  return rules;
}

const faultsOf = (match: string, rewrite: string, when?: string): string[] =>
  compileGroup(
    { group: 'test', rules: [{ id: 'r', title: 't', match, rewrite, when, source: 's' }] },
    isa,
  ).issues.map((i) => `${i.field}: ${i.message}`);

const plain: DriverOptions = { level: 3, sm: 80, knob: () => null, mode: 'precedence' };
/** Rules alone, or with the passes that clean up around them. */
type Options = Partial<DriverOptions> & { readonly clean?: boolean; readonly approximate?: boolean };

/** Body of a function after rules; registers R0 to R7 hold parameters, what is stored counts. */
function run(rules: readonly Rule[], body: string, opts: Options = {}): string[] {
  const params = [0, 1, 2, 3].map((i) => `  .param b32 p${i} size 4 align 4 at ${4 * i} reg R${i}`);
  const wide = [4, 5].map((i) => `  .param b64 p${i} size 8 align 8 at ${8 * i} reg RD${i}`);
  const text = ['.func f', ...params, ...wide, '{', ...body.trim().split('\n'), '}'].join('\n');
  const fn = parseFn(text, isa);
  const matcher = Matcher.of(byPrecedence(rules), isa);
  const all = { ...plain, ...opts };
  const knob = (name: string) => (name === 'FoldApproximate' && opts.approximate === true ? true : null);
  const out = opts.clean === true ? settle(fn, matcher, isa, all, knob) : applyRules(fn, matcher, all);
  return printFn(out, { locs: false })
    .split('\n')
    .filter((l) => /^ +(@|[A-Z])|^BB/.test(l))
    .map((l) => l.trim());
}

describe('the language', () => {
  it.each([
    ['ADD3 $d, $a, $b, $c', 'MOV $d, $a', undefined, "match: unknown opcode 'ADD3'"],
    ['IADD3 $d, $a, $b', 'MOV $d, $x', undefined, "rewrite: 'x' is not defined by the match"],
    ['IADD3 $d, $a', 'MOV $d, $a', undefined, 'match: IADD3 takes 4 operands (d, a, b, c), found 2'],
    [
      'LDG $d, [$a+0]',
      'MOV $d, $a',
      undefined,
      'match: LDG is not pure: rules may contain only pure instructions',
    ],
    [
      'CVTA.SHARED $d, $a',
      'MOV.B64 $d, $a',
      undefined,
      'match: CVTA states no meaning: rules may contain only instructions with one (means:)',
    ],
    ['IADD3.B64 $d, $a, $b', 'MOV $d, $a', undefined, "match: IADD3 has no modifier 'B64' here"],
    [
      'ISETP $p, $a, $b',
      'PLOP3 $p, PT, PT, PT, 0xf0',
      undefined,
      "match: ISETP needs a modifier of the group 'cmp'",
    ],
    ['IADD3 $d, $a, $b', 'IADD3 $a, $d, $b', undefined, 'rewrite: $a is not a destination of the root'],
    ['IADD3 $d, $a, $b', 'IADD3 $t, $a, $b', undefined, 'rewrite: the rewrite does not define $d'],
    [
      'IMAD_WIDE $d, $a, $b, $c',
      'IADD3 $d, $a, $b, $c',
      undefined,
      'rewrite: widths disagree: 32 and 64 bits',
    ],
    [
      'IADD3 $t, $a, $b\nMOV $d, $c',
      'MOV $d, $c',
      undefined,
      'match: no later line uses what this one defines',
    ],
    ['IADD3 $d, $a, #k', 'MOV $d, $a', 'kk == 0', "when: unknown name 'kk'"],
    ['IADD3 $d, $a, #k', 'MOV $d, $a', 'a == 0', "when: 'a' is not a constant: its value is not known here"],
    ['IADD3 $d, $a, #k', 'MOV $d, $a', 'k == 1 && 1 == 2', 'when: the condition never holds'],
    ['IADD3 $d, $a, #k', 'MOV $d, $a', 'uses(x) == 1', "when: 'x' is not a variable of the match"],
    [
      'IADD3 $d, $a, #k',
      'MOV $d, $a',
      'uses(a) == k',
      "when: 'k' cannot be combined with use counts, places or targets",
    ],
    ['IADD3 $d, $a,', 'MOV $d, $a', undefined, 'match: expected an operand, found the end of the line'],
    [
      'IADD3 $d, $a, #(1 + 2)',
      'MOV $d, $a',
      undefined,
      "match: an expression cannot be matched: write #name, and a condition in 'when'",
    ],
  ] as const)('%s => %s is refused', (match, rewrite, when, message) => {
    expect(faultsOf(match, rewrite, when)).toContain(message);
  });

  it('a rule without widths is one for each that agrees', () => {
    const [r] = rulesOf(['IMAD $d, $a, 1, $c', 'IADD3 $d, $a, $c']);
    expect(r.instances.map((i) => i.widths[0])).toEqual([32, 32, 64, 64]);
  });

  it('tables of modifiers', () => {
    const doc: RulesDoc = {
      group: 'g',
      tables: { swap: { LT: 'GT', GT: 'LT', EQ: 'EQ' } },
      rules: [
        {
          id: 's',
          title: 't',
          match: 'ISETP.$cmp.$type $p, #k, $a',
          rewrite: 'ISETP.swap(cmp).$type $p, $a, #k',
          source: 's',
        },
      ],
    };
    const { rules, issues } = compileGroup(doc, isa);
    expect(issues).toEqual([]);
    expect(run(rules, 'BB0:\n  ISETP.LT.U32 P6, 5, R1\n  @P6 STG [RD4], R1\n  RET')[1]).toBe(
      'ISETP.GT.U32 P6, R1, 5',
    );
    // LE has no partner in the table, so the rule does not apply to it.
    expect(run(rules, 'BB0:\n  ISETP.LE P6, 5, R1\n  @P6 STG [RD4], R1\n  RET')[1]).toBe(
      'ISETP.LE P6, 5, R1',
    );
  });
});

describe('matching', () => {
  const addZero = () => rulesOf(['IADD3 $d, $a, 0, 0', 'MOV $d, $a']);
  it('finds operands in every order that means the same', () => {
    for (const s of ['R1, RZ, RZ', 'RZ, R1, RZ', 'RZ, RZ, R1'])
      expect(run(addZero(), `BB0:\n  IADD3 R6, ${s}\n  STG [RD4], R6\n  RET`)[1]).toBe('MOV R6, R1');
  });

  it('permutes truth tables with their inputs', () => {
    // (a & b) | c through a register in any of the three places.
    const rules = rulesOf([
      'LOP3 $t, $a, $b, $c, #g\nLOP3 $d, $t, $b, $c, #f',
      'LOP3 $d, $a, $b, $c, #resize(lop3(lop3(resize(0xf0, 8), 0xcc, 0xaa, g), 0xcc, 0xaa, f), 32)',
      'uses(t) == 1',
    ]);
    const out = run(
      rules,
      'BB0:\n  LOP3 R6, R0, R1, R2, 0x80\n  LOP3 R7, R2, R6, R1, 0x3c\n  STG [RD4], R7\n  RET',
      { clean: true },
    );
    const m = /LOP3 R7, (R\d), (R\d), (R\d), (0x\w+|\d+)/.exec(out[1])!;
    expect(out).toHaveLength(4);
    for (let n = 0; n < 8; n++) {
      const bit: Record<string, bigint> = {
        R0: BigInt(n & 1),
        R1: BigInt((n >> 1) & 1),
        R2: BigInt((n >> 2) & 1),
      };
      const lop = isa.byName.get('LOP3')!;
      const inner = evalBig(lop, 0, [bit.R0, bit.R1, bit.R2, 0x80n])[0];
      const want = evalBig(lop, 0, [bit.R2, inner, bit.R1, 0x3cn])[0] & 1n;
      expect(evalBig(lop, 0, [bit[m[1]], bit[m[2]], bit[m[3]], BigInt(m[4])])[0] & 1n).toBe(want);
    }
  });

  it('a minus is found whichever operand carries it', () => {
    const rules = rulesOf(['IADD3 $d, $a, -$a, $b', 'MOV $d, $b']);
    expect(run(rules, 'BB0:\n  IADD3 R6, R1, R2, -R1\n  STG [RD4], R6\n  RET')[1]).toBe('MOV R6, R2');
    expect(run(rules, 'BB0:\n  IADD3 R6, -R1, R2, R1\n  STG [RD4], R6\n  RET')[1]).toBe('MOV R6, R2');
    expect(run(rules, 'BB0:\n  IADD3 R6, R1, R2, R1\n  STG [RD4], R6\n  RET')[1]).toBe(
      'IADD3 R6, R1, R2, R1',
    );
  });

  const chain = () => rulesOf(['IADD3 $t, $a, #j, 0\nIADD3 $d, $t, #k, 0', 'IADD3 $d, $a, #(j + k), 0']);
  it.each([
    [
      'follows the one definition',
      'BB0:\n  IADD3 R6, R1, 5\n  IADD3 R7, R6, 6\n  STG [RD4], R7\n  RET',
      'IADD3 R7, R1, 11',
    ],
    [
      'not where the source has changed since',
      'BB0:\n  IADD3 R6, R1, 5\n  MOV R1, R2\n  IADD3 R7, R6, 6\n  STG [RD4], R7\n  RET',
      'IADD3 R7, R6, 6',
    ],
    [
      'not where the definition is guarded',
      'BB0:\n  ISETP.EQ P8, R0, 0\n  IADD3 R6, R2, 1\n  @P8 IADD3 R6, R1, 5\n  IADD3 R7, R6, 6\n  STG [RD4], R7\n  RET',
      'IADD3 R7, R6, 6',
    ],
    [
      'not around a loop',
      'BB0:\n  MOV R6, R2\nBB1:\n  IADD3 R7, R6, 6\n  STG [RD4], R7\n  IADD3 R6, R1, 5\n  ISETP.EQ P8, R7, 0\n  @P8 BRA BB1\nBB2:\n  RET',
      'IADD3 R7, R6, 6',
    ],
    [
      'not where another path defines it too',
      'BB0:\n  IADD3 R6, R1, 5\n  ISETP.EQ P8, R0, 0\n  @P8 BRA BB2\nBB1:\n  MOV R6, R2\nBB2:\n  IADD3 R7, R6, 6\n  STG [RD4], R7\n  RET',
      'IADD3 R7, R6, 6',
    ],
    [
      'not where the source is redefined in a loop below its definition',
      'BB0:\n  MOV R6, R2\nBB1:\n  IADD3 R8, R6, 5\n  IADD3 R6, R6, 1\n  ISETP.EQ P9, R6, 7\n  @P9 BRA BB1\nBB2:\n  IADD3 R7, R8, 6\n  STG [RD4], R7\n  RET',
      'IADD3 R7, R8, 6',
    ],
  ])('%s', (_, body, expected) => {
    expect(run(chain(), body)).toContain(expected);
  });

  it('a constant is not what a line defines', () => {
    const twice = rulesOf(['SHL $x, $a, 1\nIADD3 $y, $x, $b, 0\nLOP3 $d, $y, $x, _, 0x3c', 'MOV $d, 0']);
    const body = (second: string): string[] =>
      run(
        twice,
        `BB0:\n SHL R10, R0, 1\n IADD3 R11, R10, R1\n LOP3 R12, R11, ${second}, RZ, 60\n STG [RD4], R12`,
      );
    expect(body('7').some((l) => l.startsWith('LOP3'))).toBe(true);
    expect(body('R10').some((l) => l.startsWith('LOP3'))).toBe(false);
  });

  it('a condition that does not hold for a constant holds for another one with the same low word', () => {
    const five = rulesOf(['IADD3.64 $d, $a, #k, 0', 'MOV.64 $d, $a', 'k == 5']);
    const body =
      'BB0:\n  IADD3.64 RD6, RD4, 0x8000000000000005\n  IADD3.64 RD8, RD4, 5\n  STG.B64 [RD6], RD8\n  RET';
    expect(run(five, body)).toEqual([
      'BB0:',
      'IADD3.64 RD6, RD4, 0x8000000000000005',
      'MOV.64 RD8, RD4',
      'STG.B64 [RD6], RD8',
      'RET',
    ]);
  });

  it('the negation of what is negated is that itself', () => {
    const moved = rulesOf(['FMUL $d, -$a, $b', 'FFMA $d, $a, -$b, 0x80000000']);
    const of = (operands: string): string[] =>
      run(moved, `BB0:\n  FMUL R6, ${operands}\n  STG [RD4], R6\n  RET`);
    expect(of('-R1, R2')).toContain('FFMA R6, R1, -R2, 0x80000000');
    expect(of('-R1, -R2')).toContain('FFMA R6, R1, R2, 0x80000000');
  });

  it('the guard of the root stays', () => {
    expect(
      run(
        addZero(),
        'BB0:\n  ISETP.EQ P8, R0, 0\n  MOV R6, R2\n  @P8 IADD3 R6, R1, 0\n  STG [RD4], R6\n  RET',
      ),
    ).toContain('@P8 MOV R6, R1');
  });

  it('conditions on uses, level, target and knobs', () => {
    const two = 'BB0:\n  IADD3 R6, R1, 5\n  IADD3 R7, R6, 6\n  STG [RD4], R7\n  STG [RD4+8], R6\n  RET';
    const when = (w: string) =>
      rulesOf(['IADD3 $t, $a, #j, 0\nIADD3 $d, $t, #k, 0', 'IADD3 $d, $a, #(j + k), 0', w]);
    const fires = (w: string, o: Partial<DriverOptions> = {}) =>
      run(when(w), two, o).includes('IADD3 R7, R1, 11');
    expect([
      fires('uses(t) == 1'),
      fires('uses(t) == 2'),
      fires('level >= 3'),
      fires('level > 3'),
      fires('sm >= 90'),
      fires('sm >= 80 && sm < 90'),
    ]).toEqual([false, true, true, false, false, true]);
    expect([
      fires('knob(X)'),
      fires('knob(X)', { knob: () => true }),
      fires('j == 5 && k != 5'),
      fires('j == k'),
      fires('sameblock(t)'),
      fires('rootdepth() == 0'),
      fires('intables(t)'),
    ]).toEqual([false, true, true, false, true, true, false]);
  });

  it('of several rules the highest priority wins, then the first of the file', () => {
    const text = 'BB0:\n  IADD3 R6, R1, RZ\n  STG [RD4], R6\n  RET';
    const both = (a: object, b: object) =>
      rulesOf(
        ['IADD3 $d, $a, 0, 0', 'LOP3 $d, $a, 0, 0, 0xf0', undefined, a],
        ['IADD3 $d, $a, 0, 0', 'MOV $d, $a', undefined, b],
      );
    expect(run(both({}, {}), text)[1]).toBe('LOP3 R6, R1, RZ, RZ, 240');
    expect(run(both({}, { priority: 1 }), text)[1]).toBe('MOV R6, R1');
    // The bands of the described matcher: equal priorities, the first stays; a higher one displaces it.
    expect(run(both({ priority: 5 }, { priority: 5 }), text, { mode: 'bands' })[1]).toBe(
      'LOP3 R6, R1, RZ, RZ, 240',
    );
    expect(run(both({ priority: 5 }, { priority: 6 }), text, { mode: 'bands' })[1]).toBe('MOV R6, R1');
  });
});

describe('the driver', () => {
  const none: Rule[] = [];
  it('a constant bank at a known index is read without the register', () => {
    const load = (offset: number) =>
      run(none, `BB0:\n  MOV.64 RD6, ${offset}\n  LDC R9, c[0x0][RD6+0x10]\n  STG [RD4], R9\n  RET`, {
        clean: true,
      });
    expect(load(0x160)).toEqual(['BB0:', 'LDC R9, c[0x0][0x170]', 'STG [RD4], R9', 'RET']);
    expect(load(0x10000)[2]).toBe('LDC R9, c[0x0][RD6+0x10]');
    expect(load(-32)[2]).toBe('LDC R9, c[0x0][RD6+0x10]');
  });
  it('folds constants, propagates copies, drops what is dead', () => {
    expect(
      run(
        none,
        'BB0:\n  MOV R6, 5\n  IMAD R7, R6, 3, R6\n  IADD3 R8, R7, -R6\n  MOV R9, R8\n  STG [RD4], R9\n  RET',
        { clean: true },
      ),
    ).toEqual(['BB0:', 'STG [RD4], 15', 'RET']);
  });
  it('resolves guards', () => {
    expect(
      run(none, 'BB0:\n  ISETP.EQ P6, 1, 1\n  @P6 STG [RD4], R1\n  @!P6 STG [RD4], R2\n  RET', {
        clean: true,
      }),
    ).toEqual(['BB0:', 'STG [RD4], R1', 'RET']);
    expect(
      run(none, 'BB0:\n  ISETP.EQ P6, R0, 1\n  PLOP3 P7, !P6, PT, PT, 0xf0\n  @P7 STG [RD4], R1\n  RET', {
        clean: true,
      }),
    ).toEqual(['BB0:', 'ISETP.EQ P6, R0, 1', '@!P6 STG [RD4], R1', 'RET']);
  });
  it('does not propagate what has changed since', () => {
    expect(
      run(none, 'BB0:\n  MOV R6, R1\n  MOV R1, R2\n  STG [RD4], R6\n  STG [RD4+8], R1\n  RET', {
        clean: true,
      }),
    ).toEqual(['BB0:', 'MOV R6, R1', 'MOV R1, R2', 'STG [RD4], R6', 'STG [RD4+0x8], R2', 'RET']);
  });
  it('reads what an inner line gave only where it still stands', () => {
    const rules = rulesOf([
      'IADD3 $x, $a, $b, 0\nSHR.U32 $h, $x, 1\nLOP3 $d, $h, $c, _, 0xc0',
      'IADD3 $s, $x, $x, 0\nLOP3 $d, $s, $c, 0, 0xc0',
    ]);
    const text = (between: string) =>
      `BB0:\n  IADD3 R6, R0, R1\n  SHR.U32 R7, R6, 1\n${between}  LOP3 R8, R7, R2, RZ, 0xc0\n  STG [RD4], R8\n  RET`;
    expect(run(rules, text(''))).toContain('IADD3 R9, R6, R6');
    expect(run(rules, text('  MOV R6, 5\n'))).toContain('LOP3 R8, R7, R2, RZ, 192');
  });
  it('tells the results of a line apart, also where one is left out', () => {
    const rules = rulesOf(['UNPAIR $l, $h, $a\nPAIR $d, $l, $h', 'MOV $d, $a']);
    const pair = (parts: string, of: string) =>
      run(rules, `BB0:\n  UNPAIR ${parts}, RD5\n  PAIR RD6, ${of}\n  STG.B64 [RD4], RD6\n  RET`)[2];
    expect(pair('R6, R7', 'R6, R7')).toBe('MOV.64 RD6, RD5');
    expect(pair('R6, _', 'R6, R6')).toBe('PAIR RD6, R6, R6');
    expect(pair('R6, R7', 'R6, R6')).toBe('PAIR RD6, R6, R6');
  });
  it('a guard that is a result too is written last, or not at all before it is asked', () => {
    const start = 'BB0:\n  ISETP.EQ P6, R0, R1\n  ISETP.EQ P7, R0, R2\n';
    const end = '\n  @P6 STG [RD4], R0\n  @P7 STG [RD4], R1\n  RET';
    expect(run(none, `${start}  @P6 ISETP.LT P6, P7, 2, 1, PT${end}`, { clean: true }).slice(3, 5)).toEqual([
      '@P6 PLOP3 P7, PT, PT, PT, 240',
      '@P6 PLOP3 P6, !PT, PT, PT, 240',
    ]);
    const rules = rulesOf([
      'ISETP.LT.U32 $p, $q, $a, 0, $c',
      'PLOP3 $p, !PT, PT, PT, 0xf0\nPLOP3 $q, $c, PT, PT, 0xf0',
    ]);
    const below = (guard: string, p: string) =>
      run(rules, `${start}  ${guard} ISETP.LT.U32 ${p}, R3, 0, PT${end}`).slice(3, 5);
    expect(below('@P6', 'P7, P6')).toEqual([
      '@P6 PLOP3 P7, !PT, PT, PT, 240',
      '@P6 PLOP3 P6, PT, PT, PT, 240',
    ]);
    expect(below('@P6', 'P6, P7')[0]).toBe('@P6 ISETP.LT.U32 P6, P7, R3, RZ, PT');
  });
  it('results of a pattern without operands are treated as those of others', () => {
    const parts = rulesOf(['UNPAIR $l, $h, 0x100000002', 'MOV $l, 2\nMOV $h, 1']);
    const unpair = (results: string) =>
      run(parts, `BB0:\n  UNPAIR ${results}, 0x100000002\n  STG [RD4], R7\n  RET`).slice(1, -2);
    expect(unpair('R6, R7')).toEqual(['MOV R6, 2', 'MOV R7, 1']);
    expect(unpair('_, R7')).toEqual(['MOV R7, 1']);
    const start = 'BB0:\n  ISETP.EQ P6, R0, R1\n';
    const seven = rulesOf(['MOV $d, 7', 'IADD3 $d, 3, 4, 0']);
    expect(run(seven, `${start}  @P6 MOV R6 else R2, 7\n  STG [RD4], R6\n  RET`)[2]).toBe(
      '@P6 IADD3 R6 else R2, 3, 4',
    );
    const never = rulesOf([
      'ISETP.LT.U32 $p, $q, 5, 0, PT',
      'PLOP3 $p, !PT, PT, PT, 0xf0\nPLOP3 $q, PT, PT, PT, 0xf0',
    ]);
    const compare = (results: string) =>
      run(never, `${start}  @P6 ISETP.LT.U32 ${results}, 5, 0, PT\n  @P6 STG [RD4], R0\n  RET`)[2];
    expect(compare('P6, P7')).toMatch(/^@P6 ISETP/);
    expect(compare('P7, P6')).toMatch(/^@P6 PLOP3 P7/);
  });
  it('approximate functions fold only when asked', () => {
    const text = 'BB0:\n  MUFU.RCP R6, 0x40000000\n  STG [RD4], R6\n  RET';
    expect(run(none, text, { clean: true })).toHaveLength(4);
    expect(run(none, text, { clean: true, approximate: true })).toEqual([
      'BB0:',
      'STG [RD4], 0x3f000000',
      'RET',
    ]);
  });
  it('stops at its bound and names what fired', () => {
    const rules = rulesOf(['IADD3 $d, $a, $b, 0', 'IADD3 $d, $b, $a, 0']);
    let e: unknown = null;
    try {
      run(rules, 'BB0:\n  IADD3 R6, R1, R2\n  STG [RD4], R6\n  RET');
    } catch (x) {
      e = x;
    }
    expect(e).toBeInstanceOf(RulesDiverge);
    expect((e as RulesDiverge).fired[0].rule).toBe('r0');
  });
  it('shares what it does not change', () => {
    const fn = parseFn('.func f\n{\nBB0:\n  S2R.TID.X R0\n  STG [RD1], R0\n  RET\n}', isa);
    expect(settle(fn, Matcher.of([], isa), isa, plain)).toBe(fn);
  });
});

describe('checks of a set', () => {
  const codes = (...texts: readonly RuleTexts[]) =>
    checkSet(rulesOf(...texts), isa, costs, settle).map((i) => `${i.rule} ${i.code}`);
  it('a good one has none', () => {
    expect(codes(['IADD3 $d, $a, 0, 0', 'MOV $d, $a'])).toEqual([]);
  });
  it('costs', () => {
    expect(codes(['SHL $d, $a, 1', 'IADD3 $t, $a, $a, 0\nIADD3 $d, $t, $a, 0'])).toEqual(['0 rule-cost']);
    expect(
      codes(['SHL $t, $a, #k\nIADD3 $d, $t, $b, 0', 'SHL $u, $a, #k\nLEA $d, $a, $b, #k', undefined]),
    ).toContain('0 rule-cost');
  });
  it('shadows and duplicates', () => {
    expect(
      codes(
        ['IADD3 $d, $a, $b, 0', 'IADD3 $d, $a, $b, 0', undefined, { cost: 1 }],
        ['IADD3 $d, $a, 0, 0', 'MOV $d, $a'],
      ),
    ).toContain('1 rule-shadowed');
    expect(
      codes(
        ['IADD3 $d, $a, #k, 0', 'MOV $d, $a', 'k == 0'],
        ['IADD3 $d, #j, $b, 0', 'MOV $d, $b', 'k == 0'.replace('k', 'j')],
      ),
    ).not.toContain('1 rule-shadowed');
    expect(
      codes(['IADD3 $d, $a, #k, 0', 'MOV $d, $a', 'k == 0'], ['IADD3 $d, #k, $b, 0', 'MOV $d, $b', 'k == 0']),
    ).toContain('1 rule-duplicate');
  });
  it('a rule of some modifiers leaves the others of an inner line to a longer one', () => {
    const longer: RuleTexts = [
      'SHL $t, $a, #j\nSHR.U32 $u, $t, #k\nIADD3 $d, $u, $b, 0',
      'IADD3 $d, $u, $b, 0',
    ];
    const shorter = (type: string): RuleTexts => [
      'SHR.$type $t, $a, #j\nIADD3 $d, $t, $b, 0',
      'IADD3 $d, $b, $t, 0',
      `type == ${type}`,
    ];
    expect(codes(shorter('U32'), longer)).toContain('1 rule-shadowed');
    expect(codes(shorter('S32'), longer)).not.toContain('1 rule-shadowed');
  });
  it('a rule of one modifier, or of an address that is a sum, leaves others to a later one', () => {
    const shift = (type: string): RuleTexts => [
      `SHR.${type} $t, $a, #j\nIADD3 $d, $t, $b, 0`,
      'IADD3 $d, $b, $t, 0',
    ];
    expect(codes(shift('U32'), shift('U32'))).toContain('1 rule-shadowed');
    expect(codes(shift('U32'), shift('S32'))).not.toContain('1 rule-shadowed');
    const sum: RuleTexts = ['IADD3.64 $t, $a, #k, 0\n* [$t+#o]', '* [$a+#(k + o)]'];
    const shifted: RuleTexts = ['SHL.64 $t, $a, #k\n* [$t+#o]', '* [$t+#o]'];
    expect(codes(sum, sum)).toContain('1 rule-shadowed');
    expect(codes(sum, shifted)).not.toContain('1 rule-shadowed');
  });
  it('equal conditions on other constants are no duplicates', () => {
    const of = (first: string, second: string): RuleTexts => [
      `SHL $t, $a, #${first}\nSHR $d, $t, #${second}`,
      'MOV $d, $a',
      'j == 0',
    ];
    expect(codes(of('j', 'k'), of('j', 'k'))).toContain('1 rule-duplicate');
    expect(codes(of('j', 'k'), of('k', 'j'))).not.toContain('1 rule-duplicate');
  });
  it('cycles of two rules', () => {
    const found = checkSet(
      rulesOf(['SHL $d, $a, 1', 'IMAD $d, $a, 2, 0'], ['IMAD $d, $a, 2, 0', 'SHL $d, $a, 1']),
      isa,
      costs,
      settle,
    );
    expect(found.map((i) => i.code).filter((c) => c === 'rule-cycle')).toHaveLength(2);
    expect(found.find((i) => i.code === 'rule-cycle')!.message).toMatch(/r[01] -> r[01] -> r[01]/);
  });
  it('two that agree at a corner and differ elsewhere', () => {
    const two = (more: object) =>
      codes(
        [
          'IADD3 $d, $a, $b, #k',
          'IADD3 $d, $a, $b, #(k + 0)',
          'k == 5 && isreg(a)'.replace('k == 5', 'k == 5'),
          { cost: 1 },
        ],
        ['IMAD $d, $a, 3, #k', 'IMAD $d, $a, 3, #k', 'k == 77', { cost: 1, ...more }],
      );
    expect(two({})).not.toContain('1 rule-overlap');
    expect(
      codes(
        ['IMAD $d, $a, #k, $c', 'IADD3 $d, $a, $c, 0', 'k == 1'],
        ['IMAD $d, $a, $b, 0', 'SHL $d, $b, 3', undefined, { cost: 0 }],
      ),
    ).toContain('1 rule-overlap');
    // A constant of one is any operand of the other, and the reverse.
    expect(codes(['SEL $d, #k, $b, $p', 'MOV $d, #k'], ['SEL $d, $a, #k, $p', 'MOV $d, #(k + 1)'])).toContain(
      '1 rule-overlap',
    );
  });
});

describe('symmetric opcodes', () => {
  it.each(
    isa.opcodes
      .filter(
        (o) => o.means !== null && (o.flags & (OpFlag.Commutative | OpFlag.Symmetric | OpFlag.Table)) !== 0,
      )
      .map((o) => [o.name, o] as const),
  )('%s gives the same in every order of its operands', (_, op) => {
    const orders = (op.flags & (OpFlag.Symmetric | OpFlag.Table)) !== 0 ? ORDERS : [[1, 0, 2] as const];
    fc.assert(
      fc.property(
        fc.array(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), { minLength: 6, maxLength: 6 }),
        fc.nat(0xffff),
        fc.constantFrom(...orders),
        (values, bits, order) => {
          const src = op.srcs.map((s, i) =>
            op.flags & OpFlag.Table && i === 3
              ? values[i] & 0xffn
              : s.bank === 'p'
                ? values[i] & 1n
                : (values[i] ?? 0n),
          );
          let mods = 0;
          for (const g of op.groups) mods |= (bits % g.values.length) << g.shift;
          const moved = src.map((v, i) => (i < 3 && order[i] < src.length ? (src[order[i]] ?? v) : v));
          if (op.flags & OpFlag.Table) moved[3] = BigInt(permuteTable(Number(src[3]), order));
          expect(evalBig(op, mods, moved)).toEqual(evalBig(op, mods, src));
        },
      ),
      { seed: 7, numRuns: runs(60) },
    );
  });
});
