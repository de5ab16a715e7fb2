/**
 * Caches the result of an analysis by the identity of its snapshot. Snapshots are immutable, so a result is never
 * stale, and it is freed together with its snapshot.
 */
export function memo<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const cache = new WeakMap<K, V>();
  return (key) => {
    let v = cache.get(key);
    if (v === undefined) {
      v = compute(key);
      cache.set(key, v);
    }
    return v;
  };
}

/** `memo` for an analysis of two objects, such as a function and the variables of its module. */
export function memoPair<A extends object, B extends object, V>(
  compute: (a: A, b: B) => V,
): (a: A, b: B) => V {
  const cache = new WeakMap<A, WeakMap<B, V>>();
  return (a, b) => {
    let row = cache.get(a);
    if (row === undefined) cache.set(a, (row = new WeakMap()));
    let v = row.get(b);
    if (v === undefined) row.set(b, (v = compute(a, b)));
    return v;
  };
}

/** A function that numbers objects from 1 in the order in which it sees them, for keys that stand for objects. */
export function numbering<K extends object>(): (key: K) => number {
  let last = 0;
  return memo(() => ++last);
}
