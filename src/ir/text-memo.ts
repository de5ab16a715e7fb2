/**
 * Maximum number of cached texts: a file has far fewer distinct ones, and a process that reads many files must not grow
 * without bound.
 */
const MOST = 4096;

/**
 * Memoizes a function of a text. Once the cache is full, it is cleared.
 * @param most maximum number of cached results
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
