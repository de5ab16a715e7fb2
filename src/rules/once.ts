/** A value computed on first use and kept; if `make` throws, every call throws again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
