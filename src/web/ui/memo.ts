/** Most texts of which the pieces are kept. */
const MOST = 20_000;

/** Remembers what a function makes of a text. */
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
