import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { shellWord } from '../ir/quote.ts';
import { readText } from './files.ts';
import type { Reproducer } from './reproducer.ts';
import { CliExit, failWith, out, pc } from './ui.ts';
import { ORRERY_VERSION } from './version.ts';

/** Exit code where the failure does not happen any more. */
const GONE = 2;

export interface ReproOptions {
  readonly keep?: string;
  readonly json?: boolean;
}

/** `orrery repro`: runs the command of a reproducer again, in a folder of its own. */
export async function repro(file: string, o: ReproOptions): Promise<void> {
  const r = reproducerOf(file, readText(file));
  const dir = o.keep ?? mkdtempSync(join(tmpdir(), 'orrery-repro-'));
  try {
    const cwd = unpack(r, dir);
    if (o.keep !== undefined) {
      out(
        `its files are in ${cwd}\n\n  cd ${shellWord(cwd)}\n  orrery ${r.command.map(shellWord).join(' ')}`,
      );
      return;
    }
    const again = join(dir, 'again');
    mkdirSync(again);
    const child = spawnSync(process.execPath, [...process.execArgv, process.argv[1], ...r.command], {
      cwd,
      encoding: 'utf8',
      input: r.stdin ?? '',
      env: { ...process.env, ORRERY_REPRO: again, NO_COLOR: '1' },
      maxBuffer: 1 << 28,
    });
    const [written] = readdirSync(again).filter((f) => f.endsWith('.json'));
    const now =
      written === undefined ? null : (JSON.parse(readFileSync(join(again, written), 'utf8')) as Reproducer);
    report(file, r, now, child.status, o.json === true);
  } finally {
    if (o.keep === undefined) rmSync(dir, { recursive: true, force: true });
  }
}

/** Reads a reproducer; what is none ends the command. */
function reproducerOf(file: string, text: string): Reproducer {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (e) {
    failWith(`${file} is no reproducer: it is not JSON`, (e as Error).message);
  }
  const r = data as Partial<Reproducer> | null;
  if (r === null || typeof r !== 'object' || r.kind !== 'reproducer')
    failWith(
      `${file} is no reproducer`,
      'orrery writes one, orrery-repro-*.json, when it fails by a mistake of its own',
    );
  if (r.version !== 1) failWith(`${file} is a reproducer of form ${r.version}`, 'this orrery reads form 1');
  const isWord = (x: unknown): boolean => typeof x === 'string';
  if (
    !Array.isArray(r.command) ||
    !r.command.every(isWord) ||
    !Array.isArray(r.files) ||
    !r.files.every((f) => isWord(f?.path) && isWord(f?.content)) ||
    !isWord(r.failure?.kind)
  )
    failWith(
      `${file} is a reproducer with parts missing`,
      'schemas/output/reproducer.schema.json says what it has',
    );
  if (r.command[0] === 'repro') failWith(`${file} would run itself`);
  return r as Reproducer;
}

/**
 * Writes the files of a reproducer below a folder; a path that leads above the folder of the command stays inside of it.
 * @returns the folder to run in
 */
function unpack(r: Reproducer, dir: string): string {
  const up = (path: string): number => path.split('/').filter((x) => x === '..').length;
  const depth = Math.max(0, ...r.files.map((f) => up(f.path)), ...r.command.map(up));
  const cwd = resolve(dir, ...Array.from({ length: depth }, (_, i) => `above-${i}`), 'here');
  mkdirSync(cwd, { recursive: true });
  for (const f of r.files) {
    const path = resolve(cwd, f.path);
    if (!path.startsWith(`${resolve(dir)}/`))
      failWith(`the reproducer holds a file outside of its folder: ${f.path}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.from(f.content, f.encoding));
  }
  return cwd;
}

function report(
  file: string,
  was: Reproducer,
  now: Reproducer | null,
  status: number | null,
  json: boolean,
): void {
  const happens =
    now !== null && now.failure.kind === was.failure.kind && now.failure.phase === was.failure.phase;
  const plans = was.plan !== null && now?.plan != null ? was.plan.hash === now.plan.hash : null;
  if (json)
    out(
      JSON.stringify(
        {
          version: 1,
          happens,
          failure: was.failure.text,
          now: now?.failure.text ?? null,
          samePlan: plans,
          exit: status,
        },
        null,
        2,
      ),
    );
  else {
    out(
      happens
        ? `${pc.red('it still happens')}: ${now.failure.text}`
        : now === null
          ? `${pc.green('it does not happen any more')}: the command ends with exit code ${status}`
          : `${pc.yellow('something else happens')}: ${now.failure.text}`,
    );
    if (!happens) out(`  it was: ${was.failure.text}`);
    if (plans === false) out('  the plan is another one: specs or options mean something else than they did');
    if (was.orrery !== ORRERY_VERSION)
      out(`  it was written by orrery ${was.orrery}; this is ${ORRERY_VERSION}`);
    out(`\n${shellWord(file)} runs: orrery ${was.command.map(shellWord).join(' ')}`);
    if (happens && now.failure.stack.length > 0) out(pc.dim(now.failure.stack.slice(0, 6).join('\n    ')));
  }
  if (!happens) throw new CliExit(GONE);
}
