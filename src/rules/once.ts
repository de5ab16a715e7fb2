/** Memoizes `make`: it runs on the first call. If it throws, nothing is kept, and the next call runs it again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
