import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { WARM } from '../support/warm.ts';

// Every command of the lab's page is run as written; the output shown there has the same form.

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'src', 'lab', 'README.md'), 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'orrery-lab-docs-'));
symlinkSync(join(root, 'test'), join(dir, 'test'));
afterAll(() => rmSync(dir, { recursive: true }));
const bin = join(root, 'bin', 'orrery.js');
const orrery = `${process.execPath} ${bin}`;
const commands = [
  ...page.matchAll(/```sh\n(.*)\n```\n\n<!-- shows-(\w+): begin -->\n\n```\n([\s\S]*?)\n```/g),
];

/** The headings of a text: its numbers, which change with every pass, are removed; the names before them stay. */
const headings = (text: string) =>
  text
    .split('\n')
    .filter((l) => /^\S/.test(l))
    .map((l) => l.split(/ {2,}|[:;(\d]/)[0].trim())
    .filter((l) => /^(A|B|differs in|metric|equal|Pareto|arm|Effect|Interactions|results|recipe)/.test(l));

describe('the page of the lab', () => {
  it('has an example for each thing that it is for', () => {
    expect(commands.map((c) => c[2])).toEqual(['better', 'move', 'profile', 'sweep', 'emit', 'search']);
  });

  it.each(commands.map((c) => [c[1], c[3]]))('%s', (command, shown) => {
    // One command of plain words needs no shell.
    const [, words] = /^npx orrery ([\w ./:@=-]+)$/.exec(command) ?? [];
    const [file, args] =
      words === undefined
        ? ['sh', ['-c', command.replaceAll('npx orrery', orrery)]]
        : [process.execPath, [bin, ...words.split(' ')]];
    const r = spawnSync(file, args, {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, ...WARM, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
    });
    expect([r.status, r.stderr]).toEqual([0, '']);
    if (command.includes('--emit')) expect(r.stdout.trimEnd()).toBe(shown);
    else if (command.startsWith('npx orrery')) expect(headings(r.stdout)).toEqual(headings(shown));
    else expect(Object.keys(JSON.parse(r.stdout))).toEqual(Object.keys(JSON.parse(shown)));
  });

  it('shows the experiment as it is', () => {
    const file = readFileSync(join(root, 'test/examples/switches.experiment.yaml'), 'utf8');
    expect(page).toContain(`\`\`\`yaml\n${file.trimEnd()}\n\`\`\``);
  });

  it('shows the budget as it is, which holds', () => {
    const path = join(root, 'test/examples/orrery.budget.yaml');
    expect(page).toContain(`\`\`\`yaml\n${readFileSync(path, 'utf8').trimEnd()}\n\`\`\``);
    const r = spawnSync('sh', ['-c', `${orrery} check ${path}`], { cwd: root, encoding: 'utf8' });
    expect([r.status, r.stderr]).toEqual([0, '']);
  });

  it('the review of a branch is run in a repository as the page has it, with its limits', () => {
    const repo = join(dir, 'repo');
    for (const f of ['pipelines', 'knobs']) cpSync(join(root, f), join(repo, f), { recursive: true });
    cpSync(join(root, 'test/examples/orrery.budget.yaml'), join(repo, 'orrery.budget.yaml'));
    symlinkSync(join(root, 'test'), join(repo, 'test'));
    const sh = (script: string) =>
      spawnSync('sh', ['-ec', script], {
        cwd: repo,
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
      });
    const made = sh(`git init -q -b main; git config user.name a; git config user.email a@b
      git add pipelines knobs orrery.budget.yaml; git commit -qm specs; git switch -q -c topic`);
    expect(made.status).toBe(0);
    const [, steps, shown] = /```sh\n([^`]*)\n```\n\n<!-- review: begin -->\n\n```\n([\s\S]*?)\n```/.exec(
      page,
    )!;
    const r = sh(steps.replace(/^npx orrery/m, orrery));
    expect([r.status, r.stderr]).toEqual([2, '']);
    // Kernels that were helped and not hurt stay so; how much is another number with every pass.
    const form = (t: string) =>
      t
        .replace(/\(geometric mean.*?\)/, '')
        .split('\n')
        .slice(0, 8);
    expect(form(r.stdout)).toEqual(form(shown));
    expect(headings(r.stdout)).toEqual(headings(shown));
    // A limit that no version of the kernel keeps to.
    writeFileSync(
      join(repo, 'tight.yaml'),
      'kind: budget\nlimits:\n  - { metric: instructions, kernels: mandelbrot, most: 10 }\n',
    );
    const tight = sh(`${steps.split('\n')[2].replace(/^npx orrery/, orrery)} --budget tight.yaml`);
    expect(tight.status).toBe(1);
    expect(tight.stdout).toMatch(
      /^broken: limit instructions at most 10 for mandelbrot\n {2}mandelbrot \(sm_90 -O3\) \d+ -> \d+ \(.*\)\n {2}tight.yaml:3$/m,
    );
  });

  it('names every metric that there is, or its family', async () => {
    const { METRICS } = await import('../../src/lab/metrics.ts');
    const row = /## Metrics([\s\S]*?)## /.exec(page)![1];
    for (const m of METRICS) {
      const family = m.name.split('.')[0];
      expect([m.name, row.includes(`\`${family}`)]).toEqual([m.name, true]);
    }
  });
});
