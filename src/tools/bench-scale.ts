// `npm run bench -- --scale`: how costs grow with size. Each command runs in its own process, at a size and at half of it.
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCRIPT } from '../cli/server/server-ask.ts';
import { table } from '../cli/terminal/table.ts';
import { ROOT } from '../spec/node-cache.ts';
import { startServer, stateOf } from './bench-corpus.ts';
import {
  branchyKernel,
  callChain,
  liveKernel,
  loopyKernel,
  manyKernels,
  nestKernel,
  straightKernel,
  switchKernel,
} from './kernel-shapes.ts';

/** The cost of one command: seconds of processor time, and peak memory in MB. */
interface Cost {
  readonly seconds: number;
  readonly megabytes: number;
}

/** A measurement: `make` writes the input of a given size into an empty folder and returns the arguments of the command. */
interface Shape {
  readonly name: string;
  readonly size: number;
  readonly make: (folder: string, size: number) => readonly string[];
}

/** A measurement of `opt` on one file. */
const module = (name: string, size: number, text: (n: number) => string, ...more: string[]): Shape => ({
  name,
  size,
  make: (folder, n) => {
    writeFileSync(join(folder, 'k.ptx'), text(n));
    return ['opt', 'k.ptx', '-o', 'out.ptx', ...more];
  },
});

/** Writes `n` files with a small kernel, each under another name. */
function filesInto(folder: string, n: number): void {
  const text = readFileSync(join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_80.ptx'), 'utf8');
  mkdirSync(join(folder, 'in'));
  for (let k = 0; k < n; k++)
    writeFileSync(join(folder, 'in', `k${k}.ptx`), text.replaceAll('saxpy', `k${k}`));
}

const SHAPES: readonly Shape[] = [
  module('straight', 300_000, straightKernel),
  module('branchy', 300_000, branchyKernel),
  module('loops', 300_000, loopyKernel),
  module('nest, loops deep', 500, nestKernel),
  module('switch, jump table, cases', 20_000, (n) => switchKernel(n, true)),
  module('switch, tests, cases', 20_000, (n) => switchKernel(n, false)),
  module('live registers', 30_000, liveKernel),
  module('kernels in a file', 5000, manyKernels),
  module('chain of calls', 2000, callChain),
  module('straight, --check auto', 100_000, straightKernel, '--check', 'auto'),
  module('branchy, --check auto', 100_000, branchyKernel, '--check', 'auto'),
  module('kernels in a file, --check auto', 2000, manyKernels, '--check', 'auto'),
  module('chain of calls, --check auto', 2000, callChain, '--check', 'auto'),
  {
    name: "trace (the explorer's run), branchy",
    size: 100_000,
    make: (folder, n) => {
      writeFileSync(join(folder, 'k.ptx'), branchyKernel(n));
      return ['trace', 'k.ptx', '-o', 'k.html'];
    },
  },
  {
    name: 'files in a folder',
    size: 10_000,
    make: (folder, n) => {
      filesInto(folder, n);
      return ['opt', 'in', '-o', 'out'];
    },
  },
  {
    name: 'ab, kernels',
    size: 500,
    make: (folder, n) => {
      filesInto(folder, n);
      return ['ab', 'base', 'ContractProducts=true', '--kernels', 'in'];
    },
  },
  {
    name: 'sweep, arms',
    size: 5000,
    make: (folder, n) => {
      filesInto(folder, 1);
      const values = Array.from({ length: n - 1 }, (_, k) => k);
      const knob = `  knobs: { GeneralOptimizationBudget: [default, ${values.join(', ')}] }`;
      writeFileSync(
        join(folder, 'x.yaml'),
        `kind: experiment\ntitle: many arms\nfactors:\n${knob}\nkernels: [in]\nmetrics: [pressure.R]\n`,
      );
      return ['sweep', 'x.yaml'];
    },
  },
];

/** Limits on the ratio to half the size and on memory, above which a row is marked. */
const MOST = { ratio: 2.3, megabytes: 2000 };

/** A module that writes the cost of its process at exit to the file that BENCH_COST names. */
const PRELOAD = `data:text/javascript,${encodeURIComponent(`import { writeFileSync } from 'node:fs';
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const cost = { seconds: (userCPUTime + systemCPUTime) / 1e6, megabytes: maxRSS / 1024 };
  writeFileSync(process.env.BENCH_COST, JSON.stringify(cost));
});`)}`;

/** @returns the cost of a command, or its last error message if it failed */
function costOf(args: readonly string[], folder: string): Cost | string {
  const cost = join(folder, 'cost.json');
  const r = spawnSync(process.execPath, ['--import', PRELOAD, SCRIPT, ...args], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, ORRERY_SERVER: 'off', BENCH_COST: cost },
  });
  if (r.status !== 0) return `exit code ${r.status ?? r.signal}: ${r.stderr.trim().split('\n').at(-1)}`;
  return JSON.parse(readFileSync(cost, 'utf8')) as Cost;
}

function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-scale-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const costAt = (shape: Shape, size: number): Cost | string =>
  inFolder((folder) => costOf(shape.make(folder, size), folder));

/**
 * Measures every shape at its size and at half of it, and then a server with many clients.
 * @param only part of the names of shapes, or of `server`; true: everything
 */
export async function benchScale(only: string | true, say: (line: string) => void): Promise<void> {
  const rows: string[][] = [['shape', 'size', 'CPU', 'MB', 'to half']];
  for (const shape of SHAPES) {
    if (only !== true && !shape.name.includes(only)) continue;
    const [half, whole] = [shape.size / 2, shape.size].map((n) => costAt(shape, n));
    if (typeof whole === 'string' || typeof half === 'string') {
      rows.push([shape.name, String(shape.size), String(typeof whole === 'string' ? whole : half), '', '']);
      continue;
    }
    const ratio = whole.seconds / half.seconds;
    const over = ratio > MOST.ratio || whole.megabytes > MOST.megabytes ? ' !' : '';
    rows.push([
      shape.name,
      shape.size.toLocaleString('en'),
      `${whole.seconds.toFixed(1)} s`,
      whole.megabytes.toFixed(0),
      `${ratio.toFixed(2)}${over}`,
    ]);
    process.stderr.write(`${rows.at(-1)!.join('  ')}\n`);
  }
  if (rows.length > 1) say(table(rows, 'lrrrr'));
  say(`'!': more than ${MOST.ratio} times the half, or more than ${MOST.megabytes} MB`);
  if (only === true || 'server'.includes(only)) await benchServer(say);
}

const CLIENTS = 50;
const REQUESTS = 2000;

/**
 * Measures many concurrent clients of one server, which run the command themselves if it is busy. Counts answers that differ from a
 * process's.
 */
async function benchServer(say: (line: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-scale-'));
  const env = { ...process.env, XDG_RUNTIME_DIR: folder };
  const kernels = join(ROOT, 'test', 'kernels');
  const files = readdirSync(kernels)
    .map((k) => join(kernels, k, `${k}.sm_80.ptx`))
    .filter((f) => existsSync(f))
    .slice(0, 20);
  const run = (file: string): Promise<string> =>
    new Promise((done) => {
      const child = spawn(process.execPath, [SCRIPT, 'opt', file, '-o', '-'], { env });
      let out = '';
      child.stdout.on('data', (d: Buffer) => {
        out += d.toString();
      });
      child.on('close', (code) => done(code === 0 ? out : `exit code ${code}`));
    });
  try {
    const alone = new Map<string, string>();
    for (const f of files)
      alone.set(
        f,
        spawnSync(process.execPath, [SCRIPT, 'opt', f, '-o', '-'], {
          encoding: 'utf8',
          env: { ...env, ORRERY_SERVER: 'off' },
        }).stdout,
      );
    if (!(await startServer(env))) return say('server                cannot be started');
    const began = performance.now();
    let [next, wrong] = [0, 0];
    const client = async (): Promise<void> => {
      while (next < REQUESTS) {
        const file = files[next++ % files.length];
        if ((await run(file)) !== alone.get(file)) wrong++;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const seconds = (performance.now() - began) / 1000;
    const served = stateOf(env)?.commands ?? 0;
    say(`server                ${REQUESTS} requests of ${CLIENTS} clients at once: ${seconds.toFixed(1)} s`);
    say(`                      ${served} answered by the server, ${wrong} other answers than alone`);
  } finally {
    spawnSync(process.execPath, [SCRIPT, 'server', 'stop'], { env });
    rmSync(folder, { recursive: true, force: true });
  }
}
