import type { PtxFunction, Register, Variable } from '../text/syntax.ts';
import type { Step } from './lane.ts';

/** An instruction with its guard. */
export interface Item {
  /** Slot of the guard's predicate; -1 if there is none. */
  readonly guard: number;
  readonly negated: boolean;
  readonly step: Step;
  readonly line: number;
  readonly opcode: string;
}

/** A function prepared for execution. */
export interface Code {
  readonly fn: PtxFunction;
  readonly registers: readonly Register[];
  items: readonly Item[];
  /** Bytes of its frame in local memory: local variables, and parameters that are not registers. */
  readonly frameBytes: number;
  /** Offsets of variables in the frame. */
  readonly offsets: ReadonlyMap<Variable, number>;
}

/** Rounds up to a multiple of `to`. */
export const aligned = (n: number, to: number): number => Math.ceil(n / to) * to;

/** Bytes of a variable; 0 for an array without a size. */
export const bytesOf = (v: Variable): number => (v.length ?? 0) * v.elementBytes;

/** Lays out variables one after the other. */
export function placed(
  variables: readonly Variable[],
  from = 0,
): { offsets: Map<Variable, number>; end: number } {
  const offsets = new Map<Variable, number>();
  let end = from;
  for (const v of variables) {
    end = aligned(end, v.align);
    offsets.set(v, end);
    end += bytesOf(v);
  }
  return { offsets, end };
}
