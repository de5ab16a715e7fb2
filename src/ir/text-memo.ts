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
  const results = new Map<string, T>();
  return (text) => {
    let result = results.get(text);
    if (result === undefined) {
      result = make(text);
      if (results.size >= most) results.clear();
      results.set(text, result);
    }
    return result;
  };
}
