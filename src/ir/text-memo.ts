/**
 * Number of cached texts: a file has far fewer distinct ones, and a process that reads many files must not grow
 * forever.
 */
const MOST = 4096;

/**
 * Caches a function of a text. Once there are too many results, all are dropped.
 * @param most results kept at a time
 */
export function memoByText<T>(make: (text: string) => T, most = MOST): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let result = known.get(text);
    if (result === undefined) {
      result = make(text);
      if (known.size >= most) known.clear();
      known.set(text, result);
    }
    return result;
  };
}
