import { SUBMODULE } from '../lab/refs.ts';
import { BUDGET_FILE, DEFAULT_BUDGET } from './budget.ts';
import { type Change, onNothing } from './changes.ts';

/*
 * Files that differ between two sides and are not specs of plans. A review must report them, since what Orrery does depends on them, too.
 */

/** What decides what Orrery does, in a folder that may hold anything beside: specs, their schemas, code, and what builds and runs that. */
const DECIDING = [
  ...['.ci', '.github', 'bin', 'knobs', 'pipelines', 'schemas', 'src', 'test/kernels'],
  ...[
    '.gitattributes',
    '.gitmodules',
    '.npmrc',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
  ],
];
/** Folders whose files are all data that Orrery goes by. */
const DATA = /^(?:pipelines|knobs)\//;
/** What nothing reads but people and tests. The kernels among the tests are what reviews measure. */
const FOR_PEOPLE = /\.md$|^(?:LICENSE$|docs\/|test\/(?!kernels\/))/;

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

type Side = 'base' | 'head';
/** Hashes of what stands at a side, by path: of all that a commit has (`names` is null, and a folder gives null), or at some paths. */
export type FilesIn = (side: Side, names: readonly string[] | null) => ReadonlyMap<string, string> | null;

/** Files that differ, beside the specs that are compared by what they mean. */
export interface OtherFiles {
  readonly changes: readonly Change[];
  /** Paths of files that a person must read: code, what builds and runs it, and kernels. */
  readonly unread: readonly string[];
}

export const NO_FILES: OtherFiles = { changes: [], unread: [] };

/**
 * The files that differ between two sides and that nothing else compares. Of commits, these are all files but those for people: a list of
 * what decides would miss what is not on it, such as a built folder or settings of npm. Of a folder, they are those that are known to
 * decide and those that stand at the root of the other side's commit. Only data is compared with a folder of specs alone.
 *
 * @param prefixes what stands before paths of the base and of the head
 * @param isCompared whether a path is of a spec whose meaning is compared
 */
export function otherFiles(
  filesIn: FilesIn,
  prefixes: readonly [base: string, head: string],
  isCompared: (path: string) => boolean,
): OtherFiles {
  const sides = ['base', 'head'] as const;
  const commits = sides.map((side) => filesIn(side, null));
  const names = new Set([...DECIDING, ...commits.flatMap((c) => [...(c?.keys() ?? [])].map(nameAtRoot))]);
  const [a, b] = sides.map(
    (side, i) =>
      commits[i] ??
      filesIn(
        side,
        [...names].filter((name) => !FOR_PEOPLE.test(`${name}/`)),
      )!,
  );
  const isSpecsAlone = [a, b].some(
    (files, i) => commits[i] === null && [...files.keys()].every((p) => DATA.test(p) || FOR_PEOPLE.test(p)),
  );
  // What a folder has of a submodule is no commit.
  const submodules = commits.includes(null)
    ? [...a, ...b].flatMap(([path, hash]) => (hash.startsWith(`${SUBMODULE} `) ? [path] : []))
    : [];
  const left = [...new Set([...a.keys(), ...b.keys()])].filter(
    (path) =>
      a.get(path) !== b.get(path) &&
      !FOR_PEOPLE.test(path) &&
      !COMPARED.has(path) &&
      !isCompared(path) &&
      !submodules.some((s) => path === s || path.startsWith(`${s}/`)),
  );
  return {
    changes: left
      .filter((p) => DATA.test(p))
      .map((path) => changeOf({ path, isGone: !b.has(path), isNew: !a.has(path) }, prefixes)),
    unread: isSpecsAlone ? [] : left.filter((p) => !DATA.test(p)).sort(),
  };
}

/** The file or folder at the root that a path is in; of tests, the kernels. */
const nameAtRoot = (path: string): string =>
  path.startsWith('test/kernels/') ? 'test/kernels' : path.split('/', 1)[0];

/** Beside specs: limits, and verdicts of the prover, which are changes of their own. */
const COMPARED: ReadonlySet<string> = new Set([
  ...[BUDGET_FILE, DEFAULT_BUDGET],
  'pipelines/rules/verdicts.json',
]);

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
