import {
  cpSync,
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
import { dirname, join, posix } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { command } from '../support/commands.ts';

/*
 * The pages for contributors: what they name exists, what they change can be changed as described and, where no build is needed, their
 * steps are executed from first to last in a copy.
 */

const page = (name: string): string => `docs/${name}.md`;
const PAGES = [
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((f) => /^add-an?-.*\.md$/.test(f))
    .map((f) => `docs/${f}`),
  page('ori-tests'),
];
/** Where a page goes on that ends before. */
const GOES_ON: Readonly<Record<string, string>> = { [page('add-a-knob')]: page('add-a-pass') };

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** A step of a page: a file that it says to write, or to change; a command, with its exit code; what the last command says. */
type Step =
  | { readonly file: string; readonly text: string }
  | { readonly file: string; readonly hunks: readonly (readonly string[])[] }
  | { readonly line: string; readonly code: number }
  | { readonly says: readonly string[] };

function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
  let file: string | null = null;
  for (const m of text.matchAll(/^```(\w*)\n([\s\S]*?)^```$|(?:[Ss]ave this as|[Ii]n) `([^`\n]+)`:/gm)) {
    const [, language, body, named] = m;
    if (named !== undefined) file = named;
    else if (language === 'sh')
      for (const typed of body.split('\n')) {
        const line = typed.replace(/(^|\s+)#.*$/, '');
        if (line !== '') steps.push({ line, code: /# exit code 1$/.test(typed) ? 1 : 0 });
      }
    else if (language === 'text') steps.push({ says: body.trim().split('\n') });
    else if (language === 'diff') {
      expect(file, `which file is changed?\n${body}`).not.toBeNull();
      const hunks = body.split(/^@@.*\n/m).map((h) => h.trimEnd().split('\n'));
      steps.push({ file: file!, hunks });
    } else if (file !== null && language !== '') {
      steps.push({ file, text: body });
      file = null;
    }
  }
  return steps;
}

/** A text with a change made, each part of which fits in one place. */
function changed(text: string, { file, hunks }: Extract<Step, { hunks: unknown }>): string {
  let lines = text.split('\n');
  for (const hunk of hunks) {
    const side = (without: string) => hunk.filter((l) => l[0] !== without).map((l) => l.slice(1));
    const [from, to] = [side('+'), side('-')];
    const places = lines.flatMap((_, at) => (from.every((l, k) => lines[at + k] === l) ? [at] : []));
    expect(places.length, `places in ${file} with\n${from.join('\n')}\n`).toBe(1);
    lines = [...lines.slice(0, places[0]), ...to, ...lines.slice(places[0] + from.length)];
  }
  return lines.join('\n');
}

/** Does a path of the repository exist? A star stands for any characters of a name; what the build makes is there when its source is. */
function isThere(path: string): boolean {
  const source = path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts').replace(/\/$/, '');
  if (/^dist\b/.test(source)) return true;
  const { dir, base } = posix.parse(source);
  if (!base.includes('*')) return existsSync(join(ROOT, source));
  const name = new RegExp(`^${base.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return existsSync(join(ROOT, dir)) && readdirSync(join(ROOT, dir)).some((f) => name.test(f));
}

const ROOTS = ['src', 'test', 'pipelines', 'knobs', 'schemas', 'docs', 'bin', 'dist', '.ci'];
const isPath = (word: string): boolean =>
  word.includes('/') && ROOTS.includes(word.slice(0, word.indexOf('/'))) && !/[<>{}$…]|NAME/.test(word);

describe('the page', () => {
  test.each(PAGES)('%s names what is there', (name) => {
    const text = read(name);
    const own = stepsOf(text).concat(GOES_ON[name] === undefined ? [] : stepsOf(read(GOES_ON[name])));
    const made = new Set(own.flatMap((s) => ('text' in s ? [s.file] : [])));
    const lost: string[] = [];
    const check = (path: string): void => {
      if (!made.has(path) && !isThere(path)) lost.push(path);
    };
    // What a block says of a file's content is not about files here; its commands are.
    const prose = text.replace(/^```(\w*)\n[\s\S]*?^```$/gm, (block, language) =>
      language === 'sh' ? block.replace(/^```.*$/gm, '').replace(/^(.+)$/gm, '`$1`') : '',
    );
    for (const [, span] of prose.matchAll(/`([^`\n]+)`/g)) {
      for (const word of span.split(/\s+/)) if (isPath(word)) check(word);
      const script = /^npm run (?:--silent )?([\w:-]+)/.exec(span)?.[1];
      if (script !== undefined && scripts[script] === undefined) lost.push(span);
    }
    for (const [, link] of prose.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g))
      check(posix.join(posix.dirname(name), link));
    // `X` in `path`: the file has the word.
    for (const [, word, path] of prose.matchAll(/`(\w+)` (?:in|of) `([\w./-]+\.ts)`/g))
      if (existsSync(join(ROOT, path)) && !made.has(path) && !read(path).includes(word))
        lost.push(`${word} in ${path}`);
    expect(lost).toEqual([]);
  });

  test.each(PAGES)('%s changes what is there', (name) => {
    const before = GOES_ON[name] === undefined ? [] : stepsOf(read(GOES_ON[name]));
    const texts = new Map<string, string>();
    for (const s of [...before, ...stepsOf(read(name))]) {
      if ('text' in s) texts.set(s.file, s.text);
      if ('hunks' in s) texts.set(s.file, changed(texts.get(s.file) ?? read(s.file), s));
    }
  });

  test('on tests in Ori shows one that is there', () => {
    const text = read(page('ori-tests'));
    const [, file] = /`(test\/ori\/[\w-]+\.ori)`:/.exec(text)!;
    const [, shown] = /^```ori\n([\s\S]*?)^```$/m.exec(text)!;
    expect(shown.trim()).toBe(read(file).trim());
  });

  test('on rooms lists all of them', () => {
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((e) => e.isDirectory());
    const text = read('ARCHITECTURE.md');
    expect(rooms.map((e) => e.name).filter((n) => !text.includes(`| \`src/${n}\` |`))).toEqual([]);
  });
});

const folders: string[] = [];
afterAll(() => {
  for (const f of folders) rmSync(f, { recursive: true });
});

/** A copy whose specs may be changed; sources and tests are those of this one. */
function copy(): string {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-contributing-'));
  folders.push(dir);
  const built = readdirSync(join(ROOT, 'dist')).filter((f) => f.endsWith('.json') || f === '.built');
  for (const entry of ['bin', 'knobs', 'pipelines', 'schemas', 'package.json', 'dist/bundle'].concat(
    built.map((f) => `dist/${f}`),
  ))
    cpSync(join(ROOT, entry), join(dir, entry), { recursive: true, preserveTimestamps: true });
  for (const entry of ['node_modules', 'src', 'test', 'tsconfig.build.json'])
    symlinkSync(join(ROOT, entry), join(dir, entry), 'junction');
  return dir;
}

const isCode = (file: string): boolean => /^(src|test)\//.test(file);
const words = (text: string): string => text.replace(/\s+/g, ' ');

describe.concurrent('followed in a copy', () => {
  test.each([
    [page('add-a-rule'), 6],
    [page('add-a-back-end'), 4],
    // Up to where it goes on with a pass.
    [page('add-a-knob'), 6],
  ])('%s', async (name, least) => {
    const dir = copy();
    const env = { ...process.env, NO_COLOR: '1', ORRERY_SERVER: 'off', XDG_CACHE_HOME: join(dir, '.cache') };
    let said: string | null = null;
    let run = 0;
    for (const step of stepsOf(read(name).split('\n## A knob that a pass reads')[0])) {
      if ('says' in step) {
        for (const line of said === null ? [] : step.says) expect(words(said!)).toContain(words(line.trim()));
      } else if ('line' in step) {
        const [npx, orrery, ...args] = step.line.split(/\s+/);
        said = null;
        // The others need a solver, a build, or are tests of their own.
        if (npx !== 'npx' || orrery !== 'orrery' || /^rules prove/.test(args.join(' '))) continue;
        const script = join(dir, 'bin', 'orrery.js');
        const r = await command(process.execPath, [script, ...args], { cwd: dir, env });
        expect(r.code, `${step.line}\n${r.said}`).toBe(step.code);
        said = r.said;
        run++;
      } else if (!isCode(step.file)) {
        const path = join(dir, step.file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, 'text' in step ? step.text : changed(readFileSync(path, 'utf8'), step));
      }
    }
    expect(run).toBeGreaterThanOrEqual(least);
  });
});
