/** A value that is made when it is first asked for, and kept; what `make` throws is thrown again at every call. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
