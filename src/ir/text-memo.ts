/** Texts that are remembered: a file has far fewer different ones, and a process that reads many files does not grow without end. */
const MOST = 4096;

/**
 * A function of a text that computes each result once, as long as there are not too many: then all are forgotten.
 * @param most results that are kept at a time
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
