/** One difference between two documents: its path by names, and the old and new value. */
export interface DataChange {
  readonly path: readonly string[];
  /** undefined: absent. */
  readonly before: unknown;
  readonly after: unknown;
}

const isMap = (v: unknown): v is Readonly<Record<string, unknown>> =>
  v !== null && typeof v === 'object' && !Array.isArray(v);

/** Keys that can name an element of a list; the first that all elements have is used. */
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

/** JSON with sorted keys: equal for equal data. */
export const canonical = (v: unknown): string =>
  isMap(v)
    ? `{${Object.keys(v)
        .sort()
        .map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`)
        .join(',')}}`
    : Array.isArray(v)
      ? `[${v.map(canonical).join(',')}]`
      : (JSON.stringify(v) ?? 'undefined');

/**
 * The differences of two documents by name: maps key by key, lists by the names of their elements, or as sets if
 * their elements are plain values. Positions in lists do not matter.
 */
export function dataChanges(a: unknown, b: unknown, path: readonly string[] = []): DataChange[] {
  if (canonical(a) === canonical(b)) return [];
  if (isMap(a) && isMap(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((k) =>
      dataChanges(a[k], b[k], [...path, k]),
    );
  if (Array.isArray(a) && Array.isArray(b)) {
    const [x, y] = [named(a), named(b)];
    if (x !== null && y !== null)
      return [...new Set([...x.keys(), ...y.keys()])].flatMap((k) =>
        dataChanges(x.get(k), y.get(k), [...path, k]),
      );
  }
  return [{ path, before: a, after: b }];
}

/** Elements of a list by name; null if some have none, or names repeat. */
function named(list: readonly unknown[]): Map<string, unknown> | null {
  const key = NAMES.find((n) => list.every((x) => isMap(x) && typeof x[n] === 'string'));
  if (key === undefined) return null;
  const out = new Map(list.map((x) => [String((x as Record<string, unknown>)[key]), x]));
  return out.size === list.length ? out : null;
}

/** A value in a few words. */
export function valueText(v: unknown): string {
  if (v === undefined) return 'nothing';
  const text = typeof v === 'string' ? v : JSON.stringify(v);
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > 90 ? `${line.slice(0, 87)}...` : line;
}
