import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { choicesOf, type Factor, levelsOf } from '../../src/lab/designs.ts';
import type { Experiment } from '../../src/lab/experiment.ts';
import { LinearModel } from '../../src/lab/least-squares.ts';
import { metricOf } from '../../src/lab/metrics.ts';
import { sweepText } from '../../src/lab/render/sweep.ts';
import { PLAIN, percent } from '../../src/lab/render/table.ts';
import type { FinishedCell } from '../../src/lab/sweep.ts';
import { reportOf } from '../../src/lab/sweep-report.ts';
import { once } from '../../src/rules/once.ts';
import { runs } from '../support/size.ts';
import { WARM } from '../support/warm.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-sweep-'));
afterAll(() => rmSync(dir, { recursive: true }));
const bin = join(root, 'bin', 'orrery.js');
const env = { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') };
const run = (args: readonly string[], how: { readonly input?: string; readonly env: NodeJS.ProcessEnv }) => {
  const r = spawnSync(process.execPath, [bin, ...args], { cwd: root, encoding: 'utf8', ...how });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const orrery = (args: readonly string[]) => run(args, { env: { ...env, ...WARM } });
/** As a user's command starts, which may read standard input. */
const cold = (args: readonly string[], input?: string) => run(args, { env, input });
const schema = (name: string) =>
  new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
    JSON.parse(readFileSync(join(root, 'schemas', 'output', `${name}.schema.json`), 'utf8')) as object,
  );

const knob = (name: string, ...values: number[]): Factor => ({
  name,
  levels: values.map((v) => ({ name: String(v), set: `${name}=${v}` })),
});
const range = (name: string, from: number, to: number, log = false): Factor => ({
  name,
  range: { from, to, log, integer: true, steps: 4 },
});
const shown = (choices: readonly ReadonlyMap<string, { name: string }>[]) =>
  choices.map((c) => [...c].map(([f, l]) => `${f}=${l.name}`).join(' '));

describe('designs', () => {
  it('a grid has every combination once, ranges by their steps', () => {
    expect(shown(choicesOf('grid', [knob('A', 1, 2), knob('B', 3, 4, 5)], 0, 1))).toEqual([
      'A=1 B=3',
      'A=1 B=4',
      'A=1 B=5',
      'A=2 B=3',
      'A=2 B=4',
      'A=2 B=5',
    ]);
    expect(levelsOf(range('C', 1, 1000, true)).map((l) => l.name)).toEqual(['1', '10', '100', '1000']);
    expect(levelsOf(range('C', 0, 9)).map((l) => l.name)).toEqual(['0', '3', '6', '9']);
    expect(levelsOf(range('C', 0, 1)).map((l) => l.name)).toEqual(['0', '1']);
  });

  it('one at a time varies one', () => {
    expect(shown(choicesOf('one-at-a-time', [knob('A', 1, 2), knob('B', 3)], 0, 1))).toEqual([
      'A=1',
      'A=2',
      'B=3',
    ]);
  });

  it('samples hang on the seed alone, and keep to their range', () => {
    const factors = [knob('A', 1, 2, 3), range('B', 5, 50)];
    const draw = (seed: number) => shown(choicesOf('random', factors, 40, seed));
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    for (const s of draw(3)) {
      const b = Number(/B=(\d+)/.exec(s)![1]);
      expect(b >= 5 && b <= 50).toBe(true);
    }
  });

  it('a Latin hypercube samples every part of every factor once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(), (n, seed) => {
        const factors: Factor[] = [
          { name: 'A', range: { from: 0, to: n, log: false, integer: false, steps: 2 } },
          { name: 'B', range: { from: 0, to: n, log: false, integer: false, steps: 2 } },
        ];
        const choices = choicesOf('latin-hypercube', factors, n, seed);
        for (const f of factors) {
          const parts = choices.map((c) => Math.min(n - 1, Math.floor(Number(c.get(f.name)!.name))));
          expect(parts.sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i));
        }
      }),
      { numRuns: runs(60), seed: 5 },
    );
  });
});

describe('least squares', () => {
  it('fits a line through three points, whose squares are known', () => {
    // A constant, and a column that two of the rows have: means 1 and (2 + 4) / 2, and what is left is 1 + 1.
    const m = new LinearModel([[0], [0, 1], [0, 1]], 2, [1, 2, 4]);
    expect(m.rank).toBe(2);
    expect(m.residual).toBeCloseTo(2);
    expect(m.sum(new Map([[0, 1]]))).toBeCloseTo(1);
    expect(m.sum(new Map([[1, 1]]))).toBeCloseTo(2);
  });

  it('gives sums that the rows determine, and no others', () => {
    // Columns 1 and 2 make up the constant: only their difference has a value.
    const m = new LinearModel(
      [
        [0, 1],
        [0, 1],
        [0, 2],
      ],
      3,
      [1, 3, 7],
    );
    expect(m.rank).toBe(2);
    expect(m.sum(new Map([[1, 1]]))).toBeNull();
    expect(
      m.sum(
        new Map([
          [2, 1],
          [1, -1],
        ]),
      ),
    ).toBeCloseTo(5);
    expect(
      m.sum(
        new Map([
          [0, 1],
          [1, 1],
        ]),
      ),
    ).toBeCloseTo(2);
    // Nothing has this column.
    expect(new LinearModel([[0], [0]], 2, [1, 1]).sum(new Map([[1, 1]]))).toBeNull();
  });

  it('leaves over what is at right angles to every column', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.integer({ min: -50, max: 50 })), {
          minLength: 1,
          maxLength: 30,
        }),
        (rows) => {
          const columns = rows.map(([a, b]) => [0, 1 + a, 4 + b]);
          const y = rows.map(([, , v]) => v);
          const m = new LinearModel(columns, 7, y);
          const left = columns.map((c, n) => y[n] - m.sum(new Map(c.map((k) => [k, 1])))!);
          for (let k = 0; k < 7; k++)
            expect(left.reduce((s, v, n) => s + (columns[n].includes(k) ? v : 0), 0)).toBeCloseTo(0, 6);
          expect(left.reduce((s, v) => s + v * v, 0)).toBeCloseTo(m.residual, 5);
        },
      ),
      { numRuns: runs(100), seed: 3 },
    );
  });
});

describe('what a sweep shows', () => {
  const metrics = ['weighted', 'pressure.R'].map((n) => metricOf(n)!);
  const experiment = (factors: Factor[], extra: Partial<Experiment> = {}) =>
    ({
      factors,
      metrics,
      bounds: [],
      title: '',
      arms: [
        { arm: { name: 'base' }, choice: new Map() },
        ...choicesOf('grid', factors, 0, 1).map((choice, i) => ({ arm: { name: `arm ${i + 1}` }, choice })),
      ],
      ...extra,
    }) as unknown as Experiment;
  const cell = (arm: number, values: Record<string, number>, ok = true): FinishedCell => ({
    arm,
    file: 'k.ptx',
    result: { kernels: [{ kernel: 'k', values, equal: { ok, by: 'launch', note: ok ? '' : 'wrong' } }] },
  });

  it('main effects and interactions are those that made the numbers', () => {
    const factors = [knob('A', 0, 1), knob('B', 0, 1), knob('C', 0, 1)];
    const e = experiment(factors);
    // A saves a tenth, B does nothing, A and C together save a further fifth.
    const worth = (c: ReadonlyMap<string, { name: string }>) => {
      const [a, , x] = ['A', 'B', 'C'].map((f) => c.get(f)?.name === '1');
      return 1000 * (a ? 0.9 : 1) * (a && x ? 0.8 : 1);
    };
    const cells = e.arms.map((a, i) => cell(i, { weighted: worth(a.choice), 'pressure.R': 10 }));
    const r = reportOf(e, cells);
    const effect = (f: string) => r.effects.find((x) => x.factor === f)!;
    // Over both levels of C, A is worth 0.9 * sqrt(0.8); C, over both of A, sqrt(0.8).
    expect(effect('A').size).toBeCloseTo(1 / (0.9 * Math.sqrt(0.8)) - 1);
    expect(effect('C').size).toBeCloseTo(1 / Math.sqrt(0.8) - 1);
    expect(effect('B').size).toBeCloseTo(0);
    expect(r.interactions[0].factors).toEqual(['A', 'C']);
    // Four cells share the departure: a quarter of log 0.8 each.
    expect(r.interactions[0].size).toBeCloseTo(Math.exp(-Math.log(0.8) / 4) - 1);
    expect(r.interactions[1].size).toBeCloseTo(0);
    expect(e.arms[r.best.arm].choice.get('A')?.name).toBe('1');
    expect(r.best.ratio.weighted).toBeCloseTo(0.72);
  });

  /** An experiment in which an arm is worth what its levels multiply to. */
  const made = (
    design: Experiment['design'],
    factors: Factor[],
    choices: readonly ReadonlyMap<string, { name: string }>[],
    worth: (level: (factor: string) => string | undefined) => number | null,
  ) => {
    const arms = [new Map<string, { name: string }>(), ...choices].map((choice, i) => ({
      arm: { name: `arm ${i}`, ...(i > 0 && { set: [...choice].map(([f, l]) => `${f}=${l.name}`) }) },
      choice,
    }));
    const e = experiment(factors, { design, arms } as never);
    const cells = arms.map(({ choice }, i): FinishedCell => {
      const weighted = i === 0 ? 1000 : worth((f) => choice.get(f)?.name);
      return weighted === null
        ? { arm: i, file: 'k.ptx', result: { illegal: 'no' } }
        : cell(i, { weighted, 'pressure.R': 10 });
    });
    const r = reportOf(e, cells);
    return { r, text: sweepText(e, r, PLAIN), effect: (f: string) => r.effects.find((x) => x.factor === f)! };
  };

  it('the text has every level and the whole name of the best arm, in lines that are cut between words', () => {
    const factors = [knob('UnrollFullInstLimit', ...Array.from({ length: 12 }, (_, i) => 67 * 2 ** i))];
    const { r, text } = made(
      'grid',
      factors,
      choicesOf('grid', factors, 0, 1),
      (l) => 1000 - Number(l('UnrollFullInstLimit')) / 1000,
    );
    for (const { name, ratio } of r.effects[0].levels)
      expect(text.replace(/\s+/g, ' ')).toContain(`${name}: ${percent(ratio!)}`);
    expect(text).not.toContain('…');
    expect(text.split('\n').filter((l) => l.length > 100)).toEqual([]);
  });

  it.each(['random', 'latin-hypercube'] as const)(
    'in a design that is %s, a factor without an effect has none',
    (design) => {
      const factors = [range('A', 1, 1000, true), knob('B', 0, 1), knob('C', 0, 1), range('D', 1, 99)];
      const { r, text, effect } = made(design, factors, choicesOf(design, factors, 24, 7), (l) =>
        l('B') === '1' ? 800 : 1000,
      );
      expect(r.effectsBy).toBe('least squares');
      expect(text).toMatch(
        /^fitted jointly by least squares, as the design is not balanced;\narms deviate .* nothing$/m,
      );
      expect(effect('B').size).toBeCloseTo(0.25);
      for (const f of ['A', 'C', 'D']) expect(effect(f).size).toBeCloseTo(0);
      const from = (f: string) => effect(f).levels.map((x) => Number(x.name.split(' ')[0]));
      for (const f of ['A', 'D']) expect(from(f)).toEqual(from(f).toSorted((a, b) => a - b));
      // Sixteen cells for each pair of ranges are more than the arms can tell apart.
      expect([r.interactions, r.untold.length]).toEqual([[], 6]);
      expect(text).toMatch(
        /^Interactions\nthe design does not determine them: a grid, more arms, or fewer levels would$/m,
      );
    },
  );

  it('a grid that lacks arms still tells effects and interactions, without what is gone', () => {
    const factors = [knob('A', 0, 1), knob('B', 0, 1), knob('C', 0, 1, 2)];
    const { r, effect } = made('grid', factors, choicesOf('grid', factors, 0, 1), (l) => {
      if (l('A') === '1' && l('C') === '2') return null;
      return 1000 * (l('A') === '1' ? 0.9 : 1) * (l('A') === '1' && l('B') === '1' ? 0.8 : 1);
    });
    expect(r.effectsBy).toBe('least squares');
    expect(effect('C').size).toBeCloseTo(0);
    expect(r.interactions.map((i) => i.factors.join())).toEqual(['A,B', 'B,C']);
    expect(r.interactions[0].size).toBeCloseTo(Math.exp(-Math.log(0.8) / 4) - 1);
    expect(r.interactions[1].size).toBeCloseTo(0);
    expect(r.untold).toEqual([['A', 'C']]);
  });

  it('a balanced grid departs from its means as from the fit of least squares', () => {
    const factors = [knob('A', 0, 1, 2), knob('B', 0, 1), knob('C', 0, 1)];
    const values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8].map((v) => 100 + v);
    const choices = choicesOf('grid', factors, 0, 1);
    let n = 0;
    const { r } = made('grid', factors, choices, () => values[n++]);
    expect(r.effectsBy).toBe('means');
    const columns = choices.map((c) => [
      0,
      1 + Number(c.get('A')!.name),
      4 + Number(c.get('B')!.name),
      6 + Number(c.get('C')!.name),
    ]);
    const fit = new LinearModel(
      columns,
      8,
      values.map((v) => Math.log(v / 1000)),
    );
    expect(fit.rank).toBe(5);
    expect(r.deviation).toBeCloseTo(Math.expm1(Math.sqrt(fit.residual / (12 - 5))), 9);
  });

  it('more levels than can be fitted are reported only in a balanced design', () => {
    const factors = [knob('A', ...Array.from({ length: 1100 }, (_, i) => i)), knob('B', 0, 1)];
    const choices = choicesOf('grid', factors, 0, 1);
    const worth = (l: (f: string) => string | undefined) => (Number(l('A')) < 10 ? 1100 : 1000);
    const grid = made('grid', factors, choices, worth);
    expect([grid.r.effectsBy, grid.r.interactions]).toEqual(['means', []]);
    // Neighbours that do the same stand together.
    expect(grid.text).toMatch(/^A +10\.00 % +0 \.\.\. 9: \+10\.00 %, 10 \.\.\. 1099: 0 %$/m);
    const lacking = made('grid', factors, choices, (l) =>
      l('A') === '5' && l('B') === '1' ? null : worth(l),
    );
    expect([lacking.r.effectsBy, lacking.r.effects, lacking.r.untold]).toEqual(['nothing', [], [['A', 'B']]]);
    expect(lacking.text).toContain(
      'not determined: the design is not balanced, and has more than 1000 levels',
    );
  });

  it('one level that has a plan tells nothing, unless the base is the other', () => {
    const factors = [knob('A', 0, 1), knob('B', 0, 1)];
    const only = (l: (f: string) => string | undefined) => (l('A') === '1' ? null : 900);
    const grid = made('grid', factors, choicesOf('grid', factors, 0, 1), only);
    expect(grid.effect('A')).toMatchObject({ size: null, levels: [{ name: '0', arms: 2 }] });
    expect(grid.text).toMatch(/^A +unknown +only arms with 0 have a plan$/m);
    const one = made('one-at-a-time', factors, choicesOf('one-at-a-time', factors, 0, 1), only);
    expect(one.r.effectsBy).toBe('base');
    expect(one.effect('A').size).toBeCloseTo(1 / 0.9 - 1);
    // Both levels do the same, and that is not what the base does.
    expect(one.effect('B').size).toBeCloseTo(1 / 0.9 - 1);
    expect(one.text).toMatch(/^the design does not determine them: one factor varies at a time$/m);
  });

  it('factors that always change together cannot be distinguished', () => {
    const factors = [knob('A', 0, 1), knob('B', 0, 1), knob('C', 0, 1)];
    const together = choicesOf('grid', factors, 0, 1).filter((c) => c.get('A')?.name === c.get('B')?.name);
    const { effect, text } = made(
      'random',
      factors,
      together,
      (l) => (l('A') === '1' ? 500 : 1000) * (l('C') === '1' ? 2 : 1),
    );
    expect([effect('A').size, effect('B').size]).toEqual([null, null]);
    expect(effect('C').size).toBeCloseTo(1);
    expect(text).toMatch(/^A +unknown +the arms do not separate it from other factors$/m);
  });

  it('of arms with equal results, the best is the one that sets least', () => {
    const factors: Factor[] = ['A', 'B', 'C'].map((f) => ({
      name: f,
      levels: [{ name: 'on' }, { name: 'off', disable: f }],
    }));
    const arms = [...choicesOf('grid', factors, 0, 1)].reverse().map((choice) => ({
      arm: {
        name: [...choice].map(([, l]) => l.name).join(' '),
        disable: [...choice.values()].flatMap((l) => l.disable ?? []),
      },
      choice,
    }));
    const e = experiment(factors, { arms: [{ arm: { name: 'base' }, choice: new Map() }, ...arms] } as never);
    const r = reportOf(
      e,
      e.arms.map((a, i) =>
        cell(i, { weighted: a.choice.get('B')?.name === 'off' ? 9 : 10, 'pressure.R': 1 }),
      ),
    );
    expect(r.best.name).toBe('on off on');
    expect(r.front.map((s) => s.name)).toEqual(['on off on']);
  });

  it('the front is that of a slow search, without what breaks a kernel or a bound', () => {
    const value = fc.integer({ min: 1, max: 6 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(value, value, fc.boolean()), { minLength: 1, maxLength: 20 }),
        (points) => {
          const e = experiment([], {
            arms: Array.from({ length: points.length + 1 }, (_, i) => ({
              arm: { name: `${i}` },
              choice: new Map(),
            })),
            bounds: [{ metric: metricOf('blocks')!, most: 5 }],
          } as never);
          const all = [[3, 3, true] as const, ...points];
          const r = reportOf(
            e,
            all.map(([w, p, ok], i) => cell(i, { weighted: w, 'pressure.R': p, blocks: i % 7 }, ok)),
          );
          const good = all.map(([w, p, ok], i) => ({ w, p, ok: ok && i % 7 <= 5 })).filter((x) => x.ok);
          const front = new Set(
            good
              .filter((x) => !good.some((y) => y.w <= x.w && y.p <= x.p && (y.w < x.w || y.p < x.p)))
              .map((x) => `${x.w} ${x.p}`),
          );
          expect(new Set(r.front.map((s) => `${s.total.weighted} ${s.total['pressure.R']}`))).toEqual(front);
          expect(r.front).toHaveLength(front.size);
        },
      ),
      { numRuns: runs(100), seed: 2 },
    );
  });
});

describe('orrery sweep', () => {
  const file = join('test', 'examples', 'switches.experiment.yaml');
  const results = join(dir, 'r.jsonl');
  const best = join(dir, 'best.yaml');
  const args = ['sweep', file, '-o', results, '--best', best];

  it('runs every arm, and shows the front, effects and the best as a recipe', () => {
    const r = cold(args);
    expect([r.code, r.err]).toEqual([0, '']);
    expect(r.out).toMatch(
      /^16 arms of which optimizers pay; best by warp-instructions: .*ContractProducts=true/,
    );
    // Eight arms count; the rest breaks a bound. Those of the front are marked among them.
    const [, table] = /^All arms that count.*\narm .*\n((?:.+\n)+)/m.exec(r.out)!;
    expect(table.match(/ {2}[\d,]+ .*$/gm)).toHaveLength(8);
    expect(table).toMatch(/^set:ContractProducts=true \* +[\d,]+ +-2\.\d+ % +\d+ +0$/m);
    expect(table).toMatch(/^base +[\d,]+ +0 +\d+ +0$/m);
    const markdown = orrery([...args, '--format', 'markdown']).out;
    expect(markdown).toMatch(/^\| `base` \| {2}\| [\d,]+ \| 0 \| \d+ \| 0 \|$/m);
    expect(r.out).toMatch(/^ContractProducts +\d.\d+ % +default: \+?\d(?:\.\d+)? %, true: -\d.\d+ %$/m);
    expect(r.out.split('\n').filter((l) => l.length > 100 && !l.startsWith('re'))).toEqual([]);
    expect(readFileSync(results, 'utf8').trim().split('\n')).toHaveLength(1 + 16 * 3);
    // The recipe is the plan of the arm that it was written for.
    const arm = /best by warp-instructions: (\S.*) \(/.exec(r.out)![1];
    const same = orrery(['ab', arm, `recipe:${best}`, '--kernels', 'test/kernels/saxpy/saxpy.sm_90.ptx']);
    expect(same.out).toContain('both arms are the same plan');
  });

  it('JSON has its schema', () => {
    const check = schema('sweep');
    check(JSON.parse(orrery([...args, '--json']).out));
    expect(check.errors ?? []).toEqual([]);
  });

  it('a pattern that leads out of reach is quoted as it is written', () => {
    const inside = join(dir, 'inside');
    mkdirSync(inside);
    const far = join(inside, 'far.experiment.yaml');
    writeFileSync(far, "kind: experiment\nkernels: ['../k/*.ptx']\narms: [O1]\nmetrics: [weighted]\n");
    const { code, err } = orrery(['sweep', far]);
    expect([code, err]).toEqual([1, expect.stringMatching(/^error: '\.\.\/k\/\*\.ptx' is not read: /)]);
  });

  it('the table has the numbers from which the report was made, and the page its arms', () => {
    const [csv, html] = [join(dir, 'r.csv'), join(dir, 'r.html')];
    const r = orrery([...args, '--csv', csv, '--html', html, '--json']);
    expect([r.code, r.err]).toEqual([0, '']);
    const { arms } = JSON.parse(r.out) as { arms: { name: string; ratio: Record<string, number> }[] };
    const [head, ...rows] = readFileSync(csv, 'utf8')
      .trimEnd()
      .split('\r\n')
      .map((l) => [...l.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map((m) => m[1].replace(/^"|"$/g, '')));
    const at = (row: readonly string[], column: string) => row[head.indexOf(column)];
    const of = (arm: number) => rows.filter((row) => at(row, 'arm') === String(arm));
    for (const [i, { name, ratio }] of arms.entries()) {
      expect(of(i).map((row) => at(row, 'name'))).toEqual(of(0).map(() => name));
      const logs = of(i).map((row, k) =>
        Math.log(Number(at(row, 'warp-instructions')) / Number(at(of(0)[k], 'warp-instructions'))),
      );
      const mean = Math.exp(logs.reduce((s, x) => s + x, 0) / logs.length);
      expect(mean).toBeCloseTo(ratio['warp-instructions'], 9);
      const sum = of(i).reduce((s, row) => s + Number(at(row, 'warp-instructions')), 0);
      for (const row of of(i)) {
        expect(at(row, 'made by')).toMatch(/^orrery \d+\.\d+\.\d+, (without ptxas|ptxas \d+)/);
        expect(Number(at(row, 'arm total warp-instructions'))).toBe(sum);
        expect(Number(at(row, 'arm ratio warp-instructions'))).toBe(ratio['warp-instructions']);
      }
    }
    const page = readFileSync(html, 'utf8');
    for (const { name } of arms) expect(page).toContain(name);
    expect(page).not.toMatch(/<(script|link)|src=|url\(/);
  });

  // The same arms, on less to measure.
  const light = join(dir, 'light.experiment.yaml');
  const lightResults = join(dir, 'light.jsonl');
  const lightArgs = ['sweep', light, '-o', lightResults, '--best', best];
  const whole = once(() => {
    const kernels = ['saxpy/launch.yaml', 'grid-3d/grid-3d.sm_90.ptx'];
    const text = readFileSync(join(root, file), 'utf8').replace(/^kernels:\n(?: .*\n)*/m, '');
    const paths = kernels.map((k) => join(root, 'test', 'kernels', k));
    writeFileSync(light, `${text}kernels: [${paths.join(', ')}]\n`);
    expect(orrery(lightArgs)).toMatchObject({ code: 0, err: '' });
    return readFileSync(lightResults, 'utf8');
  });

  it('resumes where it was cut off, with the same result byte for byte', () => {
    expect(whole().trim().split('\n')).toHaveLength(1 + 16 * 2);
    truncateSync(lightResults, Math.floor(whole().length / 2));
    expect(orrery(lightArgs).code).toBe(0);
    expect(readFileSync(lightResults, 'utf8')).toBe(whole());
  });

  it('and where it was interrupted', async () => {
    expect(whole()).not.toBe('');
    rmSync(lightResults);
    const child = spawn(process.execPath, [bin, ...lightArgs], { cwd: root, env, stdio: 'ignore' });
    const ended = new Promise((done) => child.on('close', done));
    const lines = () =>
      existsSync(lightResults) ? readFileSync(lightResults, 'utf8').split('\n').length : 0;
    while (lines() < 6 && child.exitCode === null) await new Promise((next) => setTimeout(next, 2));
    child.kill('SIGINT');
    await ended;
    const left = lines();
    const again = orrery(lightArgs);
    expect([again.code, again.err]).toEqual([0, expect.not.stringContaining('error')]);
    expect(readFileSync(lightResults, 'utf8')).toBe(whole());
    expect(left).toBeGreaterThanOrEqual(6);
  });

  it('results of something else are not taken', () => {
    const other = join(dir, 'other.jsonl');
    writeFileSync(other, whole().replace(/"identity":"\w+"/, '"identity":"0"'));
    const r = orrery(['sweep', light, '-o', other, '--best', best]);
    expect([r.code, r.out]).toEqual([1, '']);
    expect(r.err).toMatch(/results of another experiment/);
    expect(orrery(['sweep', light, '-o', other, '--best', best, '--restart']).code).toBe(0);
    expect(readFileSync(other, 'utf8')).toBe(whole());
    copyFileSync(join(root, 'package.json'), other);
    expect(orrery(['sweep', light, '-o', other]).err).toMatch(/this is not a results file/);
  });

  it('a line of another form is reported at its place, whatever it is', () => {
    const other = join(dir, 'forms.jsonl');
    const [head, first, ...more] = whole().split('\n');
    const cell = JSON.parse(first) as { result: { kernels: { values: object; equal: object }[] } };
    const [kernel] = cell.result.kernels;
    for (const odd of [
      5,
      {},
      { ...cell, arm: '0' },
      { ...cell, file: null },
      { ...cell, result: null },
      { ...cell, result: { illegal: 5 } },
      { ...cell, result: { kernels: 'x' } },
      { ...cell, result: { kernels: [null] } },
      { ...cell, result: { kernels: [{ ...kernel, values: { weighted: 'x' } }] } },
      { ...cell, result: { kernels: [{ ...kernel, equal: undefined }] } },
    ]) {
      writeFileSync(other, [head, JSON.stringify(odd), ...more].join('\n'));
      const r = orrery(['merge', light, other]);
      expect([odd, r.code, r.err]).toEqual([
        odd,
        1,
        expect.stringMatching(
          /^error: this line is not the result of a cell of a sweep\n {2}--> .*forms\.jsonl:2\n/,
        ),
      ]);
    }
    writeFileSync(
      other,
      whole().replace(/"identity":"\w+","makers":\{[^}]*\}/, '"identity":"0","makers":null'),
    );
    expect(orrery(['merge', light, other]).err).toMatch(/^error: these are results of another experiment/);
  });

  it('that names no metrics is decided by launches, if all kernels have some, else by an estimate', () => {
    const unnamed = join(dir, 'unnamed.experiment.yaml');
    for (const [kernel, by] of [
      ['saxpy.sm_90.ptx', 'warp-instructions'],
      ['launch.yaml', 'weighted, an estimate'],
    ]) {
      const path = join(root, 'test/kernels/saxpy', kernel);
      writeFileSync(unnamed, `kind: experiment\narms: ['level:1']\nkernels: [${path}]\n`);
      const r = orrery(['sweep', unnamed, '-o', join(dir, `${kernel}.jsonl`), '--best', join(dir, 'u.yaml')]);
      expect(r.out).toContain(`2 arms; best by ${by}: `);
    }
  });

  it('a moved phase becomes an order beside the recipe; an illegal place is an arm that does not count', () => {
    const moved = join(dir, 'moved.experiment.yaml');
    writeFileSync(
      moved,
      `kind: experiment
factors:
  positions: { GeneralOptimizeEarly: [{ before: OriCheckInitialProgram }, { after: OriBranchOpt }] }
  knobs: { ContractProducts: [true] }
kernels: [${join(root, 'test/kernels/mandelbrot/launch.yaml')}]
`,
    );
    const r = orrery(['sweep', moved, '-o', join(dir, 'moved.jsonl'), '--best', join(dir, 'm.yaml')]);
    expect(r.code).toBe(0);
    expect(r.out).toMatch(/1 arm does not count\nno plan: .*GeneralOptimizeEarly/);
  });

  it.each([
    ['factors: { knobs: { ContractProduct: [true] } }', /did you mean 'ContractProducts'/],
    ['factors: { switches: [GeneralOptimise] }', /did you mean 'GeneralOptimize'/],
    ['factors: { switches: [GeneralOptimize] }\ndesign: random', /needs 'samples'/],
    ['factors: { switches: [GeneralOptimize] }\nmetrics: [weigted]', /did you mean 'weighted'/],
    ['factors: { switches: [GeneralOptimize] }\nmetrics: [compile-time]', /is not an exact metric/],
    ['arms: [recip:x]', /did you mean 'recipe:'/],
    ['title: nothing', /nothing is tried/],
    ['factors: { knobs: { ContractProducts: { from: 4, to: 2 } } }', /ends before it begins/],
  ])('%s is refused at its line', (text, says) => {
    const bad = join(dir, 'bad.experiment.yaml');
    writeFileSync(bad, `kind: experiment\n${text}\nkernels: [x.ptx]\n`);
    // Both read it by the same function; that check does is shown by the first.
    for (const command of says.source.includes('ContractProducts') ? ['sweep', 'check'] : ['sweep']) {
      const r = orrery([command, bad]);
      expect(r.code).toBe(1);
      expect(r.err).toMatch(says);
      expect(r.err).toMatch(/bad.experiment.yaml:\d+:\d+/);
    }
  });
});

describe('orrery evaluate', () => {
  const kernels = 'test/kernels/mandelbrot/mandelbrot.sm_90.ptx';

  it('answers a line for a line, what is wrong too', () => {
    const lines = [
      '{"id":7,"set":{"ContractProducts":true}}',
      '"disable:GeneralOptimizeMid"',
      '{"id":"x","set":{"ContractProduct":1}}',
      'junk',
      '{"disabel":["GeneralOptimizeMid"]}',
    ];
    const r = cold(['evaluate', '--kernels', kernels, '--per-kernel'], `${lines.join('\n')}\n`);
    expect([r.code, r.err]).toEqual([0, '']);
    const answers = r.out
      .trim()
      .split('\n')
      .map((l) => JSON.parse(l));
    const check = schema('evaluate');
    for (const a of answers) {
      check(a);
      expect(check.errors ?? []).toEqual([]);
    }
    expect(answers.map((a) => [a.id, a.ok])).toEqual([
      [7, true],
      [null, true],
      ['x', false],
      [null, false],
      [null, false],
    ]);
    expect(answers[0].ratios.weighted).toBeLessThan(1);
    expect(answers[2].error).toMatch(/did you mean 'ContractProducts'/);
    expect(answers[4].error).toMatch(/did you mean 'disable'/);
    // The same numbers as an A/B.
    const j = JSON.parse(
      orrery([
        'ab',
        'base',
        'ContractProducts=true',
        '--kernels',
        kernels,
        '--no-ptxas',
        '--repeat',
        '0',
        '--json',
      ]).out,
    );
    const total = j.totals.find((t: { metric: string }) => t.metric === 'weighted');
    expect([answers[0].metrics.weighted, answers[0].ratios.weighted]).toEqual([total.b, total.ratio]);
  });

  const { ORRERY: _, ...plain } = env as NodeJS.ProcessEnv;
  const search = (how: NodeJS.ProcessEnv, ...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'test/examples/search.mjs'), ...args], {
      cwd: root,
      encoding: 'utf8',
      env: { ...plain, ...how },
    });
  it('a search in a script finds the knob that helps', () => {
    const r = search({}, kernels, '8');
    expect(r.stderr).toBe('');
    const found = JSON.parse(r.stdout);
    expect(found.arm.set).toEqual({ ContractProducts: true });
    expect(found.weighted).toBeLessThan(0.95);
  });

  it.each([
    [
      { ORRERY: 'no-such-command' },
      [kernels],
      /^error: 'no-such-command' cannot be run \(ENOENT\)\n.*ORRERY/,
    ],
    [{}, ['nowhere.ptx'], /^error: there is no file or folder 'nowhere.ptx'/],
    [{}, [], /^usage: /],
  ])('a search that cannot start says why: %j %j', (how, args, says) => {
    const r = search(how, ...args);
    expect([r.status, r.stdout]).toEqual([1, '']);
    expect(r.stderr).toMatch(says);
    expect(r.stderr).not.toMatch(/\bat .*:\d+:\d+/);
  });

  // Debian's package python3-optuna is for Debian's Python, which need not be the first on the path.
  const python = ['python3', '/usr/bin/python3'].find(
    (p) => spawnSync(p, ['-c', 'import optuna']).status === 0,
  );
  it.skipIf(python === undefined)('Optuna drives it (skipped where python3 has no optuna)', () => {
    const r = spawnSync(python!, [join(root, 'test/examples/optuna_search.py'), kernels, '12'], {
      cwd: root,
      encoding: 'utf8',
      env: plain,
    });
    expect(r.stderr).toBe('');
    const found = JSON.parse(r.stdout);
    expect(found.weighted).toBeLessThan(1);
    expect(found.arm.set.ContractProducts).toBe(true);
  });
});
