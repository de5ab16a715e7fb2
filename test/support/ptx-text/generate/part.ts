/**
 * A piece of a kernel that can be left out: lines, and pieces within them. What stands before, between and after inner pieces belongs
 * together.
 */
export interface Part {
  readonly before: readonly string[];
  readonly inner: readonly Part[];
  readonly between: readonly string[];
  readonly other: readonly Part[];
  readonly after: readonly string[];
}

/** Lines that stay together. */
export const lines = (...text: readonly string[]): Part => ({
  before: text,
  inner: [],
  between: [],
  other: [],
  after: [],
});

export const linesOf = (p: Part): readonly string[] => [
  ...p.before,
  ...p.inner.flatMap(linesOf),
  ...p.between,
  ...p.other.flatMap(linesOf),
  ...p.after,
];

/** How many pieces there are, inner ones included. */
export const sizeOf = (parts: readonly Part[]): number =>
  parts.reduce((n, p) => n + 1 + sizeOf(p.inner) + sizeOf(p.other), 0);
