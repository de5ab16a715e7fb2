import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { anchorOf } from '../../src/tools/site-pages.ts';
import { command, type Outcome } from '../support/commands.ts';
import { WARM } from '../support/warm.ts';

/* Every command in a code block of a README works as typed in the folder of a clone. */

/** Pages of docs/ that contributing.test.ts executes. */
const TRIED = new Set(
  readdirSync(join(ROOT, 'docs')).filter((f) => f.startsWith('add-') || f === 'ori-tests.md'),
);

/** Every README, and the other pages of docs/. */
const READMES = ['.', 'bin', 'docs', 'knobs', 'pipelines', 'schemas', 'src', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((f) => f.endsWith('README.md') || (folder === 'docs' && f.endsWith('.md') && !TRIED.has(f)))
    .map((f) => join(folder, f).replaceAll('\\', '/')),
);

const present = (command: string): boolean => spawnSync(command, ['--version']).status === 0;
const hasPtxas = present('ptxas');
const hasNvcc = present('nvcc');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** A step of a README: a file that it says to write, or a command. */
type Step = { readonly file: string; readonly text: string } | { readonly line: string };

function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  let file: string | null = null;
  for (const m of page.matchAll(/^```(\w*)\n([\s\S]*?)^```$|`([\w-]+\.yaml)`/gm)) {
    const [, language, text, named] = m;
    if (named !== undefined) file = named;
    else if (language === 'yaml' && file !== null) steps.push({ file, text });
    else if (language === 'sh' || language === 'console')
      for (const typed of text.split('\n')) {
        const line = typed.replace(/^\$ /, '').replace(/(^|\s+)#.*$/, '');
        if (line !== '') steps.push({ line });
      }
  }
  return steps;
}

/** What has to be there for a command beside a clone, or what runs it. */
function lacks(line: string): string | null {
  if (/\borrery explore\b/.test(line)) return 'somebody who looks: explorer-cli.test.ts runs it';
  if (/gpu-bench/.test(line)) return 'a GPU';
  if (/\brules prove\b/.test(line)) return 'a solver: rules-docs.test.ts runs these';
  if (/^node test\/examples\//.test(line)) return 'orrery on the PATH: lab-docs.test.ts runs these';
  if (/^cuda-orrery\/bin\/nvcc\b|\btoolkit\b/.test(line)) return hasNvcc ? null : 'nvcc';
  if (/ --ptxas\b|\borrery ptxas\b/.test(line)) return hasPtxas ? null : 'ptxas';
  return null;
}

const folders: string[] = [];
afterAll(() => {
  for (const f of folders) rmSync(f, { recursive: true });
});

/** What commands read of a clone. */
const SHIPPED = [
  'bin',
  'dist',
  'knobs',
  'node_modules',
  'pipelines',
  'schemas',
  'src',
  'test',
  'package.json',
];

/** A folder that looks like a clone and takes what the commands write: nothing else of this one is there, or they would write into it. */
function clone(): string {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-readme-'));
  folders.push(dir);
  for (const entry of SHIPPED) symlinkSync(join(ROOT, entry), join(dir, entry), 'junction');
  return dir;
}

/** @param runtime where a page's own server is found, if it starts one */
const run = (
  file: string,
  args: readonly string[],
  cwd: string,
  runtime: Readonly<Record<string, string>>,
): Promise<Outcome> => {
  const cache = join(cwd, '.user-cache');
  return command(file, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: cache, ...WARM, ...runtime },
  });
};

describe.concurrent('commands of', () => {
  // The lab's page is run example by example, in repositories of its own, by lab-docs.test.ts.
  test.each(READMES.filter((f) => f !== 'src/lab/README.md'))('%s', async (readme) => {
    const steps = stepsOf(readFileSync(join(ROOT, readme), 'utf8'));
    const dir = clone();
    const server = steps.map((s) => 'line' in s && /\borrery server\b/.test(s.line));
    const own = { XDG_RUNTIME_DIR: join(dir, '.user-run') };
    mkdirSync(own.XDG_RUNTIME_DIR, { mode: 0o700 });
    for (const [at, step] of steps.entries()) {
      // What is typed between its first and its last command has the page's own server.
      const runtime = at >= server.indexOf(true) && at <= server.lastIndexOf(true) ? own : {};
      if ('file' in step) {
        writeFileSync(join(dir, step.file), step.text);
        continue;
      }
      const [typed, ...args] = step.line.split(/\s+/);
      if (typed === 'npm') {
        expect(Object.keys(scripts)).toContain(args[0] === 'run' ? args[1] : args[0]);
        continue;
      }
      if (typed === 'node') expect(existsSync(join(ROOT, args[0])), step.line).toBe(true);
      if (lacks(step.line) !== null) continue;
      const orrery = typed === 'npx' && args[0] === 'orrery';
      expect(orrery || typed.endsWith('nvcc'), `what is '${step.line}'?`).toBe(true);
      const { code, said } = orrery
        ? await run(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args.slice(1)], dir, runtime)
        : await run(typed, args, dir, runtime);
      expect(code, `${step.line}\n${said}`).toBe(0);
      expect(said, step.line).not.toMatch(/^warning: recipe '/m);
    }
    // The front page has an order to save, its commands, and npm's.
    if (readme === 'README.md') expect(steps.length).toBeGreaterThan(10);
  });
});

/** Anchors of the headings of a page. */
const anchorsOf = (page: string): Set<string> =>
  new Set([...page.matchAll(/^#+ (.*)$/gm)].map((m) => anchorOf(m[1])));

test('links of all pages lead somewhere', () => {
  const pages = ['.', '.github', 'docs', 'knobs', 'pipelines', 'schemas', 'src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
      .filter((f) => f.endsWith('.md'))
      .map((f) => join(folder, f)),
  );
  expect(pages.length).toBeGreaterThan(30);
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
      if (/^[a-z]+:/.test(link)) return [];
      const [file, anchor] = link.split('#');
      const to = file === '' ? join(ROOT, page) : join(ROOT, dirname(page), file);
      if (!existsSync(to)) return [`${page}: ${link}`];
      const known = anchor === undefined || anchorsOf(readFileSync(to, 'utf8')).has(anchor);
      return known ? [] : [`${page}: ${link}`];
    });
  });
  expect(broken).toEqual([]);
});
