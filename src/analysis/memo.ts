/**
 * Remembers the result of an analysis by the identity of its snapshot. Snapshots are immutable, so a result can
 * never be stale, and it is freed together with its snapshot.
 */
export function memo<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>();
  return (key) => {
    let v = known.get(key);
    if (v === undefined) {
      v = compute(key);
      known.set(key, v);
    }
    return v;
  };
}
