import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { planOf, readPtx, simulate, writePtx } from '../../src/core.ts';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import { loadShipped } from '../../src/index.ts';
import { type Diagnostic, DiagnosticError } from '../../src/ir/diagnostic.ts';
import { mostShared } from '../../src/read.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { fitLaunch, loadLaunch } from '../../src/spec/node-launch.ts';
import { limitedCommand } from '../support/limited-command.ts';
import { mutant, randomOf } from '../support/ptx-mutants.ts';
import { seeds } from '../support/size.ts';

/*
 * Whatever the input, the output is a result or readable errors: no unexpected exception, no hang, no exhausted memory. Inputs are shipped
 * files with seeded changes, so that a case is the same in every run. ORRERY_TEST_SIZE=75 tries 20,250 cases; with ORRERY_TEST_PART=1/40,
 * the first fortieth of each kind.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const specs = await loadShipped();
const dir = mkdtempSync(join(tmpdir(), 'orrery-fuzz-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Time limit of one case in milliseconds. */
const MOST_TIME = 5_000;
/** Maximum growth of the process in bytes, at any time. */
const MOST_MEMORY = 2 ** 30;

const walk = (folder: string, ending: RegExp): string[] =>
  readdirSync(resolve(root, folder), { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile() && ending.test(f.name))
    .map((f) => join(f.parentPath, f.name))
    .sort();

/** Bits of text that are put in anywhere: brackets, numbers that are too large, names, bytes that no text has. */
const BITS =
  '{|}|[|]|(|)|;|,|:|"|\'|-|#|&a|*a|!!x|%|@|$|\0|\ufeff|\u2028|0x|1e999|-1|0|99999999999999999999|1e12|null|true|[[]]|{}|.reg .b32 %q<10000000>;|.v4|NaN|\n|\t|\\|/*|*/|//|kind: rules|<<: *a'.split(
    '|',
  );

/** A text with one to four changes: pieces dropped, said twice, exchanged, replaced. */
function changed(text: string, seed: number): string {
  const r = randomOf(seed);
  let out = text;
  for (let n = 1 + r(4); n > 0; n--) {
    const at = r(out.length + 1);
    const to = Math.min(out.length, at + 1 + r(r(4) === 0 ? 400 : 12));
    const piece = out.slice(at, to);
    switch (r(6)) {
      case 0:
        out = out.slice(0, at) + out.slice(to);
        break;
      case 1:
        out = out.slice(0, to) + piece.repeat(1 + r(3)) + out.slice(to);
        break;
      case 2:
        out = out.slice(0, at) + BITS[r(BITS.length)] + out.slice(at);
        break;
      case 3:
        out = out.slice(0, at) + BITS[r(BITS.length)] + out.slice(to);
        break;
      case 4: {
        const other = r(out.length + 1);
        out = out.slice(0, at) + out.slice(other, other + (to - at)) + out.slice(to);
        break;
      }
      default: {
        // Another number in place of one.
        const m = /\d+/.exec(out.slice(at));
        if (m !== null) {
          const from = at + m.index;
          const number = ['0', '-1', '4294967296', '99999999999999999999', '7'][r(5)];
          out = out.slice(0, from) + number + out.slice(from + m[0].length);
        }
      }
    }
  }
  return out;
}

/** Errors are for people: they say something, without the inside of the program. */
function expectReadable(found: readonly Diagnostic[]): void {
  for (const d of found) {
    expect(d.message).not.toBe('');
    expect(d.message).not.toMatch(/undefined|\[object|TypeError|RangeError| at .*:\d+:\d+|internal fault/);
  }
}

/** Runs cases; each gives its errors, or throws them as one DiagnosticError. */
async function cases(
  list: readonly number[],
  what: (seed: number) => Promise<readonly Diagnostic[]> | readonly Diagnostic[],
) {
  let refused = 0;
  const one = async (seed: number): Promise<boolean> => {
    try {
      const found = await what(seed);
      expectReadable(found);
      return found.some((d) => d.severity === 'error');
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw new Error(`seed ${seed}`, { cause: e });
      expectReadable(e.diagnostics);
      return true;
    }
  };
  for (const seed of list) {
    // A machine that is busy with others stops a case now and then, but not three times: the fastest try counts.
    let ms = Infinity;
    for (let tries = 0; ms >= MOST_TIME && tries < 3; tries++) {
      const began = performance.now();
      const isRefused = await one(seed);
      ms = Math.min(ms, performance.now() - began);
      if (isRefused && tries === 0) refused++;
    }
    expect([seed, ms < MOST_TIME]).toEqual([seed, true]);
  }
  expect(process.memoryUsage.rss()).toBeLessThan(before + MOST_MEMORY);
  return refused;
}
const before = process.memoryUsage.rss();

const ptx = walk('test/kernels', /\.ptx$/).concat(walk('test/foreign', /\.ptx$/));

const plans = new Map(['sm_75', 'sm_80', 'sm_90'].map((sm) => [sm, planOf(specs, { sm, level: 3 })]));

it('PTX', async () => {
  const list = seeds(100);
  const refused = await cases(list, (seed) => {
    const text = readFileSync(ptx[randomOf(seed)(ptx.length)], 'utf8');
    const mine = seed % 2 === 0 ? changed(text, seed) : (mutant(text, seed)?.text ?? text);
    const plan = plans.get(/sm_\d+/.exec(text)![0]) ?? plans.get('sm_90')!;
    const { program, module, warnings } = readPtx(mine, plan, 'fuzz.ptx');
    // What is taken goes all the way.
    const { last } = runPipeline(program, plan, { verify: true, snapshots: 'ends' });
    writePtx(last, plan, specs, { module });
    return warnings;
  });
  // Some are taken, most are not.
  expect(refused).toBeGreaterThan(list.length / 2);
  expect(refused).toBeLessThan(list.length);
}, 3_600_000);

const yaml = [...walk('pipelines', /\.yaml$/), ...walk('knobs', /\.yaml$/)].filter(
  (f) => !/isa\/(?!ptx)|pipelines\/rules\//.test(f),
);

it('specs', async () => {
  const file = join(dir, 'mine.yaml');
  const refused = await cases(seeds(40), (seed) => {
    const text = readFileSync(yaml[randomOf(seed)(yaml.length)], 'utf8');
    writeFileSync(file, changed(text, seed));
    return checkFile(file, host, specs);
  });
  expect(refused).toBeGreaterThan(0);
}, 3_600_000);

/** Copies, so that nothing is written beside the kernels that other tests read. */
const kernels = join(dir, 'kernels');
cpSync(join(root, 'test', 'kernels'), kernels, { recursive: true });
const launches = walk(kernels, /^launch.*\.yaml$/);

/** Warp instructions of a launch: most of the kernels need more, and few of their faults come late. */
const BUDGET = 2_000;

it('launches', async () => {
  const ends = new Set<string>();
  const refused = await cases(seeds(120), async (seed) => {
    const from = launches[randomOf(seed)(launches.length)];
    const file = join(from, '..', `.fuzz-${process.pid}.yaml`);
    writeFileSync(file, changed(readFileSync(from, 'utf8'), seed));
    try {
      const launch = await loadLaunch(file, true);
      const plan = plans.get(/sm_\d+/.exec(launch.modulePath)?.[0] ?? '') ?? plans.get('sm_90')!;
      const { program, warnings } = readPtx(readFileSync(launch.modulePath, 'utf8'), plan, launch.modulePath);
      await fitLaunch(launch, program, mostShared(plan));
      // What is wrong with it is seen while it runs: that is a result too.
      const { status, error } = simulate(program, plan, launch, { budget: BUDGET });
      ends.add(status);
      if (error !== null) expect(error).toMatch(/^[^\n]{5}/);
      return warnings;
    } finally {
      rmSync(file);
    }
  });
  expect(refused).toBeGreaterThan(0);
  expect(ends).toContain('ok');
}, 3_600_000);

/** Words of command lines, right and wrong. */
const WORDS =
  'opt run check plan phases cfg measure rules list prove explain ab sweep bisect reduce repro diff stat --json --emit ptx ori none -o /nowhere/x.ptx -O 3 9 -1 --sm sm_90 sm_9 --order seed nosuch --recipe --knobs --set OptBudget=3 OptBudget=x =3 --disable GvnCse --rules /dev/zero /dev/null --check auto --launch --until Nothing --print-after --check-each -j 0 99 --profile -q --stat --help kernel.ptx launch.yaml mine.yaml nosuch.ptx . - -- "" é --format json'.split(
    ' ',
  );

it('command lines', () => {
  const here = join(dir, 'cli');
  mkdirSync(here);
  writeFileSync(join(here, 'kernel.ptx'), readFileSync(join(root, 'test/kernels/saxpy/saxpy.sm_90.ptx')));
  writeFileSync(join(here, 'mine.yaml'), 'kind: recipe\nknobs: { OptBudget: 3 }\n');
  writeFileSync(join(here, 'launch.yaml'), readFileSync(join(root, 'test/kernels/saxpy/launch.yaml')));
  for (const seed of seeds(10)) {
    const r = randomOf(seed);
    const args = Array.from(
      { length: 1 + r(7) },
      (_, k) => WORDS[k === 0 && r(4) > 0 ? r(19) : r(WORDS.length)],
    );
    const said = limitedCommand(args, here, 30_000);
    expect([args.join(' '), said.signal]).toEqual([args.join(' '), null]);
    expect([args.join(' '), said.stderr]).toEqual([
      args.join(' '),
      expect.not.stringMatching(/ {4}at .*:\d+|internal fault/),
    ]);
    if (said.status !== 0 && args.includes('--json') && said.stdout !== '')
      expect([args.join(' '), typeof JSON.parse(said.stdout)]).toEqual([args.join(' '), 'object']);
  }
}, 3_600_000);
