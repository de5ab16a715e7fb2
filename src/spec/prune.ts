import type { ErrorObject } from 'ajv';
import { meantBy } from '../ir/diagnostic.ts';

type Tree = Record<string, unknown> | unknown[];
type Path = readonly (string | number)[];

/** The entries that were removed from a spec, and how paths in the remainder map to its text. */
export interface Pruned {
  /**
   * Maps a path in the remainder to the path in the text. They differ because elements after a removed one have shifted indices, and
   * because a misspelt key has been corrected.
   */
  readonly original: (path: Path) => Path;
  readonly removed: readonly { readonly path: Path; readonly value: unknown }[];
}

/** Which entries of a spec may be removed separately. */
export interface Parts {
  /**
   * True if elements of lists keep their meaning without their neighbours, so that a faulty element is removed alone. Otherwise positions
   * in lists have a meaning, so the whole entry that holds the list is removed.
   */
  readonly elements: boolean;
  /** The top-level list whose elements are removed as a whole, because they would change their meaning without one of their entries. */
  readonly whole?: string;
}

/** Maximum number of rounds; removing entries may uncover faults that they hid. */
const ROUNDS = 6;

/** Marks a removed element of a list. */
const GONE = Symbol('gone');

/** Misspelt keys of maps, by the corrected key. */
type Renamed = WeakMap<object, ReadonlyMap<string, string>>;

/**
 * Removes the entries of a spec that its schema rejects, so that the rest can still be checked and all faults reported together. A key that
 * can only be a misspelling of one allowed key is corrected, and its entry is kept.
 *
 * @param validate returns the schema errors of a spec; empty if it is valid
 * @returns null if the fault is in the spec as a whole, or the spec is still invalid after the maximum number of rounds
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
    // Other errors of a map with a misspelt key are mostly consequences of it, so correct keys first.
    const meant = errors.flatMap((e) => {
      const key = meantKey(e);
      return key === null ? [] : [{ path: rest.original(pathOf(e), false), key }];
    });
    for (const { path, key } of meant) rename(whole, path, key, renamed);
    if (meant.length > 0) continue;
    for (const e of errors) {
      const path = rest.original(pathOf(e), false);
      const short = path[0] === parts.whole && path.length > 2 ? path.slice(0, 2) : path;
      const entry = removeAt(whole, short, parts.elements);
      if (entry === null) return null;
      if (entry.value !== GONE) removed.push(entry);
    }
  }
  return null;
}

/** The path of the entry that a validator's error is about. */
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

/** The allowed key that an unknown key was probably meant to be; null if there is none, or the map has that key as well. */
function meantKey(e: ErrorObject): string | null {
  if (e.keyword !== 'additionalProperties') return null;
  const { properties = {} } = (e.parentSchema ?? {}) as { readonly properties?: object };
  const meant = meantBy(String(e.params.additionalProperty), Object.keys(properties));
  return meant === null || Object.hasOwn(e.data as object, meant) ? null : meant;
}

/** Renames the last key of a path. Several errors may ask for the same, so a key that is gone already is ignored. */
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

/** A copy without the removed elements. */
function withoutGone(
  whole: Record<string, unknown>,
  renamed: Renamed,
): {
  readonly data: Record<string, unknown>;
  /** Maps a path in the copy to the path in the original data, or in the text, where keys are still misspelt. */
  readonly original: (path: Path, inText: boolean) => Path;
} {
  /** For copied lists with removed elements: the original indices of the elements. */
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

/**
 * Removes the value at a path, or, if it does not exist or is an element that must not be removed alone, the innermost removable entry on
 * the way to it. Returns null if that is the spec itself or its kind.
 */
function removeAt(
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
