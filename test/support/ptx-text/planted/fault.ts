import { type Case, type Computation, Modifiers, type Table } from '../table/case.ts';
import { TABLE } from '../table/index.ts';

/*
 * Mutants of instructions: what a simulator or an optimizer could get wrong, planted in the interpreter's table.
 */

export type Of = Computation['of'];
type Numbers = readonly bigint[];

/** An instruction as it should be. */
export interface Right {
  readonly computation: Computation;
  readonly words: readonly string[];
  /** The same instruction with other modifiers. */
  readonly with: (words: readonly string[]) => Computation;
}

/** One wrong instruction. */
export interface Fault {
  readonly name: string;
  /** Key of the instruction in the table. */
  readonly key: string;
  /** The wrong computation; null if the instruction is correct with these modifiers. */
  readonly change: (right: Right) => Of | null;
}

export type Change = Fault['change'];

export const numbers = (x: bigint | Numbers): Numbers => (typeof x === 'bigint' ? [x] : x);

/** Changes the operands. */
export const operands =
  (of: (a: Numbers, c: Computation) => Numbers): Change =>
  ({ computation: c }) =>
  (a, open) =>
    c.of(of(a, c), open);

/** Changes the results. */
export const results =
  (of: (d: Numbers, a: Numbers, c: Computation) => Numbers): Change =>
  ({ computation: c }) =>
  (a, open) =>
    of(numbers(c.of(a, open)), a, c);

/** Applies a change only if the modifiers, as written, match. */
export const where =
  (words: RegExp, change: Change): Change =>
  (right) =>
    words.test(right.words.join('.')) ? change(right) : null;

/** Applies a change only if the type of the first operand is of a kind. */
export const ofKind =
  (kind: Computation['operands'][0]['kind'], change: Change): Change =>
  (right) =>
    right.computation.operands[0].kind === kind ? change(right) : null;

/** Replaces one modifier by another, or drops it. */
export const instead =
  (from: string, to: string | null): Change =>
  (right) => {
    if (!right.words.includes(from)) return null;
    return right.with(right.words.flatMap((w) => (w !== from ? [w] : to === null ? [] : [to]))).of;
  };

/** The first change that applies. */
export const firstOf =
  (...changes: readonly Change[]): Change =>
  (right) =>
    changes.map((c) => c(right)).find((of) => of !== null) ?? null;

/** The table with one fault planted. */
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
