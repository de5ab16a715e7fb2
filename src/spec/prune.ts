import type { ErrorObject } from 'ajv';
import { meantBy } from '../ir/diagnostic.ts';

type Tree = Record<string, unknown> | unknown[];
type Path = readonly (string | number)[];

/** What was taken out of a spec, and where the places of the rest are in its text. */
export interface Pruned {
  /**
   * The path in the text of a path in what remains: behind an element that was taken out, the others have other indices, and a key that is
   * misspelt there stands here as it was meant.
   */
  readonly original: (path: Path) => Path;
  readonly removed: readonly { readonly path: Path; readonly value: unknown }[];
}

/** How a spec is taken apart. */
export interface Parts {
  /**
   * Lists hold parts that mean the same without their neighbours, so that a faulty element is taken out alone. Otherwise the entry that
   * holds the list is, since the places of the others say something.
   */
  readonly elements: boolean;
  /** The list of this name has elements that mean something else, or nothing, without one of their entries. */
  readonly whole?: string;
}

/** Most rounds of removing faulty entries; each round may uncover faults that an earlier one hid. */
const ROUNDS = 6;

/** Stands for an element that was taken out. */
const GONE = Symbol('gone');

/** Keys of maps that were misspelt, by what they are taken for. */
type Renamed = WeakMap<object, ReadonlyMap<string, string>>;

/**
 * A spec without the entries that its schema rejects, so that the rest can still be checked and all faults reported together. A key that
 * can only be a misspelling of one is taken for that, and its entry stays.
 *
 * @param validate errors of a spec; none if it is valid
 * @returns null if the fault is in the spec as a whole
 */
export function prune(
  data: Readonly<Record<string, unknown>>,
  validate: (data: unknown) => readonly ErrorObject[],
  parts: Parts,
): { readonly data: Record<string, unknown>; readonly pruned: Pruned } | null {
  const whole = structuredClone(data) as Record<string, unknown>;
  const removed: { path: Path; value: unknown }[] = [];
  const renamed: Renamed = new WeakMap();
  for (let round = 0; round < ROUNDS; round++) {
    const rest = withoutGone(whole, renamed);
    const errors = validate(rest.data);
    if (errors.length === 0)
      return { data: rest.data, pruned: { original: (path) => rest.original(path, true), removed } };
    // What else is said of a map with a misspelt key mostly follows from that.
    const meant = errors.flatMap((e) => {
      const key = meantKey(e);
      return key === null ? [] : [{ path: rest.original(pathOf(e), false), key }];
    });
    for (const { path, key } of meant) rename(whole, path, key, renamed);
    if (meant.length > 0) continue;
    for (const e of errors) {
      const path = rest.original(pathOf(e), false);
      const short = path[0] === parts.whole && path.length > 2 ? path.slice(0, 2) : path;
      const taken = takeOut(whole, short, parts.elements);
      if (taken === null) return null;
      if (taken.value !== GONE) removed.push(taken);
    }
  }
  return null;
}

/** The path of what a validator's error is about. */
function pathOf(e: ErrorObject): string[] {
  const path = e.instancePath
    .split('/')
    .slice(1)
    .map((x) => x.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (e.keyword === 'additionalProperties') path.push(String(e.params.additionalProperty));
  else if (e.keyword === 'uniqueItems') path.push(String(e.params.i));
  else if (e.propertyName !== undefined) path.push(e.propertyName);
  return path;
}

/** The key that one which may not stand in its map is taken for; null where it is none, or stands there too. */
function meantKey(e: ErrorObject): string | null {
  if (e.keyword !== 'additionalProperties') return null;
  const { properties = {} } = (e.parentSchema ?? {}) as { readonly properties?: object };
  const meant = meantBy(String(e.params.additionalProperty), Object.keys(properties));
  return meant === null || Object.hasOwn(e.data as object, meant) ? null : meant;
}

/** Gives the last key of a path another name, which several errors may ask for. */
function rename(root: Tree, path: Path, to: string, renamed: Renamed): void {
  const from = String(path.at(-1));
  const map = path.slice(0, -1).reduce<unknown>((at, step) => (at as Tree)[step as never], root) as Record<
    string,
    unknown
  >;
  if (!Object.hasOwn(map, from)) return;
  map[to] = map[from];
  delete map[from];
  renamed.set(map, new Map([...(renamed.get(map) ?? []), [to, from]]));
}

/** A copy without the elements that were taken out. */
function withoutGone(
  whole: Record<string, unknown>,
  renamed: Renamed,
): {
  readonly data: Record<string, unknown>;
  /** The path in what was copied, or in the text. */
  readonly original: (path: Path, inText: boolean) => Path;
} {
  /** Of lists that lost elements: the indices that the others had. */
  const kept = new WeakMap<object, readonly number[]>();
  const spelt: Renamed = new WeakMap();
  const copy = (x: unknown): unknown => {
    if (x === null || typeof x !== 'object') return x;
    if (!Array.isArray(x)) {
      const out = Object.fromEntries(Object.entries(x).map(([k, v]) => [k, copy(v)]));
      const names = renamed.get(x);
      if (names !== undefined) spelt.set(out, names);
      return out;
    }
    const there = [...x.keys()].filter((i) => x[i] !== GONE);
    const out = there.map((i) => copy(x[i]));
    if (there.length < x.length) kept.set(out, there);
    return out;
  };
  const data = copy(whole) as Record<string, unknown>;
  const original = (path: Path, inText: boolean): Path => {
    let at: unknown = data;
    return path.map((step) => {
      const holder = at !== null && typeof at === 'object' ? at : null;
      at = (at as Record<string, unknown> | null | undefined)?.[step];
      if (holder === null) return step;
      const name = inText ? spelt.get(holder)?.get(String(step)) : undefined;
      return name ?? kept.get(holder)?.[Number(step)] ?? step;
    });
  };
  return { data, original };
}

/** Removes what a path leads to, or the last entry on the way to it. */
function takeOut(
  root: Tree,
  path: Path,
  elements: boolean,
): { readonly path: Path; readonly value: unknown } | null {
  let holder: Tree | null = null;
  let depth = 0;
  let at: unknown = root;
  for (const [i, step] of path.entries()) {
    if (at === null || typeof at !== 'object') break;
    if (elements || !Array.isArray(at)) {
      holder = at as Tree;
      depth = i;
    }
    at = (at as Record<string, unknown>)[step];
  }
  const key = path[depth];
  if (holder === null || (holder === root && key === 'kind')) return null;
  const value = (holder as Record<string, unknown>)[key];
  if (Array.isArray(holder)) holder[Number(key)] = GONE;
  else delete holder[key];
  return { path: path.slice(0, depth + 1), value };
}
