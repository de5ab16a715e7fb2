import { spawn } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { largestOf } from '../../ir/append.ts';
import { shellWord, visible } from '../../ir/quote.ts';
import { parseJson, TooMuchJson } from '../../spec/json.ts';
import { ROOT } from '../../spec/node-cache.ts';
import { reason } from '../../spec/node-files.ts';
import { ALLOWED, isWithin } from '../../spec/node-paths.ts';
import { makeFolders, replaceWhole, writeNew } from '../../spec/node-write.ts';
import { beyondFolder, climbs } from '../input/beyond-folder.ts';
import { readText } from '../input/files.ts';
import { CliExit, failWith, out, pc } from '../terminal/ui.ts';
import { ORRERY_VERSION } from '../version.ts';
import type { Reproducer } from './reproducer.ts';

/** Exit code if the failure no longer occurs. */
const GONE = 2;
/** Default and maximum time for a command in seconds: timers count milliseconds in 31 bits. */
const [USUAL_SECONDS, MOST_SECONDS] = [600, 2_000_000];
/** Maximum number of parent folders that a reproducer may name: more is a mistake, or an attack. */
const MOST_ABOVE = 64;

export interface ReproOptions {
  readonly keep?: string;
  readonly allowCommands?: boolean;
  /** Seconds. */
  readonly timeout?: string;
  readonly json?: boolean;
}

/** `orrery repro`: runs the command of a reproducer again, in its own folder. */
export async function repro(file: string, o: ReproOptions): Promise<void> {
  const r = reproducerOf(file, readText(file));
  const seconds = Number(o.timeout ?? USUAL_SECONDS);
  if (!(seconds > 0 && seconds <= MOST_SECONDS))
    failWith(
      `--timeout ${o.timeout} is not a valid time`,
      `it is a number of seconds, up to ${MOST_SECONDS}`,
    );
  const beyond = beyondFolder(r.command, r.stdin ?? '');
  const typed = `orrery ${r.command.map(shellWord).join(' ')}`;
  if (o.keep !== undefined) {
    if (!isFree(o.keep)) failWith(`${o.keep} is not empty`, 'name a folder that does not exist yet');
    const cwd = unpack(r, resolve(o.keep));
    out(`its files are in ${cwd}\n\n  cd ${shellWord(cwd)}\n  ${typed}`);
    if (beyond.length > 0) out(`\nread it before you run it: ${beyond.join('; ')}`);
    return;
  }
  if (beyond.length > 0 && o.allowCommands !== true)
    failWith(
      `${file} would do more than its own folder holds`,
      `it runs: ${typed}`,
      ...beyond,
      'where you have read it and mean it, --allow-commands runs it',
    );
  const dir = mkdtempSync(join(tmpdir(), 'orrery-repro-'));
  // No file of the reproducer can be placed there.
  const again = mkdtempSync(join(tmpdir(), 'orrery-repro-'));
  try {
    const status = await runIn(unpack(r, join(dir, 'files')), r, again, o.allowCommands === true, seconds);
    if (status === 'late')
      failWith(
        `the command of ${file} was ended after ${seconds} seconds`,
        `it ran: ${typed}`,
        '--timeout allows it more',
      );
    const [written] = readdirSync(again).filter((f) => f.endsWith('.json'));
    const now =
      written === undefined ? null : reproducerOf(written, readFileSync(join(again, written), 'utf8'));
    report(file, r, now, status, o.json === true);
  } finally {
    for (const folder of [dir, again]) rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a path is free for a folder: it does not exist, or is an empty folder. */
function isFree(path: string): boolean {
  const seen = lstatSync(path, { throwIfNoEntry: false });
  return seen === undefined || (seen.isDirectory() && readdirSync(path).length === 0);
}

/**
 * Runs the command of a reproducer; its output is discarded.
 *
 * @param again folder for the reproducer of its failure
 * @param anything whether it may start other programs, and read and write the user's cache
 * @param seconds time limit
 * @returns its exit code; null if a signal ended it
 */
function runIn(
  cwd: string,
  r: Reproducer,
  again: string,
  anything: boolean,
  seconds: number,
): Promise<number | null | 'late'> {
  // A path without a cache or a program. It is outside the folder of the reproducer, whose files would otherwise be taken for the
  // cache of this user.
  const nothing = join(again, '.nothing');
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1], ...r.command], {
    cwd,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {
      ...process.env,
      ORRERY_REPRO: again,
      ORRERY_SERVER: 'off',
      NO_COLOR: '1',
      ...(!anything && { ORRERY_PTXAS: nothing, XDG_CACHE_HOME: nothing, [ALLOWED]: '' }),
    },
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, seconds * 1000);
  const stop = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  // It may exit before it has read all of its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(r.stdin ?? '');
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (status) => {
      clearTimeout(timer);
      for (const signal of signals) process.off(signal, stop);
      done(late ? 'late' : status);
    });
  });
}

/** Parses a reproducer; anything else ends the command. */
function reproducerOf(file: string, text: string): Reproducer {
  let data: unknown;
  try {
    data = parseJson(text);
  } catch (e) {
    failWith(`${file} is not a reproducer: ${e instanceof TooMuchJson ? e.message : 'it is not JSON'}`);
  }
  const r = data as Partial<Reproducer> | null;
  if (r === null || typeof r !== 'object' || r.kind !== 'reproducer')
    failWith(
      `${file} is not a reproducer`,
      'orrery writes one, orrery-repro-*.json, when it fails by a mistake of its own',
    );
  if (r.version !== 1)
    failWith(`${file} is a reproducer of form ${JSON.stringify(r.version)}`, 'this orrery reads form 1');
  const form = JSON.parse(
    readFileSync(join(ROOT, 'schemas', 'output', 'reproducer.schema.json'), 'utf8'),
  ) as object;
  const ajv = new Ajv({ allowUnionTypes: true });
  if (!ajv.validate(form, r))
    failWith(
      `${file} is a reproducer with parts missing, or of another form`,
      ajv.errorsText(ajv.errors, { dataVar: 'reproducer' }),
      'schemas/output/reproducer.schema.json says what it has',
    );
  const known = r as Reproducer;
  if (known.command[0] === 'repro') failWith(`${file} would run itself`);
  if (known.command.some((word) => word.includes('\0')))
    failWith(`${file} is not a reproducer: a word of its command holds a NUL, which no command line can`);
  return known;
}

/** Whether a path of a reproducer is not allowed: it is invisible, or would make the folder a repository. */
const isOdd = (path: string): boolean =>
  visible(path) !== path || path.split(/[\\/]/).some((part) => /^\.git$/i.test(part));

/**
 * Writes the files of a reproducer into a folder that does not exist or is empty, all or none; a path that leads above the folder of the
 * command stays inside it.
 *
 * @returns the folder to run in
 */
function unpack(r: Reproducer, dir: string): string {
  const depth = largestOf([...r.files.map((f) => f.path), ...r.command].map(climbs), 0);
  if (depth > MOST_ABOVE) failWith(`the reproducer names a file ${depth} folders above its own`);
  const here = [...Array.from({ length: depth }, (_, i) => `above-${i}`), 'here'];
  const full = resolve(dir);
  for (const { path } of r.files) {
    const to = resolve(full, ...here, path);
    if (!isWithin(full, to) || to === resolve(full, ...here))
      failWith(`the reproducer holds a file outside of its folder: ${path}`);
    if (isOdd(path)) failWith(`the reproducer holds a file that is called '${path}'`);
  }
  try {
    makeFolders(dirname(full));
    replaceWhole(full, (aside) => {
      const cwd = resolve(aside, ...here);
      makeFolders(cwd);
      for (const f of r.files) place(f, resolve(cwd, f.path));
    });
  } catch (e) {
    if (e instanceof CliExit) throw e;
    failWith(`the files of the reproducer cannot be written into ${dir}: ${reason(e)}`);
  }
  return resolve(full, ...here);
}

/** Writes a file of a reproducer; a failure ends the command. */
function place(f: Reproducer['files'][number], path: string): void {
  try {
    makeFolders(dirname(path));
    writeNew(path, Buffer.from(f.content, f.encoding));
  } catch (e) {
    failWith(`'${f.path}' of the reproducer cannot be written: ${reason(e)}`);
  }
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
    const failureText = visible(now?.failure.text ?? '');
    out(
      happens
        ? `${pc.red('it still happens')}: ${failureText}`
        : now === null
          ? `${pc.green('it does not happen any more')}: the command ends with exit code ${status}`
          : `${pc.yellow('something else happens')}: ${failureText}`,
    );
    if (!happens) out(`  it was: ${visible(was.failure.text)}`);
    if (plans === false) out('  the plan is another one: specs or options mean something else than they did');
    if (was.orrery !== ORRERY_VERSION)
      out(`  it was written by orrery ${visible(was.orrery)}; this is ${ORRERY_VERSION}`);
    out(`\n${shellWord(file)} runs: orrery ${was.command.map(shellWord).join(' ')}`);
    if (happens && now.failure.stack.length > 0)
      out(pc.dim(now.failure.stack.slice(0, 6).map(visible).join('\n    ')));
  }
  if (!happens) throw new CliExit(GONE);
}
