import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Reaching } from '../../src/analysis/values/reaching.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { Draft, type Ins } from '../../src/ir/draft/index.ts';
import { dataHash } from '../../src/ir/hash.ts';
import { OpFlag } from '../../src/ir/opcode.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram, printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { buildAutomaton } from '../../src/rules/automaton.ts';
import { bind, type Surroundings } from '../../src/rules/bind.ts';
import type { GroupDoc, RulesDoc } from '../../src/rules/document.ts';
import { byPrecedence } from '../../src/rules/engine.ts';
import { compileGroup, rulesOfDoc } from '../../src/rules/group.ts';
import { Matcher } from '../../src/rules/matcher.ts';
import type { Rule } from '../../src/rules/rule.ts';
import { arrangementsOf, variantsOf } from '../../src/rules/shape.ts';
import { lastOpcode, MOST_LINES, parseLines } from '../../src/rules/syntax.ts';
import { ORDERS } from '../../src/rules/tables.ts';
import { witness } from '../../src/rules/witness.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { fromBuild, sha256 } from '../../src/spec/node-cache.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { passNames, plain, planWith, shipped, testFolder } from '../support/specs.ts';

/*
 * Rules are compiled, and their paths laid, when instructions come that they may match. Nobody may see that from what is
 * found, what is done, or which faults are told.
 */
const plan = (await planWith({ order: 'binary' })).plan!;
const { isa } = plan;

/** Rules of all shipped groups as nobody has asked for them yet. */
const freshRules = (): Rule[] =>
  byPrecedence(
    [...shipped.rules!.values()].flatMap((f) => rulesOfDoc(structuredClone(f.data), isa, 'none').rules),
  );

describe('before it is compiled, a rule', () => {
  const rules = freshRules();
  it('knows its root', () => {
    for (const r of rules) {
      const name = r.root?.name ?? '*';
      expect(name).toBe(parseLines(r.text.match, MOST_LINES).at(-1)!.opcode);
      expect(r.root).toBe(r.match.at(-1)!.op);
    }
  });
  it.each([
    ['IADD3 $d, $a, 0\n\n  ; SHL here\n', 'IADD3'],
    ['SHL $t, $a, 1\n  * [$t+#o] ; the root\n;', '*'],
    ['\tIMAD_WIDE.U32 $d, $a, $b, $c', 'IMAD_WIDE'],
    ['; nothing', ''],
  ])('reads the last opcode of %j', (text, name) => {
    expect(lastOpcode(text)).toBe(name);
  });
  it('knows the conditions on target, level and knobs', () => {
    const text = (when: string | undefined, group?: string): Rule =>
      compileGroup(
        {
          group: 'g',
          when: group,
          rules: [
            { id: 'r', title: 't', match: 'IADD3 $d, $a, #k, 0', rewrite: 'MOV $d, $a', when, source: 's' },
          ],
        },
        isa,
        'none',
      ).rules[0];
    const said = (r: Rule) => [r.statics.length, r.readsKnobs];
    expect(said(text('k == 0'))).toEqual([0, false]);
    expect(said(text('uses(a) == 1 && sm >= 80 && k == 0'))).toEqual([1, false]);
    expect(said(text('level > 1 && knob(X)', 'knob(Y)'))).toEqual([3, false]);
    expect(said(text('uses(a) == 1 || knob(X)'))).toEqual([0, true]);
    for (const r of rules) for (const e of r.statics) expect(r.structural.map((x) => x.at)).toContain(e.at);
  });
});

describe('what is found', () => {
  const everywhere: Surroundings = { level: 3, sm: 90, knob: () => true, depthOf: () => 0 };
  const named = (rule: Rule, operands: readonly unknown[]): string =>
    `${rule.group}/${rule.id} ${JSON.stringify(operands)}`;
  const cases = freshRules().flatMap((r, n) => {
    const w = n % 2 === 0 ? witness(r, r.instances[0], isa) : null;
    return w === null ? [] : [w.fn];
  });
  const placesOf = (fn: (typeof cases)[number]): [Reaching, Ins][] => {
    const d = new Draft(fn, null);
    const reaching = new Reaching(d);
    return Array.from({ length: d.instructionNumbers }, (_, n) => [reaching, n]);
  };
  const matches = (matcher: Matcher, reaching: Reaching, p: Ins): string[] =>
    [...matcher.candidates(reaching, p)].flatMap((v) => {
      const m = bind(v, reaching, p, everywhere);
      return typeof m === 'string' ? [] : [named(v.rule, m.operands)];
    });

  it('is what every variant of every rule finds, the best rule first', () => {
    const rules = freshRules();
    const matcher = Matcher.of(rules, isa);
    const all = rules.map((r) => variantsOf(r));
    const byRoot = new Map<string, number[]>();
    rules.forEach((r, rank) => {
      const key = r.root?.name ?? '*';
      byRoot.set(key, [...(byRoot.get(key) ?? []), rank]);
    });
    let met = 0;
    for (const fn of cases)
      for (const [reaching, p] of placesOf(fn)) {
        const address = reaching.d.at(p).op.name === 'LDG' || reaching.d.at(p).op.name === 'STG';
        const ranks = [
          ...(byRoot.get(reaching.d.at(p).op.name) ?? []),
          ...((address && byRoot.get('*')) || []),
        ];
        const expected = ranks.flatMap((rank) =>
          all[rank].flatMap((v) => {
            const m = bind(v, reaching, p, everywhere);
            return typeof m === 'string' ? [] : [named(v.rule, m.operands)];
          }),
        );
        const found = matches(matcher, reaching, p);
        expect([...found].sort()).toEqual([...expected].sort());
        const order = found.map((x) => rules.findIndex((r) => x.startsWith(`${r.group}/${r.id} `)));
        expect(order).toEqual([...order].sort((a, b) => a - b));
        met += found.length;
      }
    expect(met).toBeGreaterThan(cases.length / 2);
  });

  it('is looked for in every order of the operands, and in none twice', () => {
    const text = (src: readonly unknown[]): string =>
      JSON.stringify(src, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v));
    for (const l of freshRules().flatMap((r) => r.match)) {
      if (l.op === null || (l.op.flags & OpFlag.Table) !== 0) continue;
      const all = (l.op.flags & OpFlag.Symmetric) !== 0 ? ORDERS : [[0, 1, 2]];
      const either = (l.op.flags & OpFlag.Commutative) !== 0 ? [[1, 0, 2]] : [];
      const orders = [...all, ...either].map((o) => l.src.map((s, i) => (i < 3 ? l.src[o[i]] : s)));
      expect(arrangementsOf(l).map((a) => text(a.src))).toEqual([...new Set(orders.map(text))]);
    }
  });
  it('does not depend on which instructions came first', () => {
    const look = (fns: typeof cases): Map<string, string[]> => {
      const matcher = Matcher.of(freshRules(), isa);
      const out = new Map<string, string[]>();
      for (const fn of fns)
        placesOf(fn).forEach(([reaching, p], i) => out.set(`${fn.name} ${i}`, matches(matcher, reaching, p)));
      return out;
    };
    const there = look(cases);
    const back = look([...cases].reverse());
    for (const [at, found] of there) expect([at, back.get(at)]).toEqual([at, found]);
  });
});

let copies = 0;
/** The plan with rules of its own, which no run has touched. */
const withRules = (change: (doc: RulesDoc) => RulesDoc, wholeFor: string | null): Plan => ({
  ...plan,
  rules: new Map(
    [...plan.rules].map(([g, d]): [string, GroupDoc] => [
      g,
      {
        ...d,
        data: change(structuredClone(d.data) as RulesDoc),
        hash: `${d.hash} copy ${copies++}`,
        wholeFor,
      },
    ]),
  ),
});

describe('what is done', () => {
  const kernel = (name: string): Program => {
    const text = readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8');
    const paramBase = Number(plan.backend.facts['param-base']);
    return lowerPtx(parsePtx(text, name).module, { isa, paramBase, sm: 'sm_80' }).program;
  };
  it('does not depend on which kernels came first', () => {
    const programs = ['saxpy', 'histogram', 'interpreter'].map(kernel);
    const run = (all: readonly Program[], wholeFor: string | null): Map<string, string> => {
      const own = withRules((d) => d, wholeFor);
      return new Map(
        all.map((p) => {
          const hits: string[] = [];
          const { last } = runPipeline({ ...p }, own, { onRuleHit: (h) => hits.push(h.rule.id) });
          return [p.name, `${printProgram(last)}\n${hits.join(' ')}`];
        }),
      );
    };
    const there = run(programs, isa.hash);
    expect(run([...programs].reverse(), isa.hash)).toEqual(there);
    expect(run(programs, 'compiled at once')).toEqual(there);
  });
});

describe('a faulty rule', () => {
  const empty = parseProgram('.program t target sm_80\n.func f\n{\nBB0:\n  RET\n}\n', isa, 't.ori').program;
  const fault = (over: object, wholeFor: string | null): string[] => {
    const spoilt = withRules(
      (d) =>
        d.group === 'permute' ? { ...d, rules: d.rules.map((r, i) => (i === 2 ? { ...r, ...over } : r)) } : d,
      wholeFor,
    );
    try {
      runPipeline(empty, spoilt);
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      return e.diagnostics.map((d) => d.message);
    }
    return [];
  };
  const unknown = { match: 'PRMT $d, $a, $b, $e, $f, $g' };
  it('is reported though no instruction of its root occurs', () => {
    expect(fault({}, null)).toEqual([]);
    expect(fault(unknown, null)).toEqual([
      expect.stringMatching(/^rule 3 of group 'permute', match: PRMT takes 4 operands/),
    ]);
    expect(fault(unknown, 'another instruction set')).toHaveLength(1);
  });
  it('is reported where only some choice of modifiers brings it out', () => {
    expect(
      fault({ match: 'IMAD_WIDE $d, $a, $b, $c', rewrite: 'IADD3 $d, $a, $b, $c', when: undefined }, null),
    ).toEqual([expect.stringMatching(/^rule 3 of group 'permute', rewrite: widths disagree/)]);
  });
  it('is reported in a file of the user', async () => {
    const folder = testFolder();
    const mine = folder.write(
      'mine.yaml',
      `kind: rules
group: mine
title: Faulty rules of opcodes that do not occur
rules:
  - id: mine-texts
    title: an operand is missing
    match: POPC $d
    rewrite: MOV $d, 0
    source: test
  - id: mine-condition
    title: the condition names what is not there
    match: 'BREV $d, #k'
    rewrite: MOV $d, 0
    when: kk == 0
    source: test
`,
    );
    const own = (await planWith({ rules: [mine] })).plan!;
    expect(own.rules.get('mine')?.wholeFor).toBe(null);
    expect(() => runPipeline(empty, own)).toThrow(/rule 1 of group 'mine', match: POPC takes/);
    expect(() => runPipeline(empty, own)).toThrow(/rule 2 of group 'mine', when: unknown name 'kk'/);
  });
  it('is not passed over even where rules were said to be whole', () => {
    const rules: RulesDoc['rules'] = [
      { id: 'r', title: 't', match: 'IADD3 $d, $a', rewrite: 'MOV $d, $a', source: 's' },
    ];
    expect(() => Matcher.of(compileGroup({ group: 'g', rules }, isa, 'none').rules, isa)).toThrow(
      DiagnosticError,
    );
  });
});

describe('rules known to be whole', () => {
  it('are those of the build, for its instruction set', () => {
    for (const f of shipped.rules!.values()) {
      const { data, hash, rules } = fromBuild(sha256(f.text))!;
      expect([f.file, f.built, hash]).toEqual([f.file, fromBuild(sha256(f.text)), dataHash(data)]);
      expect(rules).toEqual({
        wholeFor: isa.hash,
        automaton: buildAutomaton(compileGroup(data as unknown as RulesDoc, isa).rules, isa),
      });
    }
    for (const f of [shipped.phases, ...shipped.isa, ...shipped.recipes.values()])
      expect([f.file, f.built?.hash, f.built?.rules]).toEqual([f.file, dataHash(f.data), undefined]);
  });
  it('are so no longer with other data', () => {
    const given = (data: (f: SpecFile) => SpecFile['data']): (string | null)[] => {
      const rules = new Map([...shipped.rules!].map(([g, f]) => [g, { ...f, built, data: data(f) }]));
      return [...resolve({ ...shipped, rules }, plain, passNames).plan!.rules.values()].map(
        (d) => d.wholeFor,
      );
    };
    const [{ data }] = shipped.rules!.values();
    const automaton = buildAutomaton([], isa);
    const built = {
      kind: 'rules',
      data,
      rules: { wholeFor: 'x', automaton },
    } as const;
    expect(given((f) => f.data).filter((w) => w !== null)).toEqual(['x']);
    expect(given((f) => ({ ...f.data })).filter((w) => w !== null)).toEqual([]);
  });
  it('as many orders of operands as no rule may have are a fault', () => {
    const line = (d: string, s: string) => `IADD3 $${d}, $${s}, $b, $c`;
    const match = [line('t', 'a'), line('u', 't'), line('v', 'u'), line('w', 'v'), line('d', 'w')].join('\n');
    const { issues } = compileGroup(
      { group: 'g', rules: [{ id: 'r', title: 't', match, rewrite: 'MOV $d, $a', source: 's' }] },
      isa,
    );
    expect(issues.map((i) => i.message)).toEqual([
      expect.stringMatching(/^its operands can appear in 7776 orders, more than 2000/),
    ]);
  });
});
