import type { FormatName } from './formats.ts';
import type { Node } from './lang/graph.ts';

/** Expressions of the two words of a 64-bit value, low word first. */
export type Words = readonly [string, string];

/** The services for the code generator of a node: other nodes in the form that it needs, variables, helpers. */
export interface LaneScope {
  readonly nodes: readonly Node[];
  /** A node of up to 32 bits as an int32; narrower ones are not negative. */
  int(id: number): string;
  /** The same, sign-extended from the node's width. */
  signedInt(id: number): string;
  pair(id: number): Words;
  /** The same, as variable names. */
  words(id: number): Words;
  num(id: number, fmt?: FormatName): string;
  cond(id: number): string;
  /** A name or literal with the value of the expression. */
  atom(js: string): string;
  /** The name of a helper; records that it must be in scope. */
  help(name: string): string;
  /** The words that a call returns in `out`. */
  outWords(call: string): Words;
  /** Records that a source is read. */
  useSource(k: number): void;
  /** Is the value computed as a JavaScript number? */
  isNumber(id: number): boolean;
}

/**
 * A shift amount: a number (at most 64) if it is constant, otherwise an expression whose unsigned value is at least 64 for huge amounts.
 */
export function shiftAmount(s: LaneScope, id: number): number | string {
  const n = s.nodes[id];
  if (n.op === 'const') return Number(n.value > 64n ? 64n : n.value);
  if (n.width !== 64) return s.atom(s.int(id));
  const [lo, hi] = s.pair(id);
  return s.atom(`(${hi}===0?${lo}:-1)`);
}
