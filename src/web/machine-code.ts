import type { PlainRow } from '../machine/plain-rows.ts';

/** A kernel in machine code, or why it has none. */
export interface MachineKernel {
  readonly name: string;
  readonly why: string | null;
  readonly registers: number;
  readonly code: readonly PlainRow[];
}

export interface MachineCode {
  /** What made it, as in `orrery asm` or `ptxas 13.0.88`. */
  readonly by: string;
  readonly sm: string;
  /** Why there is none at all; null otherwise. */
  readonly why: string | null;
  readonly kernels: readonly MachineKernel[];
}
