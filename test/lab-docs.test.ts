import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

// Every command of the lab's page is run as it stands there; what the page says that it prints has the same form.

const root = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(root, 'src', 'lab', 'README.md'), 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'orrery-lab-docs-'));
symlinkSync(join(root, 'test'), join(dir, 'test'));
afterAll(() => rmSync(dir, { recursive: true }));
const orrery = `${process.execPath} ${join(root, 'bin', 'orrery.js')}`;
const commands = [
  ...page.matchAll(/```sh\n(.*)\n```\n\n<!-- shows-(\w+): begin -->\n\n```\n([\s\S]*?)\n```/g),
];

/** The text with its numbers taken away, and the names of what they are about left: they change with every pass. */
const headings = (text: string) =>
  text
    .split('\n')
    .filter((l) => /^\S/.test(l))
    .map((l) => l.split(/ {2,}|[:;(\d]/)[0].trim())
    .filter((l) => /^(A|B|differs in|metric|equal|Pareto|arm|Effect|Interactions|results|recipe)/.test(l));

describe('the page of the lab', () => {
  it('has an example for each thing that it is for', () => {
    expect(commands.map((c) => c[2])).toEqual(['better', 'move', 'sweep', 'search']);
  });

  it.each(commands.map((c) => [c[1], c[3]]))('%s', (command, shown) => {
    const r = spawnSync('sh', ['-c', command.replace(/^npx orrery/, orrery)], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1', ORRERY: orrery, XDG_CACHE_HOME: join(dir, 'cache') },
    });
    expect([r.status, r.stderr]).toEqual([0, '']);
    if (command.startsWith('npx orrery')) expect(headings(r.stdout)).toEqual(headings(shown));
    else expect(Object.keys(JSON.parse(r.stdout))).toEqual(Object.keys(JSON.parse(shown)));
  });

  it('shows the experiment as it is', () => {
    const file = readFileSync(join(root, 'test/examples/switches.experiment.yaml'), 'utf8');
    expect(page).toContain(`\`\`\`yaml\n${file.trimEnd()}\n\`\`\``);
  });

  it('names every metric that there is, or its family', async () => {
    const { METRICS } = await import('../src/lab/metrics.ts');
    const row = /## Metrics([\s\S]*?)## /.exec(page)![1];
    for (const m of METRICS) {
      const family = m.name.split('.')[0];
      expect([m.name, row.includes(`\`${family}`)]).toEqual([m.name, true]);
    }
  });
});
