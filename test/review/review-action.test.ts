import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packagedSolver } from '../../src/cli/rules/solver.ts';
import { command } from '../support/commands.ts';

// The steps of the action are run as a runner runs them, in a scratch repository, with a server that answers like GitHub.

const root = fileURLToPath(new URL('../..', import.meta.url));
const actionPath = join(root, '.github', 'actions', 'orrery-review');
const dir = mkdtempSync(join(tmpdir(), 'orrery-action-'));
const repo = join(dir, 'repo');
const TOKEN = 'a-token';
const KERNEL = join(root, 'test/kernels/saxpy/saxpy.sm_90.ptx');
/** A kernel whose products can be contracted. */
const PRODUCTS = join(root, 'test/kernels/mandelbrot/mandelbrot.sm_90.ptx');
const ORDER = 'pipelines/orders/binary.yaml';
const CATALOG = 'knobs/catalog.yaml';
const BUDGET = `kind: budget
limits:
  - { metric: pressure.R, percent: 2 }
  - { metric: weighted, percent: 2 }
`;

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args], {
    cwd: repo,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

/** A commit on a new branch in which one file reads otherwise. */
function branch(from: string, file: string, change: (text: string) => string): string {
  git('checkout', '-q', '--detach', from);
  const was = readFileSync(join(repo, file), 'utf8');
  const is = change(was);
  expect(is).not.toBe(was);
  writeFileSync(join(repo, file), is);
  git('commit', '-qam', `change ${file}`);
  return git('rev-parse', 'HEAD');
}
const moved = (what: RegExp, before: RegExp) => (text: string) => {
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
/** Number of the line of a file, as a commit has it. */
const lineOf = (commit: string, file: string, what: RegExp) =>
  git('show', `${commit}:${file}`)
    .split('\n')
    .findIndex((l) => what.test(l)) + 1;
const contract = (from: string, to: string) => (text: string) =>
  text.replace(new RegExp(`(ContractProducts: +\\{ index: null, type: NONE, default: )${from}`), `$1${to}`);

interface Comment {
  readonly id: number;
  body: string;
  /** Somebody else's: it cannot be changed. */
  readonly foreign?: boolean;
  readonly user?: { readonly login: string; readonly type: string };
}
/** Whom a token of a workflow writes as. */
const BOT = { login: 'github-actions[bot]', type: 'Bot' };
let comments: Comment[] = [];
let calls: string[] = [];
let readOnly = false;

async function answer(q: IncomingMessage, r: ServerResponse): Promise<void> {
  let sent = '';
  for await (const part of q) sent += part;
  const url = new URL(q.url ?? '', 'http://x');
  const say = (status: number, data: unknown) => {
    r.writeHead(status, { 'content-type': 'application/json' });
    r.end(JSON.stringify(data));
  };
  calls.push(`${q.method} ${url.pathname}`);
  if (q.headers.authorization !== `Bearer ${TOKEN}`) return say(401, { message: 'Bad credentials' });
  if (q.method === 'GET' && url.pathname === '/repos/o/r/issues/7/comments') {
    const size = Number(url.searchParams.get('per_page') ?? 30);
    const page = Number(url.searchParams.get('page') ?? 1);
    return say(200, comments.slice((page - 1) * size, page * size));
  }
  // As for tokens of workflows.
  if (url.pathname === '/user') return say(403, { message: 'Resource not accessible by integration' });
  if (readOnly) return say(403, { message: 'Resource not accessible by integration' });
  const { body } = JSON.parse(sent) as { body: string };
  if (body.length > 65_536) return say(422, { message: 'body is too long (maximum is 65536 characters)' });
  if (q.method === 'POST' && url.pathname === '/repos/o/r/issues/7/comments') {
    comments.push({ id: 1000 + comments.length, body, user: BOT });
    return say(201, comments.at(-1));
  }
  const known = comments.find((c) => url.pathname === `/repos/o/r/issues/comments/${c.id}`);
  if (q.method !== 'PATCH' || known === undefined) return say(404, { message: 'Not Found' });
  if (known.foreign === true) return say(403, { message: 'Forbidden' });
  known.body = body;
  return say(200, known);
}
const server = createServer((q, r) => void answer(q, r));

interface Step {
  readonly id?: string;
  readonly shell: string;
  readonly env: Readonly<Record<string, string>>;
  readonly run: string;
}
interface Action {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}
const action = parse(readFileSync(join(actionPath, 'action.yml'), 'utf8')) as Action;

/** Runs the steps one after the other, until one fails. */
async function run(base: string, head: string, inputs: Readonly<Record<string, string>> = {}) {
  const known: Record<string, string> = {
    'github.action_path': actionPath,
    'github.token': TOKEN,
    'github.event.pull_request.base.sha': base,
    'github.event.pull_request.head.sha': head,
    'github.event.pull_request.number': '7',
  };
  const value = (text: string) =>
    text.replace(/\$\{\{ *(.*?) *\}\}/g, (_m, name: string) => {
      expect([name, typeof known[name]]).toEqual([name, 'string']);
      return known[name];
    });
  const given: Readonly<Record<string, string>> = {
    kernels: KERNEL,
    options: '--sm\nsm_90\n-O\n3',
    ...inputs,
  };
  for (const [name, i] of Object.entries(action.inputs))
    known[`inputs.${name}`] = given[name] ?? value(i.default);
  const work = mkdtempSync(join(dir, 'run-'));
  const files = { GITHUB_OUTPUT: join(work, 'output'), GITHUB_STEP_SUMMARY: join(work, 'summary') };
  for (const f of Object.values(files)) writeFileSync(f, '');
  let out = '';
  let code = 0;
  for (const step of action.runs.steps) {
    expect([step.shell, step.run.includes('${{')]).toEqual(['bash', false]);
    const env = Object.fromEntries(Object.entries(step.env).map(([k, v]) => [k, value(v)]));
    const r = await command('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run], {
      cwd: repo,
      env: {
        ...process.env,
        ...files,
        ...env,
        RUNNER_TEMP: work,
        XDG_CACHE_HOME: join(dir, 'cache'),
        GITHUB_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        GITHUB_REPOSITORY: 'o/r',
      },
    });
    out += r.said;
    code = r.code ?? 1;
    if (step.id !== undefined)
      for (const [, k, v] of readFileSync(files.GITHUB_OUTPUT, 'utf8').matchAll(/^(\w+)=(.*)$/gm))
        known[`steps.${step.id}.outputs.${k}`] = v;
    if (code !== 0) break;
  }
  return {
    code,
    out,
    result: known['steps.review.outputs.result'],
    annotations: out.split('\n').filter((l) => /^::(error|warning|notice) /.test(l)),
    summary: readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8'),
    own: comments.filter((c) => c.body.startsWith('<!-- orrery-review -->') && c.user === BOT),
  };
}

let plain: string;
let main: string;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  mkdirSync(repo);
  git('init', '-q');
  for (const f of ['pipelines', 'knobs']) cpSync(join(root, f), join(repo, f), { recursive: true });
  writeFileSync(join(repo, 'orrery.budget.yaml'), BUDGET);
  git('add', '-A');
  git('commit', '-qm', 'specs');
  plain = git('rev-parse', 'HEAD');
  main = branch(plain, CATALOG, contract('null', 'true'));
});
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true });
});
beforeEach(() => {
  comments = [];
  calls = [];
  readOnly = false;
});

describe('the action that reviews a pull request', { timeout: 120_000 }, () => {
  it('writes one comment and keeps it: no effect, then an effect', async () => {
    // More comments than fit a page, and one that only looks like ours.
    comments = Array.from({ length: 130 }, (_, i) => ({ id: i + 1, body: `words ${i}`, foreign: true }));
    // One that looks like ours, which its author could change again later, though the token may change it now.
    const planted = {
      id: 4,
      body: '<!-- orrery-review -->\nnot written by the action',
      user: { login: 'somebody', type: 'User' },
    };
    comments[3] = planted;
    const words = branch(main, ORDER, (t) => t.replace(/^title: .*/m, 'title: other words'));
    const same = await run(main, words);
    expect([same.code, same.result, same.annotations]).toEqual([0, 'same', []]);
    expect(same.own).toHaveLength(1);
    expect(same.own[0].body).toContain('**no effect: every plan is the same**');
    expect(calls.filter((c) => c.startsWith('POST'))).toHaveLength(1);

    const head = branch(main, ORDER, moved(/- GeneralOptimizeMid /, /- GeneralOptimizeLate /));
    const r = await run(main, head);
    expect([r.code, r.result]).toEqual([0, 'differs']);
    const line = lineOf(head, ORDER, /- GeneralOptimizeMid /);
    expect(r.annotations).toEqual([
      // A constraint that only warns.
      expect.stringMatching(
        new RegExp(
          `^::warning file=${ORDER},line=${line},title=warning::.*OptimizeNestedCondBranches comes before GeneralOptimizeMid`,
        ),
      ),
      expect.stringMatching(
        new RegExp(
          `^::notice file=${ORDER},line=${line},title=order::GeneralOptimizeMid: after \\w+ -> after`,
        ),
      ),
    ]);
    expect(r.own).toHaveLength(1);
    expect(r.own[0].id).toBe(same.own[0].id);
    expect(r.own[0].body).toMatch(
      /^<!-- orrery-review -->\n\*\*1 change; .*2 kernels.*; results equal\*\*\n/,
    );
    expect(r.own[0].body).toBe(`<!-- orrery-review -->\n${r.summary}`);
    expect(calls.filter((c) => c.startsWith('POST'))).toHaveLength(1);
    expect(comments.filter((c) => c.foreign === true)).toHaveLength(129);
    expect(comments[3].body).toContain('not written by the action');
  });

  it('fails on a wrong order, at its line, and says so in the comment', async () => {
    const head = branch(main, ORDER, moved(/- OriBranchOpt /, /- SetControlFlowOpLastInBB /));
    const r = await run(main, head);
    expect([r.code, r.result]).toEqual([1, 'failed']);
    expect(r.own[0].body).toMatch(/OriBranchOpt comes before SetControlFlowOpLastInBB/);
    const errors = r.annotations.filter((a) => a.startsWith('::error '));
    const line = lineOf(head, ORDER, /- OriBranchOpt /);
    expect(errors.some((a) => a.startsWith(`::error file=${ORDER},line=${line},`))).toBe(true);
    expect(errors[0]).toMatch(/OriBranchOpt/);
  });

  it('passes with an ALARM, unless the input `fail-on` says otherwise', async () => {
    const head = branch(main, 'pipelines/constraints.yaml', (t) =>
      t.replace(
        / {2}- before: ConvertUnsupportedOps\n {4}after: SetControlFlowOpLastInBB\n[\s\S]*?\n(?= {2}- before)/,
        '',
      ),
    );
    const r = await run(main, head);
    expect([r.code, r.result]).toEqual([0, 'differs']);
    expect(r.own[0].body).toContain('1 ALARM');
    const strict = await run(main, head, { 'fail-on': 'alarm' });
    expect([strict.code, strict.result]).toEqual([1, 'failed']);
    expect(strict.own[0].body).toBe(r.own[0].body);
  });

  it('fails on a spec that cannot be read, at its line', async () => {
    const head = branch(main, CATALOG, (t) => t.replace(/(ContractProducts: +\{)/, '$1 oops: 1,'));
    const r = await run(main, head);
    expect([r.code, r.result]).toEqual([1, 'failed']);
    const line = lineOf(head, CATALOG, /{ oops: 1/);
    expect(r.annotations[0]).toMatch(new RegExp(`^::error file=${CATALOG},line=${line},.*oops`));
    expect(r.own[0].body).toContain('the review could not be made');
  });

  const wrongRule = (t: string) =>
    t.replace("rewrite: 'SGXT.S32 $d, $a, #(32 - k)'", "rewrite: 'SGXT.S32 $d, $a, #(31 - k)'");
  const rules = 'pipelines/rules/shifts.yaml';
  it.skipIf(!packagedSolver())('fails on a refuted rule, with the numbers that refute it', async () => {
    const head = branch(main, rules, wrongRule);
    const r = await run(main, head);
    expect([r.code, r.result]).toEqual([1, 'failed']);
    const line = lineOf(head, rules, /id: shift-sign-extend/);
    const at = `::error file=${rules},line=${line},title=rule::shifts: shift-sign-extend: `;
    expect(r.annotations[0].slice(0, at.length)).toBe(at);
    expect(r.annotations[0]).toMatch(/%0Arefuted%0A.*before.*after/);
    expect(r.own[0].body).toContain('ALARM');
  });

  it('fails on an unproved rule', async () => {
    // True, so that trying values says nothing against it.
    const otherwise = (t: string) => t.replace("#(32 - k)', source", "#(33 - k - 1)', source");
    const r = await run(main, branch(main, rules, otherwise), {
      options: '--sm\nsm_90\n-O\n3\n--no-prove',
    });
    expect([r.code, r.result]).toEqual([1, 'failed']);
    expect(r.annotations[0]).toMatch(/^::error .*not proved/);
  });

  it('fails on a broken limit, with kernel and figures, at the line of the change that breaks it', async () => {
    const head = branch(main, CATALOG, contract('true', 'null'));
    const r = await run(main, head, { kernels: PRODUCTS });
    expect([r.code, r.result]).toEqual([1, 'failed']);
    const errors = r.annotations.filter((a) => a.startsWith('::error '));
    const by = 'mandelbrot\\w* \\(sm_90 -O3\\) [\\d.]+ -> [\\d.]+ \\(\\+[\\d.]+ %25\\)';
    const at = `file=${CATALOG},line=${lineOf(head, CATALOG, /ContractProducts: /)}`;
    const limit = 'limit weighted never beyond \\+2 %25, stated at orrery.budget.yaml:4';
    expect(errors).toEqual([
      expect.stringMatching(new RegExp(`^::error ${at},title=broken limit::${limit}: ${by}; ${by}$`)),
    ]);
    expect(r.own[0].body).toMatch(/1 LIMIT broken/);
  });

  it('fails on a kernel that gives other results', async () => {
    const stencil = join(root, 'test/kernels/stencil/stencil.sm_80.ptx');
    const r = await run(plain, main, { kernels: stencil, options: '--sm\nsm_80\n-O\n3' });
    expect([r.code, r.result]).toEqual([1, 'failed']);
    const line = lineOf(main, CATALOG, /ContractProducts:/);
    expect(r.annotations[0]).toMatch(
      new RegExp(
        `^::error file=${CATALOG},line=${line},title=broken kernel::jacobi3d, sm_80 -O3 .*launch-3d.yaml`,
      ),
    );
  });

  it('blames a branch only for what it does itself', async () => {
    const words = branch(plain, ORDER, (t) => t.replace(/^title: .*/m, 'title: other words'));
    const r = await run(main, words);
    expect([r.code, r.result]).toEqual([0, 'same']);
  });

  it('succeeds where the token may not write, as in forks, and writes nothing without a pull request', async () => {
    readOnly = true;
    const words = branch(main, ORDER, (t) => t.replace(/^title: .*/m, 'title: other words'));
    const r = await run(main, words);
    expect([r.code, r.own]).toEqual([0, []]);
    expect(r.annotations).toEqual([expect.stringContaining('::warning title=no comment::')]);
    expect(r.summary).toContain('no effect');
    calls = [];
    expect((await run(main, words, { 'pull-request': '' })).code).toBe(0);
    expect(calls).toEqual([]);
  });

  it('shows messages of a review while it runs, where the runner takes them for no commands', async () => {
    const [go, script] = [join(dir, 'go'), join(actionPath, 'review.sh')];
    const waiting = `echo ::error::first >&2; until [ -e '${go}' ]; do sleep 0.05; done; echo out; exit 3`;
    const text = `source <(sed -n '/^telling()/,/^}/p' '${script}'); work='${dir}'; telling '${dir}/out' sh -c "$WAITING"`;
    const child = spawn('bash', ['-o', 'pipefail', '-c', text], {
      env: { ...process.env, WAITING: waiting },
    });
    let said = '';
    const ended = new Promise<number | null>((done) => child.on('close', done));
    child.stdout.on('data', (part: Buffer) => {
      said += part.toString();
      if (said.includes('first')) writeFileSync(go, '');
    });
    expect(await ended).toBe(3);
    expect(said).toMatch(/^::stop-commands::(\w{32})\n::error::first\n::\1::\n$/);
    expect(readFileSync(join(dir, 'out'), 'utf8')).toBe('out\n');
    expect(readFileSync(join(dir, 'errors'), 'utf8')).toBe('::error::first\n');
  });

  it('says what to do where the history is not there', async () => {
    const r = await run('0123456789012345678901234567890123456789', main);
    expect([r.code, r.result]).toEqual([1, 'failed']);
    expect(r.out).toContain('fetch-depth: 0');
  });
});
