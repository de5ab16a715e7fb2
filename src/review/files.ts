import { DEFAULT_BUDGET } from './budget.ts';
import { type Change, onNothing } from './changes.ts';

/*
 * Files that differ between two sides and are not specs of plans. A review must report them, since what Orrery does depends on them, too.
 */

/** Folders of what decides what Orrery does: specs, their schemas, code, and what runs that. */
const DECIDING = ['.github', 'bin', 'knobs', 'pipelines', 'schemas', 'src'];
/** Those whose files are all data that Orrery goes by. */
const DATA = /^(?:pipelines|knobs)\//;

/** What depends on data that no plan has. */
const DEPENDENT: readonly (readonly [where: RegExp, what: string])[] = [
  [
    /^pipelines\/machine\//,
    'the machine-code tables differ: what `verify` and `--check machine` say depends on them',
  ],
  [
    /^pipelines\/isa\/ptx-syntax\.yaml$/,
    'the syntax of PTX differs: what is read and what is refused depends on it',
  ],
];

/** Hashes of what stands in a folder of a side, by path. */
export type FilesIn = (side: 'base' | 'head', folder: string) => ReadonlyMap<string, string>;

/** Files that differ, beside the specs that are compared by what they mean. */
export interface OtherFiles {
  readonly changes: readonly Change[];
  /** Paths of code, schemas and workflows. */
  readonly unread: readonly string[];
}

export const NO_FILES: OtherFiles = { changes: [], unread: [] };

/**
 * The files that differ between two sides and that nothing else compares. Code, schemas and workflows are not compared if one side has
 * none of them: a place may be specs alone.
 *
 * @param prefixes what stands before paths of the base and of the head
 * @param isCompared whether a path is of a spec whose meaning is compared
 */
export function otherFiles(
  filesIn: FilesIn,
  prefixes: readonly [base: string, head: string],
  isCompared: (path: string) => boolean,
): OtherFiles {
  const found = DECIDING.map((folder) => ({
    isData: DATA.test(`${folder}/`),
    a: filesIn('base', folder),
    b: filesIn('head', folder),
  }));
  const hasCode = (['a', 'b'] as const).every((side) => found.some((f) => !f.isData && f[side].size > 0));
  const paths = found.flatMap(({ isData, a, b }) => {
    if (!isData && !hasCode) return [];
    return [...new Set([...a.keys(), ...b.keys()])]
      .filter((path) => a.get(path) !== b.get(path) && !isText(path))
      .map((path) => ({ path, isGone: !b.has(path), isNew: !a.has(path) }));
  });
  const left = paths.filter((p) => !isCompared(p.path) && !COMPARED.has(p.path));
  return {
    changes: left.filter((p) => DATA.test(p.path)).map((p) => changeOf(p, prefixes)),
    unread: left.flatMap((p) => (DATA.test(p.path) ? [] : [p.path])).sort(),
  };
}

/** Pages are for people: nothing reads them. */
const isText = (path: string): boolean => path.endsWith('.md');

/** Beside specs: limits, and verdicts of the prover, which are changes of their own. */
const COMPARED: ReadonlySet<string> = new Set([DEFAULT_BUDGET, 'pipelines/rules/verdicts.json']);

interface Differing {
  readonly path: string;
  readonly isGone: boolean;
  readonly isNew: boolean;
}

const changeOf = ({ path, isGone, isNew }: Differing, [base, head]: readonly [string, string]): Change => ({
  kind: 'spec',
  name: path,
  before: isNew ? '' : 'there',
  after: isGone ? '' : isNew ? 'there' : 'another',
  note:
    DEPENDENT.find(([where]) => where.test(path))?.[1] ??
    'no plan is made of it, and what depends on it is not known',
  place: isGone ? '' : head + path,
  basePlace: isGone ? base + path : '',
  where: [],
  alarm: false,
  acts: onNothing('it is in no plan'),
});
