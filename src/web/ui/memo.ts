/** Maximum number of texts whose results are kept. */
const MOST = 20_000;

/** Caches the results of a function of a text. */
export function memo<V>(make: (text: string) => V): (text: string) => V {
  const known = new Map<string, V>();
  return (text) => {
    let v = known.get(text);
    if (v === undefined) {
      if (known.size >= MOST) known.clear();
      known.set(text, (v = make(text)));
    }
    return v;
  };
}
