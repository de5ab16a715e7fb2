/**
 * A piece of a kernel that can be removed: lines, with nested pieces. The lines before, between and after the nested pieces belong
 * together.
 */
export interface Part {
  readonly before: readonly string[];
  readonly inner: readonly Part[];
  readonly between: readonly string[];
  readonly other: readonly Part[];
  readonly after: readonly string[];
}

/** Lines that are kept or removed together. */
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

/** Number of pieces, nested ones included. */
export const sizeOf = (parts: readonly Part[]): number =>
  parts.reduce((n, p) => n + 1 + sizeOf(p.inner) + sizeOf(p.other), 0);
