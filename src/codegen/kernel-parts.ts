import type { Control } from '../machine/control.ts';
import type { Machine } from '../machine/forms.ts';
import type { EncodedFunction } from './encode-function.ts';
import type { MachineFunction } from './machine-op.ts';

/** Memory that a kernel needs. */
export interface KernelMemory {
  /** Bytes of local memory a thread. */
  readonly frameBytes: number;
  /** Static shared memory a block, and its alignment. */
  readonly sharedBytes: number;
  readonly sharedAlign: number;
  /** True if it has shared memory whose size the launch decides. */
  readonly hasDynamicShared: boolean;
}

/** What phases of the back end have made of a kernel so far. */
export interface KernelParts {
  readonly machine: Machine;
  readonly fn: MachineFunction;
  readonly memory: KernelMemory;
  /** First of the uniform registers that hold the descriptor of global memory. */
  readonly descriptor: number;
  /** The first register of the hardware for each virtual one; null before registers are allocated. */
  readonly of: readonly number[] | null;
  /** Number of values that were moved to local memory, and of predicates that were moved to general registers. */
  readonly spills: number;
  readonly heldPredicates: number;
  /** Control words by block and instruction; null before they are chosen. */
  readonly controls: readonly (readonly Control[])[] | null;
  /** Null before the words are written. */
  readonly encoded: EncodedFunction | null;
}
