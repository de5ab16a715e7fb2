import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { buildIsa } from '../../src/isa/build.ts';
import { compileGroup, rulesOfDoc } from '../../src/rules/group.ts';
import { stillCounts, type Verdicts } from '../../src/rules/prove/verdict.ts';
import { testIsa } from '../support/isa.ts';
import { shipped } from '../support/specs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const at = (path: string): string => readFileSync(join(root, path), 'utf8');
const orreryWith = (env: NodeJS.ProcessEnv, ...args: readonly string[]) => {
  const r = spawnSync('node', [join(root, 'bin/orrery.js'), ...args], {
    encoding: 'utf8',
    cwd: root,
    env: { ...process.env, ...env },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const orrery = (...args: readonly string[]) => orreryWith({}, ...args);

/** Number of shipped rules without a solver's proof when this was written; fewer is better. */
const MOST_UNVERIFIED_SHARE = 0.08;

describe('stored verdicts', () => {
  const verdicts = JSON.parse(at('pipelines/rules/verdicts.json')) as Verdicts;
  const rules = [...shipped.rules!.values()].flatMap((f) => rulesOfDoc(f.data, testIsa(), 'texts').rules);
  it('are about the rules as they stand: `orrery rules prove` brings them up to date', () => {
    const stale = rules
      .filter((r) => verdicts[r.id]?.hash !== r.hash || !stillCounts(verdicts[r.id]))
      .map((r) => r.id);
    const ids = new Set(rules.map((r) => r.id));
    expect([stale, Object.keys(verdicts).filter((id) => !ids.has(id))]).toEqual([[], []]);
  });
  it('refute nothing and leave nothing unknown', () => {
    const bad = Object.entries(verdicts).filter(
      ([, v]) => !['verified', 'by argument', 'bounded', 'inexact'].includes(v.verdict),
    );
    expect(bad.map(([id, v]) => `${id}: ${v.verdict}`)).toEqual([]);
  });
  it('are proofs but for a stated share', () => {
    const proved = Object.values(verdicts).filter((v) => v.verdict === 'verified').length;
    expect(1 - proved / rules.length).toBeLessThan(MOST_UNVERIFIED_SHARE);
    expect(rules.length).toBeGreaterThanOrEqual(200);
  });
});

describe('proving rules of a file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-rules-'));
  const own = { XDG_CACHE_HOME: join(dir, 'cache') };
  // Says that nothing can be told apart.
  const solver = join(dir, 'solver.mjs');
  writeFileSync(
    solver,
    `import { createInterface } from 'node:readline';
    createInterface({ input: process.stdin }).on('line', (l) => {
      if (l === '(check-sat)') console.log('unsat');
      const said = /^\\(echo "(.*)"\\)$/.exec(l);
      if (said !== null) console.log(said[1]);
    });`,
  );
  const written = (group: string): string => {
    const file = join(dir, `${group}.yaml`);
    const match = '"LOP3 $n, $a, _, _, 0x0f\\nIADD3 $d, $a, $n, 0"';
    const rule = `{ id: of-complement, title: t, match: ${match}, rewrite: 'MOV $d, -1', source: s }`;
    writeFileSync(file, `kind: rules\ngroup: ${group}\nrules: [ ${rule} ]\n`);
    return file;
  };
  it.each(['mine', 'logic'])('leaves what is known about shipped ones, as group %s', (group) => {
    const file = written(group);
    const path = join(root, 'pipelines/rules/verdicts.json');
    const before = readFileSync(path, 'utf8');
    try {
      const r = orreryWith(own, 'rules', 'prove', '--all', '--rules', file, '--solver', `node ${solver}`);
      expect([r.code, r.out]).toEqual([0, expect.stringMatching(/^1 rule: 1 verified; 1 asked/)]);
      expect(readFileSync(path, 'utf8')).toBe(before);
    } finally {
      if (readFileSync(path, 'utf8') !== before) writeFileSync(path, before);
    }
  });
  it('is about these alone, once, and what is found is what other commands know', () => {
    const file = written('kept');
    const said = (env: NodeJS.ProcessEnv, ...args: string[]) => orreryWith(env, ...args, '--rules', file);
    const prove = ['rules', 'prove', '--solver', `node ${solver}`];
    const unknown = { XDG_CACHE_HOME: join(dir, 'mine.yaml', 'cache') };
    expect(orreryWith(unknown, 'check', file).err).toMatch(/rule 'of-complement' of \S+ is not proved/);
    expect(said(unknown, 'rules', 'show', 'of-complement').out).toMatch(
      /verdict +none yet: `orrery rules prove --rules .*kept.yaml --rule of-complement`/,
    );
    const lost = said(unknown, ...prove);
    expect([lost.code, lost.out, lost.err]).toEqual([
      0,
      expect.stringMatching(/^1 rule: 1 verified; 1 asked in [^,]*\n$/),
      expect.stringMatching(/^warning: the verdicts cannot be kept.*\n.*ENOTDIR/),
    ]);
    expect(said(own, ...prove, '--all').out).toMatch(/^1 rule: 1 verified; 1 asked .*verdicts in .*cache/);
    expect(said(own, ...prove).out).toMatch(/^1 rule: 1 verified; 0 asked/);
    expect(orreryWith(own, 'check', file)).toMatchObject({ code: 0, err: '' });
    expect(said(own, 'rules', 'show', 'of-complement').out).toMatch(/verdict +verified/);
  });
});

describe('the page about rules', () => {
  const page = at('pipelines/rules/README.md');
  const [wrong, right] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((m) => m[1]);
  const dir = mkdtempSync(join(tmpdir(), 'orrery-rules-'));
  const mine = join(dir, 'mine.yaml');
  const solver = orrery('rules', 'prove', '--rule', 'add-of-nothing', '--json').code === 0;
  if (!solver) console.warn('rules-docs.test.ts: no solver can be loaded, so that nothing is proved here');

  it('refutes the wrong rule with numbers', () => {
    writeFileSync(mine, wrong);
    const checked = orrery('check', mine);
    expect([checked.code, checked.err]).toEqual([
      1,
      expect.stringMatching(/is wrong: its sides differ\n[\s\S]*before[\s\S]*after/),
    ]);
    if (!solver) return;
    const r = orrery('rules', 'prove', '--all', '--rules', mine);
    const said = page.match(/```text\n([\s\S]*?)\n {6}\$a {4}=/)![1];
    expect([r.code, r.out.startsWith(said)]).toEqual([1, true]);
    const [before, after] = r.out.match(/\$d\s+= 0x(\w+) before, 0x(\w+) after/)!.slice(1);
    expect(before).not.toBe(after);
  });
  it('proves and runs the right one', () => {
    writeFileSync(mine, right);
    expect(orrery('check', mine)).toMatchObject({ code: 0 });
    if (solver) expect(orrery('rules', 'prove', '--all', '--rules', mine).out).toMatch(/1 rule: 1 verified/);
    const [opt, explain] = [...page.matchAll(/^\$ npx orrery ((?:opt|rules explain) .*)$/gm)].map((m) => {
      const args = m[1].split(' ').map((a) => (a === 'mine.yaml' ? mine : a));
      return orrery(...args);
    });
    expect([opt.code, opt.err]).toEqual([0, expect.stringMatching(/ 1 byte-twice$[\s\S]*^equal: /m)]);
    expect(explain.out).toMatch(/^bitTricks, GeneralOptimizeEarly: .* => +PRMT R\d+, R\d+, 0x4114, RZ$/m);
  });
});

describe('what is said of rules', () => {
  it('list: where groups run, and their switches', () => {
    const { out } = orrery('rules', 'list');
    expect(out).toMatch(/^address {2}runs in OriLinearReplacement, LateArchOptimizeSecond$/m);
    expect(out).toMatch(/^predicates {2}runs in GeneralOptimizeEarly, GeneralOptimize and \d+ more phases$/m);
    expect(out).toMatch(/^contraction {2}runs in GeneralOptimizeMid, if knob\(ContractProducts\)$/m);
    expect(out).toMatch(/^wide-mad {2}runs in LateArchOptimizeSecond$/m);
  });
  it('show: text, switch and verdict', () => {
    const { out } = orrery('rules', 'show', 'contract-f32');
    expect(out).toMatch(
      /FMUL\.\$rnd1\.\$ftz \$t, \$a, \$b[\s\S]*switch +knob\(ContractProducts\)[\s\S]*verdict +inexact by intent/,
    );
    const missed = orrery('rules', 'show', 'contract-f23');
    expect([missed.code, missed.err]).toEqual([1, expect.stringContaining("did you mean 'contract-f32'")]);
  });
  it('explain: that nothing has the shape of a rule, or that nothing runs it', () => {
    const kernel = join(root, 'test/kernels/saxpy/saxpy.sm_90.ptx');
    const said = (...args: string[]) => orrery('rules', 'explain', kernel, '--rule', ...args).out;
    expect(said('rotate-left-variable')).toMatch(
      /^nothing in .*saxpy.* has the shape of rule 'rotate-left-variable' where it runs, in \w+/,
    );
    expect(said('rotate-left-variable', '-O0')).toMatch(/^no phase of this plan runs rule 'rotate-left-v/);
  });
  it('coverage: what fires over a folder, and why the others do not', () => {
    const { out } = orrery('rules', 'coverage', join(root, 'test/kernels/interpreter'));
    expect(out).toMatch(/^above-is-at-least +compare +\d+/m);
    expect(out).toMatch(/ x its 'when'/);
    // Rules that have no place in these kernels are counted, and named where that is asked for.
    const absent = Number(/their shape does not occur: (\d+) rules/.exec(out)?.[1]);
    expect(absent).toBeGreaterThan(100);
    const all = orrery('rules', 'coverage', '--all', join(root, 'test/kernels/interpreter'));
    expect(all.out.split('\n').length - out.split('\n').length).toBeGreaterThan(absent - 50);
    expect([out, all.out].map((x) => /^ {2}rotate-left-variable$/m.test(x))).toEqual([false, true]);
  });
});

describe('the hash of a rule', () => {
  it('changes with the text, with what an opcode means, and with the operands that it takes', () => {
    const doc = (match: string) => ({
      group: 'g',
      rules: [{ id: 'r', title: 't', match, rewrite: 'MOV $d, $a', source: 's' }],
    });
    const file = at('pipelines/isa/integer.yaml');
    const others = readdirSync(join(root, 'pipelines/isa'))
      .filter((f) => /\.yaml$/.test(f) && f !== 'integer.yaml')
      .map((f) => ({ file: f, data: parse(at(`pipelines/isa/${f}`)) as { kind: string } }))
      .filter((d) => d.data.kind === 'isa');
    const hash = (integer: string, match = 'IADD3 $d, $a, 0, 0'): string => {
      const { isa, diagnostics } = buildIsa([...others, { file: 'integer.yaml', data: parse(integer) }]);
      expect(diagnostics).toEqual([]);
      return compileGroup(doc(match), isa, 'none').rules[0].hash;
    };
    const other = [
      hash(file),
      hash(file, 'IADD3 $d, 0, $a, 0'),
      hash(file.replace('means: d = a + b + c', 'means: d = a + (b + c)')),
      hash(file.replace('c:x(size)?/-', 'c:x(size)?')),
    ];
    expect(new Set(other).size).toBe(4);
    expect(hash(file)).toBe(other[0]);
  });
});
