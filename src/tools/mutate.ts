// `node dist/tools/mutate.js`: mutation testing of our own code. Needs a clone, since it runs its tests.
//
// A fault (mutant) is one change of an operator, a constant or a statement, as usual in mutation testing (DeMillo, Lipton and Sayward,
// "Hints on Test Data Selection: Help for the Practicing Programmer", 1978). Each is built into a copy of the clone. Tests that start
// processes are left out. One instrumented run with a mark at each fault shows which test files reach it; only these run with the fault,
// the ones closest to the changed file and the shortest first, until one fails. A run that takes much longer than without the fault counts
// as found. Exit code 1 if fewer than 95 % are found.
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { Command } from 'commander';
import { parseAst } from 'rolldown/parseAst';
import { transformSync } from 'rolldown/utils';
import { hashText } from '../ir/hash.ts';
import { ROOT } from '../spec/node-cache.ts';

const FOLDERS = ['src/analysis', 'src/passes', 'src/rules', 'src/ptx/lower'];

/** One change of a file. */
interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The innermost enclosing code that runs as a whole. */
  readonly around: Stretch;
}

/** Code that runs as a whole: a statement, or an expression that is evaluated conditionally. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly is: 'statement' | 'body' | 'expression' | 'module';
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '+',
  '&': '|',
  '|': '&',
  '&&': '||',
  '||': '&&',
  '<<': '>>>',
  '>>>': '<<',
};

const sources = new Map<string, string>();

/** The source of a file at the start of the study. */
function sourceOf(file: string): string {
  const known = sources.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  sources.set(file, known);
  return known;
}

/** All mutants of a file. */
function mutantsOf(file: string): Mutant[] {
  const text = sourceOf(file);
  const found: Mutant[] = [];
  let around: Stretch = { start: 0, end: text.length, is: 'module' };
  const put = (start: number, end: number, to: string): void => {
    found.push({ file, start, end, text: to, around });
  };
  const visit = (n: Node): void => {
    // Changes of types, imports and messages do not affect behaviour, and a bound on cost may as well be one more.
    if (/^TS|^Import|^TemplateElement/.test(n.type)) return;
    if (n.type === 'VariableDeclarator' && isBound(n, text)) return;
    if (
      n.type === 'CallExpression' &&
      /\b(remark|refuse|said|report)\w*$/.test(nameOf(n.callee as Node, text))
    )
      return;
    if (n.type === 'BinaryExpression' || n.type === 'LogicalExpression') {
      const to = OPERATORS[n.operator as string];
      const [left, right] = [n.left as Node, n.right as Node];
      const between = text.slice(left.end, right.start);
      const at = between.indexOf(n.operator as string);
      if (to !== undefined && at >= 0) put(left.end + at, left.end + at + (n.operator as string).length, to);
    }
    if (n.type === 'UnaryExpression' && n.operator === '!') put(n.start, n.start + 1, '');
    if (n.type === 'Literal' && typeof n.value === 'boolean') put(n.start, n.end, String(!n.value));
    if (n.type === 'Literal' && typeof n.value === 'number') put(n.start, n.end, String(n.value + 1));
    if (n.type === 'ExpressionStatement' || n.type === 'ContinueStatement') put(n.start, n.end, ';');
    if (n.type === 'IfStatement' && n.alternate === null && isExit(n.consequent as Node))
      put(n.start, n.end, ';');
    if (n.type === 'ArrayExpression' && (n.elements as Node[]).length > 1) {
      const [first, second] = n.elements as Node[];
      if (first !== null && second !== null) put(first.start, second.start, '');
    }
    if (n.type === 'ConditionalExpression') {
      const { test } = n as unknown as { test: Node };
      put(test.start, test.end, `!(${text.slice(test.start, test.end)})`);
    }
    for (const [key, v] of Object.entries(n)) {
      if (key === 'typeAnnotation' || key === 'returnType' || key === 'typeArguments') continue;
      for (const child of Array.isArray(v) ? v : [v])
        if (typeof child === 'object' && child !== null && 'type' in child) {
          const outer = around;
          around = stretchOf(n, key, child as Node) ?? around;
          visit(child as Node);
          around = outer;
        }
    }
  };
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node);
  return found;
}

/** The stretch that a child of a node forms if it runs conditionally or is a statement; otherwise null. */
function stretchOf(parent: Node, key: string, child: Node): Stretch | null {
  const { start, end } = child;
  const chosen =
    (parent.type === 'ConditionalExpression' && key !== 'test') ||
    (parent.type === 'LogicalExpression' && key === 'right') ||
    (parent.type === 'ArrowFunctionExpression' && key === 'body' && child.type !== 'BlockStatement');
  if (chosen) return { start, end, is: 'expression' };
  const inBody =
    /^(If|For|ForIn|ForOf|While)Statement$/.test(parent.type) && /^(consequent|alternate|body)$/.test(key);
  const inBlock = parent.type === 'BlockStatement' || (parent.type === 'SwitchCase' && key === 'consequent');
  if (inBody && child.type !== 'BlockStatement') return { start, end, is: 'body' };
  return inBlock ? { start, end, is: 'statement' } : null;
}

/** True for a constant with a literal value, such as `MOST_USES = 32`. */
const isBound = (n: Node, text: string): boolean =>
  /^[A-Z][A-Z0-9_]*$/.test(nameOf(n.id as Node, text)) && (n.init as Node | null)?.type === 'Literal';

const nameOf = (n: Node, text: string): string => text.slice(n.start, n.end);

/** True if a statement ends with a return, continue or break, so that its condition is an early exit. */
function isExit(n: Node): boolean {
  const last = n.type === 'BlockStatement' ? (n.body as Node[]).at(-1) : n;
  return last !== undefined && /^(Return|Continue|Break)Statement$/.test(last.type);
}

const sourcesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.ts'))
    .map((f) => join(folder, f));

/** Tests that import the code and do not start the built commands. */
function inProcessTests(): { file: string; text: string }[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.test.ts'))
    .map((f) => ({ file: join('test', f), text: readFileSync(join(ROOT, 'test', f), 'utf8') }))
    .filter(
      ({ text }) =>
        !/support\/(commands|served|start-processes|warm|limited-command|browser)|worker_threads/.test(
          text,
        ) && !(text.includes('node:child_process') && /execPath|bin\/|dist\//.test(text)),
    );
}

/**
 * How much sooner than others of its length a test is run: most for those that import the file or name its pass, and for the Ori tests of
 * passes; less for those of its topic.
 */
function nearness(file: string, tests: readonly { file: string; text: string }[]): Map<string, number> {
  const name = basename(file, '.ts');
  const topic = join('test', file.split('/')[1], '/');
  const isNear = (text: string): boolean =>
    text.includes(file) || text.includes(`'${name}'`) || text.includes('/ori');
  return new Map(tests.map((t) => [t.file, isNear(t.text) ? 10 : t.file.startsWith(topic) ? 3 : 1]));
}

/** The result of a run of tests in the copy. */
interface Run {
  readonly ok: boolean;
  /** The tests that failed; if none is known, the reason why the run failed. */
  readonly failed: readonly string[];
}

/** Runs tests in the copy, for at most `limit` seconds. */
function passes(copy: string, tests: readonly string[], limit: number, ...more: string[]): Promise<Run> {
  return new Promise((done) => {
    const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
    const child = spawn(
      process.execPath,
      [vitest, 'run', '--reporter=dot', '--no-color', ...more, ...tests],
      {
        cwd: copy,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      },
    );
    let output = '';
    const collect = (chunk: Buffer): void => {
      if (output.length < 2 ** 20) output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      process.kill(-child.pid!, 'SIGKILL');
    }, limit * 1000);
    child.on('close', (code) => {
      clearTimeout(timer);
      const failed = late ? [] : [...output.matchAll(/^ *FAIL +(.*)/gm)].map((m) => m[1]);
      if (failed.length === 0)
        failed.push(late ? `more than ${limit.toFixed(0)} s` : output.trim().slice(-500));
      done({ ok: code === 0, failed });
    });
  });
}

/** A test file: how long it takes, and the numbers of the faults that it reaches. */
interface Reached {
  readonly file: string;
  readonly seconds: number;
  readonly faults: readonly number[];
}

type Numbered = readonly { readonly m: Mutant; readonly k: number }[];

/** A source instrumented with a mark at each fault, which records that it was reached. */
function marked(source: string, faults: Numbered): string {
  const puts: { at: number; order: number; text: string }[] = [];
  const stretches = new Map(faults.map(({ m }) => [m.around.start, m.around]));
  for (const [start, { end, is }] of stretches) {
    const here = faults.filter(({ m }) => m.around.start === start).map(({ k }) => k);
    const mark = here.map((k) => `reachedFaults[${k}] = 1`).join(', ');
    const [before, after] = {
      module: ['', `;${mark};`],
      statement: [`;${mark};`, ''],
      body: [`{${mark};`, '}'],
      expression: [`(${mark}, `, ')'],
    }[is];
    // At equal positions, ends come before starts, and inner ends before outer ones.
    puts.push({ at: start, order: 1, text: before }, { at: end, order: -start, text: after });
  }
  puts.sort((a, b) => a.at - b.at || a.order - b.order);
  let out = `globalThis.reachedFaults ??= new Uint8Array(${sample.length});`;
  let done = 0;
  for (const { at, text } of puts) {
    out += source.slice(done, at) + text;
    done = at;
  }
  return out + source.slice(done);
}

/** Compiles a source into the build of the copy. */
function build(copy: string, file: string, source: string): void {
  const { code, errors } = transformSync(file, source, {
    target: 'es2023',
    typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
  });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  writeFileSync(join(copy, file.replace(/^src/, 'dist').replace(/ts$/, 'js')), code);
}

/**
 * Runs all tests once with a mark at each fault. Each file runs in its own process, so that results cached by others do not hide faults.
 */
async function reach(copy: string, tests: readonly string[], faults: Numbered): Promise<Reached[]> {
  const files = [...new Set(faults.map(({ m }) => m.file))];
  const built = files.map((f) => readFileSync(join(copy, f.replace(/^src/, 'dist').replace(/ts$/, 'js'))));
  for (const f of files)
    build(
      copy,
      f,
      marked(
        sourceOf(f),
        faults.filter(({ m }) => m.file === f),
      ),
    );
  const setup = join(copy, 'test/support/setup.ts');
  const before = readFileSync(setup, 'utf8');
  const result = join(copy, 'reached');
  writeFileSync(
    setup,
    `${before}
import { appendFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';
const began = performance.now();
globalThis.reachedFaults ??= new Uint8Array(${sample.length});
afterAll(() => {
  const { testPath } = expect.getState();
  const seconds = (performance.now() - began) / 1000;
  const faults = [...reachedFaults.keys()].filter((k) => reachedFaults[k] === 1);
  appendFileSync(${JSON.stringify(result)}, \`\${JSON.stringify({ testPath, seconds, faults })}\\n\`);
});
`,
  );
  const run = await passes(copy, tests, 7200, '--isolate');
  if (!run.ok) process.stderr.write(`left out, since they fail without a fault: ${run.failed.join('\n')}\n`);
  writeFileSync(setup, before);
  for (const [i, f] of files.entries())
    writeFileSync(join(copy, f.replace(/^src/, 'dist').replace(/ts$/, 'js')), built[i]);
  return readFileSync(result, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { testPath: string; seconds: number; faults: number[] })
    .map(({ testPath, seconds, faults: f }) => ({ file: relative(copy, testPath), seconds, faults: f }))
    .filter(({ file }) => !run.failed.some((f) => f.includes(file)));
}

/** Duration in seconds of the first batch of tests for a fault; each further batch takes up to five times as long. */
const FIRST = 8;

/** Tests in batches, in the order to run them: starting Vitest takes a second or two, and most faults are found in the first batch. */
function inParts(tests: readonly Reached[], near: ReadonlyMap<string, number>, most: number): Reached[][] {
  const rank = (t: Reached): number => t.seconds / (near.get(t.file) ?? 1);
  const parts: Reached[][] = [];
  let room = 0;
  let length = FIRST;
  let left = most;
  for (const t of [...tests].sort((a, b) => rank(a) - rank(b))) {
    left -= t.seconds;
    if (left < 0 && parts.length > 0) break;
    if (room < t.seconds || parts.length === 0) {
      parts.push([]);
      room = parts.length === 1 ? FIRST : (length *= 5);
    }
    parts.at(-1)!.push(t);
    room -= t.seconds;
  }
  return parts;
}

/** Folders that a git clone does not contain. */
const BESIDE = ['node_modules', 'dist'];

function copyOfClone(): string {
  const copy = mkdtempSync(join(tmpdir(), 'orrery-mutate-'));
  const git = (...args: string[]): string => {
    const r = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
    if (r.status !== 0) throw new Error(`git ${args[0]}: ${r.stderr.trim()}`);
    return r.stdout;
  };
  git('clone', '--quiet', '--shared', '.', copy);
  // Include changes that are not committed.
  const changed = git('ls-files', '-z', '--modified', '--others', '--exclude-standard').split('\0');
  for (const f of changed.filter((f) => f !== '' && !BESIDE.includes(f) && existsSync(join(ROOT, f)))) {
    mkdirSync(join(copy, dirname(f)), { recursive: true });
    cpSync(join(ROOT, f), join(copy, f));
  }
  for (const f of BESIDE) cpSync(join(ROOT, f), join(copy, f), { recursive: true, verbatimSymlinks: true });
  // Tests use the build if it is newer than the sources (vitest.config.ts).
  utimesSync(join(copy, 'dist/.built'), new Date(), new Date(Date.now() + 1000));
  return copy;
}

/** Required fraction of found faults. */
const WANTED = 0.95;

const options = new Command('mutate')
  .description('put small faults into our own code, and see whether the tests find them')
  .option('--sample <n>', 'how many', '300')
  .option('--seed <n>', 'which', '1')
  .option('--part <k/n>', 'only this part of them', '1/1')
  .option('--only <path>', 'only files whose path contains this', '')
  .option('--seconds <n>', 'of the tests that get to a fault run the first, for so long', 'Infinity')
  .option('--map <file>', 'keep here which tests get to which fault, for other parts of the same sample')
  .option('--list', 'name them, and run nothing')
  .allowExcessArguments(false)
  .parse()
  .opts<{
    sample: string;
    seed: string;
    part: string;
    only: string;
    seconds: string;
    map?: string;
    list?: true;
  }>();

const [part, parts] = options.part.split('/').map(Number);
const sample = FOLDERS.flatMap(sourcesOf)
  .filter((f) => f.includes(options.only))
  .flatMap(mutantsOf)
  .map((m) => ({ m, key: hashText(`${options.seed} ${m.file} ${m.start} ${m.text}`) }))
  .sort((a, b) => (a.key < b.key ? -1 : 1))
  .slice(0, Number(options.sample))
  .map(({ m }, k) => ({ m, k }));
const chosen = sample.filter(({ k }) => k % parts === part - 1);

const where = ({ file, start, end, text }: Mutant): string => {
  const source = sourceOf(file);
  const line = source.slice(0, start).split('\n').length;
  const from = source.lastIndexOf('\n', start) + 1;
  const to = source.indexOf('\n', end);
  const changed = `${source.slice(from, start)}${text}${source.slice(end, to)}`;
  return `${file}:${line}\n  - ${source.slice(from, to).trim()}\n  + ${changed.trim()}`;
};

/** Determines which tests reach which fault of the sample, or reads it from the file of `--map`. */
async function map(copy: string, tests: readonly string[]): Promise<Reached[]> {
  if (options.map !== undefined && existsSync(options.map))
    return JSON.parse(readFileSync(options.map, 'utf8')) as Reached[];
  const began = performance.now();
  const reached = await reach(copy, tests, sample);
  const seconds = (performance.now() - began) / 1000;
  process.stderr.write(`${tests.length} test files pass in ${seconds.toFixed(0)} s\n`);
  if (options.map !== undefined) writeFileSync(options.map, JSON.stringify(reached));
  return reached;
}

/** Runs batches of tests with a fault until one finds it. @returns the first failed test, or null */
async function finder(copy: string, parts: readonly Reached[][]): Promise<string | null> {
  for (const some of parts) {
    const seconds = some.reduce((sum, t) => sum + t.seconds, 0);
    const files = some.map((t) => t.file);
    const run = await passes(copy, files, 20 + 3 * seconds, '--bail=1');
    if (!run.ok) return run.failed[0];
  }
  return null;
}

async function study(): Promise<void> {
  const copy = copyOfClone();
  try {
    const tests = inProcessTests();
    const reached = await map(
      copy,
      tests.map((t) => t.file),
    );
    let found = 0;
    for (const [n, { m, k }] of chosen.entries()) {
      const source = sourceOf(m.file);
      build(copy, m.file, source.slice(0, m.start) + m.text + source.slice(m.end));
      const reaching = reached.filter((t) => t.faults.includes(k));
      const parts = inParts(reaching, nearness(m.file, tests), Number(options.seconds));
      const by = await finder(copy, parts);
      build(copy, m.file, source);
      if (by !== null) found++;
      else {
        const run = parts.flat().length;
        process.stdout.write(`survives ${run} of ${reaching.length} test files that run it: ${where(m)}\n`);
      }
      process.stderr.write(
        `${n + 1} of ${chosen.length}, ${found} found${by === null ? '' : `, by ${by}`}\n`,
      );
    }
    process.stdout.write(`${found} of ${chosen.length} found\n`);
    process.exitCode = found >= WANTED * chosen.length ? 0 : 1;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

if (options.list === true) process.stdout.write(chosen.map(({ m }) => `${where(m)}\n`).join(''));
else
  try {
    await study();
  } catch (e) {
    process.stderr.write(`error: ${(e as Error).message}\n`);
    process.exitCode = 1;
  }
