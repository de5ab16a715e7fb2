/*
 * Lists whose length a file decides are no arguments of a call (`push(...list)`, `Math.max(...list)`): V8 has room for some 120,000 on its
 * stack, and more are a fault of the engine.
 */

/** Adds elements to the end of a list. */
export function append<T>(to: T[], more: Iterable<T>): void {
  for (const x of more) to.push(x);
}

/** The largest of some numbers and of `least`. */
export const largestOf = (numbers: readonly number[], least: number): number =>
  numbers.reduce((most, n) => Math.max(most, n), least);
