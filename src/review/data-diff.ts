import { isMap } from '../ir/data.ts';
import { canonical as sortedJson } from '../spec/canonical.ts';

/** One difference between two documents: its path, in which list elements are named, and the old and new value. */
export interface DataChange {
  readonly path: readonly string[];
  /** The old value; undefined: absent. */
  readonly before: unknown;
  /** The new value; undefined: absent. */
  readonly after: unknown;
}

/** Keys that can name an element of a list: the first that all elements of both lists have, or else the first that each element has. */
const NAMES = [
  'id',
  'name',
  'rules',
  'pass',
  'move',
  'insert',
  'insertPass',
  'insertRules',
  'drop',
  'replace',
] as const;

/** Data as JSON with sorted keys: equal for equal data. An absent value differs from null. */
export const canonical = (v: unknown): string => sortedJson(v, 'undefined');

/**
 * The differences of two documents. Maps are compared key by key, and lists by the names of their elements, whose positions do not matter.
 * A list whose elements have no unique names is compared as a whole.
 */
export function dataChanges(a: unknown, b: unknown, path: readonly string[] = []): DataChange[] {
  if (canonical(a) === canonical(b)) return [];
  if (isMap(a) && isMap(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((k) =>
      dataChanges(a[k], b[k], [...path, k]),
    );
  if (Array.isArray(a) && Array.isArray(b)) {
    const common = commonName([...a, ...b]);
    const [x, y] = [named(a, common), named(b, common)];
    if (x !== null && y !== null)
      return [...new Set([...x.keys(), ...y.keys()])].flatMap((k) =>
        dataChanges(x.get(k), y.get(k), [...path, k]),
      );
  }
  return [{ path, before: a, after: b }];
}

/** The key that names each of some elements, if there is one. */
const commonName = (list: readonly unknown[]): string | undefined =>
  NAMES.find((n) => list.every((x) => isMap(x) && typeof x[n] === 'string'));

/** The elements of a list by name; null if some have none, or names repeat. Without a common key, the name includes the key. */
function named(list: readonly unknown[], common: string | undefined): Map<string, unknown> | null {
  const out = new Map<string, unknown>();
  for (const x of list) {
    if (!isMap(x)) return null;
    const key = common ?? NAMES.find((n) => typeof x[n] === 'string');
    if (key === undefined) return null;
    out.set(common === undefined ? `${key} ${String(x[key])}` : String(x[key]), x);
  }
  return out.size === list.length ? out : null;
}

/** Rows by name. A repeated name is followed by its number: no row may hide another, whichever of them is used. */
export function byName<T>(rows: readonly T[], nameOf: (row: T) => string): Map<string, T> {
  const counts = new Map<string, number>();
  return new Map(
    rows.map((row) => {
      const name = nameOf(row);
      const n = (counts.get(name) ?? 0) + 1;
      counts.set(name, n);
      return [n === 1 ? name : `${name} #${n}`, row];
    }),
  );
}

/** Maximum length of a value as shown. */
const SHOWN = 90;
/** Number of characters of the common prefix of two long values that are shown before the first difference. */
const LEAD = 20;

const oneLine = (v: unknown): string =>
  v === undefined ? 'nothing' : (typeof v === 'string' ? v : JSON.stringify(v)).trim().replace(/\s+/g, ' ');

const clipped = (line: string): string => (line.length > SHOWN ? `${line.slice(0, SHOWN - 3)}...` : line);

/** A value as a short text. */
export const valueText = (v: unknown): string => clipped(oneLine(v));

/** True for a list of plain texts, such as names. */
export const isTexts = (v: unknown): v is readonly string[] =>
  Array.isArray(v) && v.every((x) => typeof x === 'string');

/** Two values as short texts that show their difference; for lists of names, the names that only one of them has. */
export function valueTexts({ before, after }: Pick<DataChange, 'before' | 'after'>): {
  readonly before: string;
  readonly after: string;
} {
  if (isTexts(before) && isTexts(after)) {
    const only = (a: readonly string[], b: readonly string[]) => a.filter((x) => !b.includes(x)).join(', ');
    const [gone, come] = [only(before, after), only(after, before)];
    return {
      before: gone === '' ? (before.length === 0 ? 'none' : `${before.length} named`) : `with ${gone}`,
      after: come === '' ? (gone === '' ? 'in another order' : 'without') : `also ${come}`,
    };
  }
  const [x, y] = [oneLine(before), oneLine(after)];
  if (x.length <= SHOWN && y.length <= SHOWN) return { before: x, after: y };
  let from = 0;
  while (from < x.length && x[from] === y[from]) from++;
  const start = from < SHOWN - LEAD ? 0 : from - LEAD;
  const part = (s: string) => clipped(start === 0 ? s : `...${s.slice(start)}`);
  return { before: part(x), after: part(y) };
}
