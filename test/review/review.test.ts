import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { packagedSolver } from '../../src/cli/rules/solver.ts';
import { buildIsa } from '../../src/isa/build.ts';
import { canonical, dataChanges } from '../../src/review/data-diff.ts';
import { whereText } from '../../src/review/where.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { loadShipped, loadSpec } from '../../src/spec/node.ts';
import { runs } from '../support/size.ts';
import { WARM } from '../support/warm.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-review-'));
afterAll(() => rmSync(dir, { recursive: true }));
const orrery = (...args: string[]) => orreryIn(WARM, ...args);
const orreryIn = (env: NodeJS.ProcessEnv, ...args: string[]) => runIn(root, env, args);
const runIn = (cwd: string, env: NodeJS.ProcessEnv, args: readonly string[]) => {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache'), ...env },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
};

let heads = 0;
/** A copy of the specs in which one file reads otherwise. */
function head(file: string, change: (text: string) => string): string {
  const folder = join(dir, `head${heads++}`);
  for (const f of ['pipelines', 'knobs']) cpSync(join(root, f), join(folder, f), { recursive: true });
  const was = readFileSync(join(folder, file), 'utf8');
  const is = change(was);
  expect(is).not.toBe(was);
  writeFileSync(join(folder, file), is);
  return folder;
}
/** Moves a line of a list in front of another. */
const moved = (text: string, what: RegExp, before: RegExp) => {
  const lines = text.split('\n');
  const [line] = lines.splice(
    lines.findIndex((l) => what.test(l)),
    1,
  );
  lines.splice(
    lines.findIndex((l) => before.test(l)),
    0,
    line,
  );
  return lines.join('\n');
};
const lineOf = (folder: string, file: string, what: RegExp) =>
  readFileSync(join(folder, file), 'utf8')
    .split('\n')
    .findIndex((l) => what.test(l)) + 1;

describe('differences of documents', () => {
  const doc: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom('a', 'b'),
      fc.dictionary(fc.constantFrom('x', 'y', 'z'), tie('value'), { maxKeys: 3 }),
      fc.array(fc.record({ id: fc.constantFrom('p', 'q', 'r'), v: tie('value') }), { maxLength: 3 }),
      fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 3 }),
    ),
  })).value;

  it('are none exactly where documents are equal up to the order of keys and of named elements', () => {
    const shuffled = (v: unknown): unknown =>
      Array.isArray(v)
        ? v.map(shuffled)
        : v !== null && typeof v === 'object'
          ? Object.fromEntries(
              Object.entries(v)
                .reverse()
                .map(([k, x]) => [k, shuffled(x)]),
            )
          : v;
    fc.assert(
      fc.property(doc, doc, (a, b) => {
        expect(dataChanges(a, shuffled(a))).toEqual([]);
        if (dataChanges(a, b).length === 0 && canonical(a) !== canonical(b)) {
          // Only the order of named elements may be all that differs.
          expect(canonical(a).split('').sort()).toEqual(canonical(b).split('').sort());
        }
      }),
      { numRuns: runs(300), seed: 4 },
    );
  });

  it('tell elements by their names, never by their place', () => {
    const a = {
      rules: [
        { id: 'p', v: 1 },
        { id: 'q', v: 2 },
      ],
    };
    const b = {
      rules: [
        { id: 'new', v: 0 },
        { id: 'q', v: 3 },
        { id: 'p', v: 1 },
      ],
    };
    expect(dataChanges(a, b)).toEqual([
      { path: ['rules', 'q', 'v'], before: 2, after: 3 },
      { path: ['rules', 'new'], before: undefined, after: { id: 'new', v: 0 } },
    ]);
  });

  it('an element keeps its name where a list gets one of another form', () => {
    const insert = { insert: 'OriBranchOpt', after: 'OriCopyProp' };
    const drop = { drop: 'GvnCse' };
    expect(dataChanges({ edits: [insert] }, { edits: [insert, drop] })).toEqual([
      { path: ['edits', 'drop GvnCse'], before: undefined, after: drop },
    ]);
  });

  it('places are said as short as they are', () => {
    const plans = ['sm_80', 'sm_90'].flatMap((s) => [1, 2, 3].map((l) => `${s} -O${l}`));
    expect(whereText(plans, [...plans, 'order seed'])).toBe('everywhere');
    expect(whereText(['sm_80 -O1', 'sm_80 -O2', 'sm_80 -O3'], plans)).toBe('sm_80');
    expect(whereText(['sm_80 -O2', 'sm_90 -O2'], plans)).toBe('-O2');
    expect(whereText(['sm_80 -O2', 'sm_80 -O3'], plans)).toBe('sm_80 -O2, 3');
    expect(whereText(['order seed'], plans)).toBe('order seed');
  });
});

describe('orrery diff', () => {
  it('says that nothing differs, for the same, and where only words do', () => {
    const same = orrery('diff', root, root, '--no-kernels');
    expect([same.code, same.err]).toEqual([0, '']);
    expect(same.out).toContain('no effect: every plan is the same');
    const words = head('pipelines/orders/binary.yaml', (t) => t.replace(/^title: .*/m, 'title: other words'));
    expect(orrery('diff', root, words, '--no-kernels').code).toBe(0);
    const git = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root });
    if (git.status === 0)
      expect(orrery('diff', 'HEAD', 'HEAD', '--no-kernels', '--sm', 'sm_90').code).toBe(0);
  });

  it('a ref is compared with the working tree of the same repository, which is named where it is another', () => {
    const to = head('pipelines/orders/binary.yaml', (t) => t.replace(/^title: .*/m, 'title: of another'));
    const git = (...args: string[]) => spawnSync('git', args, { cwd: to, encoding: 'utf8' });
    if (git('init', '--quiet').error !== undefined) return;
    git('add', '--all');
    expect(
      git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--quiet', '-m', 'base').stderr,
    ).toBe('');
    const scope = ['--sm', 'sm_90', '-O', '3'];
    expect(runIn(to, WARM, ['diff', 'HEAD', '--no-kernels', ...scope]).code).toBe(0);
    const catalog = join(to, 'knobs', 'catalog.yaml');
    const was = readFileSync(catalog, 'utf8');
    writeFileSync(catalog, was.replace(/(ContractProducts: .*default: )null/, '$1true'));
    const kernel = join(root, 'test', 'kernels', 'mandelbrot', 'mandelbrot.sm_90.ptx');
    const r = runIn(join(to, 'knobs'), WARM, ['diff', 'HEAD', ...scope, '--kernels', kernel, '--no-ptxas']);
    expect([r.code, r.err]).toEqual([2, '']);
    const top = git('rev-parse', '--show-toplevel').stdout.trim();
    expect(r.out).toContain(`base  HEAD\nhead  the working tree of ${top}\n`);
    expect(r.out).toMatch(
      /^1 change; of 2 kernels 0 HURT, 2 helped by executed instructions; results equal$/m,
    );
    expect(r.out).toContain(`orrery ab ref:HEAD ref:${top} `);
  });

  it('a moved phase is one move, and kernels show what it does', () => {
    const to = head('pipelines/orders/binary.yaml', (t) =>
      moved(t, /- GeneralOptimizeMid /, /- GeneralOptimizeLate /),
    );
    const r = orrery('diff', root, to, '--kernels', 'test/kernels/saxpy/launch.yaml', '--no-ptxas');
    expect([r.code, r.err]).toEqual([2, '']);
    expect(r.out).toMatch(/^1 change; .*2 kernels.*; results equal$/m);
    expect(r.out).toMatch(/^ {2}sm_80 -O3: /m);
    expect(r.out).toMatch(/^order GeneralOptimizeMid: after \w+ -> after \w+$/m);
    expect(r.out).toContain(
      `binary.yaml:${lineOf(to, 'pipelines/orders/binary.yaml', /- GeneralOptimizeMid /)}, everywhere`,
    );
  });

  it('a wrong order is caught, with the place and the reason', () => {
    const to = head('pipelines/orders/binary.yaml', (t) =>
      moved(t, /- OriBranchOpt /, /- SetControlFlowOpLastInBB /),
    );
    const r = orrery('diff', root, to, '--no-kernels', '--sm', 'sm_90');
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/1 error in the specs of the head/);
    expect(r.out).toMatch(/OriBranchOpt comes before SetControlFlowOpLastInBB\n.*binary.yaml:\d+/);
    expect(r.out).toContain('OriBranchOpt looks for the branch at the end of its block');
  });

  it('a knob default that breaks a kernel is caught: default, readers, line, and the kernel', () => {
    const file = 'knobs/catalog.yaml';
    const to = head(file, (t) =>
      t.replace(/(ContractProducts: +\{ index: null, type: NONE, default: )null/, '$1true'),
    );
    const r = orrery(
      'diff',
      root,
      to,
      '--sm',
      'sm_80',
      '--kernels',
      'test/kernels/stencil/stencil.sm_80.ptx',
      '--no-ptxas',
    );
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/^knob ContractProducts: unset -> true$/m);
    expect(r.out).toMatch(/default unset -> true; read by GeneralOptimizeMid/);
    expect(r.out).toContain(`catalog.yaml:${lineOf(to, file, /ContractProducts:/)}`);
    expect(r.out).toMatch(/1 kernel WRONG/);
    expect(r.out).toMatch(/^ {2}jacobi3d, sm_80 -O3 [\s\S]*launch-3d.yaml: parameter/m);
  });

  it.each([
    ['two folders', (is: string, was: string) => [was, is]],
    ['a folder and the specs as they are here', (is: string) => [is]],
  ])('the command that is shown with an effect shows the code: %s', (_, places) => {
    const to = head('knobs/catalog.yaml', (t) => t.replace(/(ContractProducts: .*default: )null/, '$1true'));
    const kernel = ['--kernels', 'test/kernels/mandelbrot/mandelbrot.sm_90.ptx'];
    const r = orrery('diff', ...places(to, root), ...kernel, '--sm', 'sm_90', '-O', '3', '--no-ptxas');
    // Without fused products, the kernels take longer than the budget that ships allows.
    expect([r.code, r.err]).toEqual([places(to, root).length === 2 ? 2 : 1, '']);
    const [again] = /(?<=its diff: orrery ).*/.exec(r.out)!;
    expect(again).toContain('-O 3 --sm sm_90');
    const shown = orrery(...again.split(' '), '--repeat', '0', '--no-ptxas');
    expect(shown.err).toBe('');
    expect(shown.out).toMatch(/^mandelbrot\w*: after GeneralOptimizeMid: /);
    expect(shown.out).toMatch(/^@@ -\d[\s\S]*^[-+] .*DFMA/m);
  });

  it('the command that is shown with the effect of a wrong rule forces it', () => {
    const to = head('pipelines/rules/fusion.yaml', (t) =>
      t.replace(
        /(id: mad,[^}]*rewrite: )'IMAD.\$type \$d, \$a, \$b, \$c'/,
        "$1'IMAD.$$type $$d, $$a, $$b, 0'",
      ),
    );
    const kernel = ['--kernels', 'test/kernels/grid-3d/grid-3d.sm_90.ptx'];
    const r = orrery('diff', root, to, ...kernel, '--sm', 'sm_90', '-O', '3', '--no-prove', '--no-ptxas');
    const [again] = /(?<=its diff: orrery ).*/.exec(r.out)!;
    expect(orrery(...again.split(' '), '--repeat', '0', '--no-ptxas').out).toMatch(
      /^\w+: after \w+: [\s\S]*^- {2}.*IMAD/m,
    );
  });

  it.each([
    ['GeneralOptimizationBudget', '-5', 'a budget must not be negative'],
    ['ContractProducts', 'tru', 'it must be a flag: true or false'],
  ])('a knob default that is no value of its type is caught: %s %s', (knob, value, why) => {
    const file = 'knobs/catalog.yaml';
    const to = head(file, (t) => t.replace(new RegExp(`(  ${knob}: .*default: )null`), `$1${value}`));
    const r = orrery('diff', root, to, '--no-kernels', '--sm', 'sm_80');
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/in the specs of the head/);
    expect(r.out).toMatch(
      new RegExp(`knob ${knob} .*: ${why}\\n.*catalog.yaml:${lineOf(to, file, new RegExp(`${knob}:`))}`),
    );
  });

  it.skipIf(!packagedSolver())('a wrong rule is caught: refuted, with numbers, at its line', () => {
    const file = 'pipelines/rules/shifts.yaml';
    const to = head(file, (t) =>
      t.replace("rewrite: 'SGXT.S32 $d, $a, #(32 - k)'", "rewrite: 'SGXT.S32 $d, $a, #(31 - k)'"),
    );
    const r = orrery('diff', root, to, '--no-kernels', '--sm', 'sm_90');
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/^1 change; 1 ALARM; 1 rule REFUTED; not measured$/m);
    expect(r.out).toMatch(
      /^rule shifts: shift-sign-extend: rewrite\s[^>]*32 - k[^>]* ->\s[^>]*31 - k\)\n {2}refuted/m,
    );
    expect(r.out).toMatch(/\$d +=.*before.*after/);
    expect(r.out).toContain(`shifts.yaml:${lineOf(to, file, /id: shift-sign-extend/)}`);
  });

  it('takes what the head stores of its rules for a claim, which values refute and no words prove', async () => {
    const { isa } = buildIsa((await loadShipped()).isa);
    const rules = 'pipelines/rules/identities.yaml';
    const added = (k: number) => `
  - id: from-the-head
    title: sums of constants
    match: |
      IADD3 $t, $x, $y, 77
      IADD3 $d, $t, 0, ${k}
    when: uses(t) == 1
    rewrite: IADD3 $d, $x, $y, 84
    source: test
`;
    const stating = async (k: number, also: string[] = []) => {
      const to = head(rules, (t) => t.trimEnd() + added(k));
      const doc = (await loadSpec(join(to, rules), 'rules')).data;
      const { hash } = rulesOfDoc(doc, isa).rules.find((r) => r.id === 'from-the-head')!;
      const verdict = { verdict: 'verified', instances: 1, hash };
      const file = join(to, 'pipelines/rules/verdicts.json');
      writeFileSync(
        file,
        JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), 'from-the-head': verdict }),
      );
      const args = ['--no-kernels', '--sm', 'sm_90', '-O', '3', ...also];
      return { to, r: orrery('diff', root, to, ...args) };
    };
    const wrong = await stating(8);
    expect(wrong.r.out).toMatch(/: nothing -> new\n {2}refuted/);
    expect(wrong.r.out).toMatch(/^1 change; 1 ALARM; 1 rule REFUTED; not measured$/m);
    const claimed = await stating(7, ['--no-prove']);
    expect([claimed.r.code, claimed.r.err]).toEqual([2, '']);
    expect(claimed.r.out).toMatch(/^1 change; 1 ALARM; not measured$/m);
    expect(claimed.r.out).toMatch(
      /: nothing -> new\n {2}claimed, not proved: the head states 'verified \(1 choice of modifiers\)',\s+and no solver/,
    );
    if (!packagedSolver()) return;
    const asked = await stating(7);
    expect(asked.r.out).toMatch(/^1 change; not measured$/m);
    expect(asked.r.out).toMatch(/: nothing -> new\n {2}verified/);
    // What the solver said is kept outside of the head, by what the rule means.
    const kept = orrery('diff', root, asked.to, '--no-kernels', '--sm', 'sm_90', '-O', '3', '--no-prove');
    expect(kept.out).toMatch(/: nothing -> new\n {2}verified/);
  });

  it.skipIf(!packagedSolver())('rules whose opcode means something else are proved again', () => {
    const file = 'pipelines/isa/integer.yaml';
    const wrong = head(file, (t) => t.replace('means: d = brev(a)', 'means: d = ~brev(a)'));
    const r = orrery('diff', root, wrong, '--no-kernels', '--sm', 'sm_90', '-O', '3');
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/^opcode BREV.means: d = brev\(a\) -> d = ~brev\(a\)$/m);
    // The head is wrong already, so that no solver is asked.
    expect(r.out).toMatch(/^ {2}2 rules with it proved again: 1 left until none is refuted, 1 refuted$/m);
    expect(r.err).not.toContain('proof');
    expect(r.out).toMatch(/^1 change; 1 ALARM; 1 rule REFUTED; not measured$/m);
    expect(r.out).toMatch(
      /^rule identities: count-of-reversed: there -> means something else\n {2}its text is unchanged, but BREV changed\n {2}refuted$/m,
    );
    expect(r.out).toMatch(/\$d +=.*before.*after/);
    const rules = 'pipelines/rules/identities.yaml';
    expect(r.out).toContain(`identities.yaml:${lineOf(wrong, rules, /id: count-of-reversed/)}`);
    // The same, said otherwise, refutes nothing.
    const same = head(file, (t) => t.replace('means: d = brev(a)', 'means: d = ~(~brev(a))'));
    const s = orrery('diff', root, same, '--no-kernels', '--sm', 'sm_90', '-O', '3');
    expect(s.code).toBe(2);
    expect(s.out).toMatch(/^1 change; not measured$/m);
    expect(s.out).toMatch(/^ {2}2 rules with it proved again: 2 verified$/m);
    // Where the time for proofs is over, what is left is not known to hold.
    const late = orreryIn(
      { ...WARM, XDG_CACHE_HOME: join(dir, 'late-cache') },
      ...['diff', root, same, '--no-kernels', '--sm', 'sm_90', '-O', '3', '--prove-limit', '1ms'],
    );
    expect(late.out).toMatch(/^ {2}2 rules with it proved again: 1 not proved, 1 verified$/m);
    expect(late.out).toMatch(/not proved: the time of --prove-limit 1ms was over$/m);
    expect(late.out).toMatch(/^1 change; 1 rule NOT PROVED any more; not measured$/m);
    expect(orrery('diff', root, same, '--prove-limit', 'soon').err).toContain(
      '--prove-limit soon is not a time',
    );
    // Values alone refute, where nobody can be asked for a proof. In a comment, a counterexample keeps its lines.
    const md = orreryIn(
      { ...WARM, XDG_CACHE_HOME: join(dir, 'other-cache') },
      'diff',
      root,
      wrong,
      '--no-kernels',
      '--sm',
      'sm_90',
      '-O',
      '3',
      '--no-prove',
      '--format',
      'markdown',
    );
    expect(md.out).toMatch(/^- `identities: count-of-reversed`: its text is unchanged, but BREV changed$/m);
    expect(md.out).toMatch(/^ {2}```text\n {2}refuted\n[\s\S]*?^ {2}.*\$d +=.*\n[\s\S]*?^ {2}```$/m);
    expect(md.out).toMatch(/1 left until none is refuted, 1 refuted/);
  });

  it.skipIf(!packagedSolver())(
    'rules that use a table of their group are proved again where it changed',
    () => {
      const file = 'pipelines/rules/compare.yaml';
      const to = head(file, (t) => t.replace('  zerotest: { EQ: LT,', '  zerotest: { EQ: GE,'));
      const r = orrery('diff', root, to, '--no-kernels', '--sm', 'sm_90', '-O', '3');
      expect(r.code).toBe(1);
      expect(r.out).toMatch(
        /^rule compare.tables.zerotest.EQ: LT -> GE\n {2}\d+ rules? with it proved again: \d+ refuted/m,
      );
      expect(r.out).toMatch(/its text is unchanged, but a table of its group changed\n {2}refuted/);
    },
  );

  it('a constraint that is gone is an alarm with its reason; a fact says its target; a gate says when', () => {
    const to = head('pipelines/constraints.yaml', (t) => {
      const at = t.indexOf('  - before: ConvertUnsupportedOps\n    after: SetControlFlowOpLastInBB');
      // A new constraint that only warns takes nothing away.
      const added =
        '  - { before: OriBranchOpt, after: NOP, why: a try, source: a test, severity: warning }\n';
      return t.slice(0, at) + added + t.slice(t.indexOf('  - before:', at + 5));
    });
    const backend = join(to, 'pipelines/backends/sm_86.yaml');
    writeFileSync(backend, `${readFileSync(backend, 'utf8')}limits: { ctas-per-sm: 12 }\n`);
    const phases = join(to, 'pipelines/phases.yaml');
    const text = readFileSync(phases, 'utf8');
    writeFileSync(phases, text.replace(/(name: OriBranchOpt\b[\s\S]*?levels: \[)[^\]]*/, '$13'));
    const r = orrery('diff', root, to, '--no-kernels', '--json');
    expect(r.code).toBe(2);
    const data = JSON.parse(r.out);
    const check = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
      JSON.parse(readFileSync(join(root, 'schemas/output/diff.schema.json'), 'utf8')) as object,
    );
    check(data);
    expect(check.errors ?? []).toEqual([]);
    const of = (kind: string) => data.changes.filter((c: { kind: string }) => c.kind === kind);
    expect(of('constraint')).toMatchObject([
      {
        before: 'error',
        after: 'nothing',
        alarm: true,
        note: expect.stringMatching(/^removed; it was there because conversion may put control/),
      },
      { before: 'nothing', after: 'warning', alarm: false, note: 'a try' },
    ]);
    expect(of('fact')).toMatchObject([{ name: 'limits.ctas-per-sm', before: '16', after: '12' }]);
    expect(new Set(of('fact')[0].where.map((w: string) => w.split(' ')[0]))).toEqual(new Set(['sm_86']));
    expect(of('phase').map((c: { name: string }) => c.name)).toContain('OriBranchOpt');
    expect(of('phase')[0].after).toMatch(/if level 3/);
  });

  it('without ptxas, limits on what it makes are left out, and that is said', () => {
    const file = join(dir, 'ptxas.budget.yaml');
    writeFileSync(file, 'kind: budget\nlimits:\n  - { metric: ptxas.registers, percent: 0 }\n');
    const kernels = ['--kernels', 'test/kernels/saxpy/saxpy.sm_80.ptx'];
    const to = head('knobs/catalog.yaml', (t) => t.replace(/(ContractProducts: .*default: )null/, '$1true'));
    const scope = ['--sm', 'sm_80', '-O', '3'];
    const r = orrery('diff', root, to, ...kernels, ...scope, '--budget', file, '--no-ptxas');
    expect([r.code, r.err]).toEqual([2, '']);
    expect(r.out).toMatch(/^ {2}1 limit on what ptxas makes: not checked without it$/m);
    const asked = orreryIn(
      { ORRERY_PTXAS: '/nowhere/ptxas' },
      'diff',
      root,
      root,
      ...kernels,
      '--budget',
      file,
    );
    expect([asked.code, asked.out]).toEqual([1, '']);
    expect(asked.err).toMatch(/ptxas cannot be run[\s\S]*--no-ptxas/);
  });

  it('Markdown is a comment: a line, tables, the rest folded', () => {
    const to = head('pipelines/backends/sm_86.yaml', (t) => `${t}limits: { ctas-per-sm: 12 }\n`);
    const r = orrery('diff', root, to, '--no-kernels', '--format', 'markdown');
    expect(r.out).toMatch(/^\*\*1 change; not measured\*\*\n/);
    expect(r.out).toMatch(
      /\| fact \| `limits.ctas-per-sm`<br>pipelines\/backends\/sm_86.yaml:\d+ \| 16 \| 12 \| sm_86 \| not measured: --no-kernels \|/,
    );
    expect(r.out).toMatch(/\*\*Not known\*\*\n\n- not measured, --no-kernels: limits.ctas-per-sm/);
  });

  it.each([
    [['diff', 'no-such-ref'], /names no commit/],
    [['diff', 'test'], /holds no specs/],
    [['diff', '.', '.', '--format', 'x'], /--format x is not known/],
    [['diff', '.', '.', '--no-kernels', '--sm', 'sm_91'], /no back end for 'sm_91'\n.*did you mean 'sm_90'/],
    [['diff', '.', '.', '--no-kernels', '-O', '9'], /optimization level 9 is not 0 to 5/],
    [
      ['diff', '.', '.', '--kernels', 'test/kernels/saxpy/saxpi.sm_80.ptx'],
      /did you mean 'test\/kernels\/saxpy\/saxpy.sm_80.ptx'/,
    ],
    [['diff', '.', '.', '--ptxas', '9'], /--ptxas 9 is not a level of ptxas/],
    [['diff', '.', '.', '--no-kernels', '--json', '--format', 'markdown'], /contradict each other/],
    [['cfg', 'test/kernels/saxpy/saxpy.sm_80.ptx', '--json', '--format', 'svg'], /contradict each other/],
  ])('%j ends with one message and 1', (args, says) => {
    const r = orrery(...args);
    expect(r.code).toBe(1);
    expect(r.out === '' || args.includes('--json')).toBe(true);
    expect(r.err).toMatch(says);
  });
});
