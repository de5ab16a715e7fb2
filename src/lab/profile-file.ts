import { isMap } from '../ir/data.ts';
import { type Diagnostic, type DiagnosticError, fileError, fileFault } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import type { Fn, Program } from '../ir/program.ts';
import { printFn } from '../ir/text.ts';
import type { Counters } from '../sim/counters.ts';
import { parseJson } from '../spec/json.ts';
import type { Profile } from '../spec/profile.ts';

/** The contribution of one launch to a profile file, as `orrery run --profile-out` writes it. */
export interface ProfiledRun {
  readonly launch: string;
  readonly kernel: string;
  /**
   * How often warps ran each block, by function and block id; a block that did not run has 0. Functions that did not
   * run are omitted.
   */
  readonly blocks: Profile;
  /** Hashes of the functions, so that counts are not used for other versions of them. */
  readonly versions: Readonly<Record<string, string>>;
}

/** A profile file with its runs summed. */
export interface ProfileFile {
  readonly counts: Profile;
  readonly versions: ReadonlyMap<string, string>;
}

const versionOf = (fn: Fn): string => hashText(printFn(fn, { locs: false }));

/** An empty table without a prototype, because functions may be called `__proto__`. */
const byName = <T>(): Record<string, T> => Object.create(null) as Record<string, T>;

/** The record of one launch for a profile file. */
export function profiledRun(
  launch: string,
  kernel: string,
  program: Program,
  counters: Counters,
): ProfiledRun {
  const blocks = byName<Record<number, number>>();
  const versions = byName<string>();
  for (const fn of program.functions) {
    if (!Object.hasOwn(counters.blocks, fn.name)) continue;
    const counted = counters.blocks[fn.name];
    blocks[fn.name] = Object.fromEntries(fn.blocks.map((b) => [b.id, counted[b.id] ?? 0]));
    versions[fn.name] = versionOf(fn);
  }
  return { launch, kernel, blocks, versions };
}

const isCounts = (v: unknown): v is Readonly<Record<string, number>> =>
  isMap(v) &&
  Object.entries(v).every(
    ([id, n]) => /^\d+$/.test(id) && typeof n === 'number' && Number.isSafeInteger(n) && n >= 0,
  );

/**
 * Parses a profile file and sums the counts of its runs.
 * @throws DiagnosticError if the text is not a profile, or its runs are of different versions of a function
 */
export function parseProfile(text: string, file: string): ProfileFile {
  const counts = byName<Record<string, number>>();
  const versions = new Map<string, string>();
  let runs: unknown;
  try {
    runs = parseJson(text);
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e;
  }
  if (!Array.isArray(runs) || !runs.every(isMap)) throw noProfile(file);
  for (const run of runs) {
    if (!isMap(run.blocks)) throw noProfile(file);
    for (const [fn, blocks] of Object.entries(run.blocks)) {
      if (!isCounts(blocks)) throw noProfile(file);
      const own = (counts[fn] ??= {});
      for (const [id, n] of Object.entries(blocks)) own[id] = (own[id] ?? 0) + n;
    }
    for (const [fn, version] of Object.entries(isMap(run.versions) ? run.versions : {})) {
      if (typeof version !== 'string') throw noProfile(file);
      const known = versions.get(fn);
      if (known !== undefined && known !== version)
        throw fileError(file, `the runs of the profile are of different versions of '${fn}'`, [
          'record a new one: `orrery run LAUNCH.yaml... --no-opt --profile-out FILE`',
        ]);
      versions.set(fn, version);
    }
  }
  return { counts, versions };
}

const noProfile = (file: string): DiagnosticError =>
  fileError(file, 'this is not a profile', [
    '`orrery run LAUNCH.yaml --no-opt --profile-out FILE` writes one',
  ]);

const warning = (file: string, message: string, note: string): Diagnostic => ({
  ...fileFault(file, message, [note]),
  severity: 'warning',
});
const RECORD = '`orrery run LAUNCH.yaml --no-opt --profile-out FILE`';

/** Warns about functions of which a profile has counts for another version than the program contains. */
export function otherVersions(file: string, profile: ProfileFile, program: Program): Diagnostic[] {
  const named = program.functions
    .filter((f) => profile.versions.has(f.name) && profile.versions.get(f.name) !== versionOf(f))
    .map((f) => `'${f.name}'`);
  if (named.length === 0) return [];
  return [
    warning(
      file,
      `the profile is of another version of ${named.join(', ')}: its counts may be those of other blocks`,
      `record a new one from this input: ${RECORD}`,
    ),
  ];
}

/**
 * Warns about a profile without counts for any function of the programs that it is used for.
 *
 * @param functions names of functions of these programs, at least of all kernels
 */
export function otherFunctions(file: string, profile: Profile, functions: Iterable<string>): Diagnostic[] {
  const counted = Object.keys(profile);
  for (const f of functions) if (Object.hasOwn(profile, f)) return [];
  const named = counted.slice(0, MOST_NAMED).map((f) => `'${f}'`);
  if (counted.length > MOST_NAMED) named.push(`${counted.length - MOST_NAMED} more`);
  return [
    warning(
      file,
      `the profile has no effect: it counts ${named.length === 0 ? 'no function' : `${named.join(', ')}, which the input does not have`}`,
      `take one from this input: ${RECORD}`,
    ),
  ];
}

/** Maximum number of functions that a warning names; the rest are counted. */
const MOST_NAMED = 5;
