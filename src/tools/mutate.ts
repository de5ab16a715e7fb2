// `node dist/tools/mutate.js`: how many small faults in our own code the tests find. Needs a clone, since it runs its tests.
//
// A fault is one change of an operator, a constant or a statement, of those that mutation testing knows (DeMillo, Lipton and Sayward,
// "Hints on Test Data Selection: Help for the Practicing Programmer", 1978). Each is put into a copy of the clone, whose tests run without
// those that start processes, for they run what is built: first those nearest to the changed file, until one fails. A run that takes three
// times as long as without the fault counts as found. Exit code 1 if fewer than 95 % are found.
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Command } from 'commander';
import { parseAst } from 'rolldown/parseAst';
import { hashText } from '../ir/hash.ts';
import { ROOT } from '../spec/node-cache.ts';

const FOLDERS = ['src/analysis', 'src/passes', 'src/rules', 'src/ptx/lower'];

/** One change of a file. */
interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
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

/** What may be changed in a file. */
function mutantsOf(file: string): Mutant[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const found: Mutant[] = [];
  const put = (start: number, end: number, to: string): void => {
    found.push({ file, start, end, text: to });
  };
  const visit = (n: Node): void => {
    // Types, imports and messages are no behaviour, and a bound on cost may be one more.
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
        if (typeof child === 'object' && child !== null && 'type' in child) visit(child as Node);
    }
  };
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node);
  return found;
}

/** Is it a constant that is a number, as `MOST_USES = 32`? */
const isBound = (n: Node, text: string): boolean =>
  /^[A-Z][A-Z0-9_]*$/.test(nameOf(n.id as Node, text)) && (n.init as Node | null)?.type === 'Literal';

const nameOf = (n: Node, text: string): string => text.slice(n.start, n.end);

/** Does a statement leave, so that its condition only excepts something? */
function isExit(n: Node): boolean {
  const last = n.type === 'BlockStatement' ? (n.body as Node[]).at(-1) : n;
  return last !== undefined && /^(Return|Continue|Break)Statement$/.test(last.type);
}

const sourcesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.ts'))
    .map((f) => join(folder, f));

/** Tests that run the code of the clone itself, and not what was built of it. */
function inProcessTests(): { file: string; text: string }[] {
  return readdirSync(join(ROOT, 'test'))
    .filter((f) => f.endsWith('.test.ts'))
    .map((f) => ({ file: join('test', f), text: readFileSync(join(ROOT, 'test', f), 'utf8') }))
    .filter(
      ({ text }) =>
        !/support\/(commands|served|start-processes|warm|limited-command|browser)|node:child_process|worker_threads/.test(
          text,
        ),
    );
}

/** Those of the tests that import a file, or name its pass. */
function nearest(file: string, tests: readonly { file: string; text: string }[]): string[] {
  const name = basename(file, '.ts');
  const near = tests.filter(({ text }) => text.includes(file) || text.includes(`'${name}'`));
  return near.map((t) => t.file);
}

/** Runs tests in the copy. @returns whether all passed, and the seconds that it took; null: it took longer than `limit` seconds */
function passes(
  copy: string,
  tests: readonly string[],
  limit: number,
): Promise<{ ok: boolean; seconds: number }> {
  const began = performance.now();
  return new Promise((done) => {
    const child = spawn(
      process.execPath,
      [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--bail=1', '--reporter=dot', ...tests],
      { cwd: copy, stdio: 'ignore', detached: true },
    );
    const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), limit * 1000);
    child.on('close', (code) => {
      clearTimeout(timer);
      done({ ok: code === 0, seconds: (performance.now() - began) / 1000 });
    });
  });
}

/** What git does not bring. */
const BESIDE = ['node_modules', 'dist'];

function copyOfClone(): string {
  const copy = mkdtempSync(join(tmpdir(), 'orrery-mutate-'));
  const git = (...args: string[]): string => {
    const r = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
    if (r.status !== 0) throw new Error(`git ${args[0]}: ${r.stderr.trim()}`);
    return r.stdout;
  };
  git('clone', '--quiet', '--shared', '.', copy);
  // What is not committed yet counts too.
  const changed = git('ls-files', '-z', '--modified', '--others', '--exclude-standard').split('\0');
  for (const f of changed.filter((f) => f !== '' && !BESIDE.includes(f) && existsSync(join(ROOT, f)))) {
    mkdirSync(join(copy, dirname(f)), { recursive: true });
    cpSync(join(ROOT, f), join(copy, f));
  }
  for (const f of BESIDE) cpSync(join(ROOT, f), join(copy, f), { recursive: true });
  return copy;
}

/** Part of the faults that has to be found. */
const WANTED = 0.95;

const options = new Command('mutate')
  .description('put small faults into our own code, and see whether the tests find them')
  .option('--sample <n>', 'how many', '300')
  .option('--seed <n>', 'which', '1')
  .option('--part <k/n>', 'only this part of them', '1/1')
  .option('--only <path>', 'only files whose path contains this', '')
  .option('--list', 'name them, and run nothing')
  .allowExcessArguments(false)
  .parse()
  .opts<{ sample: string; seed: string; part: string; only: string; list?: true }>();

const [part, parts] = options.part.split('/').map(Number);
const chosen = FOLDERS.flatMap(sourcesOf)
  .filter((f) => f.includes(options.only))
  .flatMap(mutantsOf)
  .map((m) => ({ m, key: hashText(`${options.seed} ${m.file} ${m.start} ${m.text}`) }))
  .sort((a, b) => (a.key < b.key ? -1 : 1))
  .slice(0, Number(options.sample))
  .map(({ m }) => m)
  .filter((_, k) => k % parts === part - 1);

const where = ({ file, start, end, text }: Mutant): string => {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const line = source.slice(0, start).split('\n').length;
  const from = source.lastIndexOf('\n', start) + 1;
  const to = source.indexOf('\n', end);
  const changed = `${source.slice(from, start)}${text}${source.slice(end, to)}`;
  return `${file}:${line}\n  - ${source.slice(from, to).trim()}\n  + ${changed.trim()}`;
};

async function study(): Promise<void> {
  const copy = copyOfClone();
  try {
    const tests = inProcessTests();
    const all = tests.map((t) => t.file);
    const plain = await passes(copy, all, 3600);
    if (!plain.ok) throw new Error('the tests fail without any fault');
    process.stderr.write(`${all.length} test files pass in ${plain.seconds.toFixed(0)} s\n`);
    let found = 0;
    for (const [k, m] of chosen.entries()) {
      const at = join(copy, m.file);
      const source = readFileSync(at, 'utf8');
      writeFileSync(at, source.slice(0, m.start) + m.text + source.slice(m.end));
      const near = nearest(m.file, tests);
      const first = near.length === 0 ? { ok: true } : await passes(copy, near, 3 * plain.seconds);
      const rest = all.filter((f) => !near.includes(f));
      const alive = first.ok && (await passes(copy, rest, 3 * plain.seconds)).ok;
      writeFileSync(at, source);
      if (!alive) found++;
      else process.stdout.write(`survives: ${where(m)}\n`);
      process.stderr.write(`${k + 1} of ${chosen.length}, ${found} found\n`);
    }
    process.stdout.write(`${found} of ${chosen.length} found\n`);
    process.exitCode = found >= WANTED * chosen.length ? 0 : 1;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

if (options.list === true) process.stdout.write(chosen.map((m) => `${where(m)}\n`).join(''));
else
  try {
    await study();
  } catch (e) {
    process.stderr.write(`error: ${(e as Error).message}\n`);
    process.exitCode = 1;
  }
