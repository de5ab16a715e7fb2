/** Number of the general register that holds the stack pointer, as in code of ptxas. */
export const STACK = 1;
/**
 * First of the two uniform registers that hold the descriptor of global memory, as in code of ptxas: in a kernel without calls, and in one
 * with calls, which preserve it there.
 */
export const DESCRIPTOR = { usual: 4, acrossCalls: 36 } as const;
