import { type Case, type Computation, Modifiers, type Table } from '../table/case.ts';
import { TABLE } from '../table/index.ts';

/*
 * Wrong instructions: what a simulator or an optimizer could get wrong, planted in the table of the interpreter.
 */

export type Of = Computation['of'];
type Numbers = readonly bigint[];

/** An instruction as it is right, and what is asked about it. */
export interface Right {
  readonly computation: Computation;
  readonly words: readonly string[];
  /** The same instruction with other modifiers. */
  readonly with: (words: readonly string[]) => Computation;
}

/** One wrong instruction. */
export interface Fault {
  readonly name: string;
  /** Which instruction of the table it is. */
  readonly key: string;
  /** What it computes instead; null where it is right with these modifiers. */
  readonly change: (right: Right) => Of | null;
}

export type Change = Fault['change'];

export const numbers = (x: bigint | Numbers): Numbers => (typeof x === 'bigint' ? [x] : x);

/** The operands are others. */
export const operands =
  (of: (a: Numbers, c: Computation) => Numbers): Change =>
  ({ computation: c }) =>
  (a, open) =>
    c.of(of(a, c), open);

/** The results are others. */
export const results =
  (of: (d: Numbers, a: Numbers, c: Computation) => Numbers): Change =>
  ({ computation: c }) =>
  (a, open) =>
    of(numbers(c.of(a, open)), a, c);

/** It is wrong only where its modifiers, as they are written, match. */
export const where =
  (words: RegExp, change: Change): Change =>
  (right) =>
    words.test(right.words.join('.')) ? change(right) : null;

/** It is wrong only where its first operand is of a kind. */
export const ofKind =
  (kind: Computation['operands'][0]['kind'], change: Change): Change =>
  (right) =>
    right.computation.operands[0].kind === kind ? change(right) : null;

/** One modifier counts as another, or as none. */
export const instead =
  (from: string, to: string | null): Change =>
  (right) => {
    if (!right.words.includes(from)) return null;
    return right.with(right.words.flatMap((w) => (w !== from ? [w] : to === null ? [] : [to]))).of;
  };

/** The first change that is one. */
export const firstOf =
  (...changes: readonly Change[]): Change =>
  (right) =>
    changes.map((c) => c(right)).find((of) => of !== null) ?? null;

/** The table with one wrong instruction. */
export function planted(fault: Fault): Table {
  const right: Case = TABLE[fault.key];
  return {
    ...TABLE,
    [fault.key]: (m) => {
      const { opcode, words, sources, selectors } = m;
      const computation = right(m);
      const again = (others: readonly string[]): Computation => {
        const changed = new Modifiers(opcode, others, sources, selectors);
        return right(changed);
      };
      const of = fault.change({ computation, words, with: again });
      return of === null ? computation : { ...computation, of };
    },
  };
}
