import type { Form } from '../machine/forms.ts';

/*
 * Machine code before registers are allocated. A virtual register is a run of words in a file of the hardware: one word for 32 bits, two
 * for a pair, four for a quadruple; a predicate is one word.
 */

/** Stands for a block at the beginning of the code. */
export const START = -2;

/** Files of the hardware that are allocated. */
export type HardFile = 'R' | 'P' | 'UR' | 'B';

/** A virtual register. */
export interface Virtual {
  readonly file: HardFile;
  /** Number of consecutive registers, of which the first is aligned to it. */
  readonly words: number;
  /** True if only the instructions of one Ori instruction use it, so that a guarded definition is a whole one. */
  readonly isTemporary: boolean;
  /** True if it was made to hold a spilled value for one instruction: it may not be spilled again. */
  readonly isReload: boolean;
  /** The hardware register that it must have, where the calling convention asks for one. */
  readonly place?: number;
}

/** An occurrence of a virtual register in an instruction: `words` of its words from `word` on. */
export interface Occurrence {
  /** Index of the form's field that holds the first register; `IMPLICIT` for a general register that the word does not name. */
  readonly field: number;
  readonly v: number;
  readonly word: number;
  readonly words: number;
  readonly isResult: boolean;
}

/** `Occurrence.field` of arguments and results of calls. */
export const IMPLICIT = -1;

/** An instruction; its values are complete but for registers, branch targets and addresses of variables. */
export interface MachineOp {
  readonly form: Form;
  readonly values: readonly number[];
  readonly occurrences: readonly Occurrence[];
  /** Virtual register of the guard, or -1. */
  readonly guard: number;
  readonly guardNot: boolean;
  /**
   * Field and block id of a branch; null for other instructions. A jump through a table names the beginning of the code: START. With
   * `from`, the field holds the distance in bytes from that block.
   */
  readonly target: { readonly field: number; readonly block: number; readonly from?: number } | null;
  /** Name of the function that a call is of; absent for other instructions. */
  readonly call?: string;
  /** Index of the table that a jump goes through (`Fn.tables`); absent for other instructions. */
  readonly table?: number;
  /** True for an access to memory that is volatile or has an order (`sem` of the Ori instruction). */
  readonly isOrdered?: boolean;
  /** Index into `Program.locs`. */
  readonly loc: number;
}

/** A basic block of machine instructions. */
export interface MachineBlock {
  /** Id of the block of Ori. */
  readonly id: number;
  readonly ops: readonly MachineOp[];
  /** Ids of the blocks that can follow. */
  readonly next: readonly number[];
}

/** A function before allocation. */
export interface MachineFunction {
  readonly name: string;
  readonly blocks: readonly MachineBlock[];
  readonly registers: readonly Virtual[];
  /** Jump tables: block ids. */
  readonly tables: readonly (readonly number[])[];
}
