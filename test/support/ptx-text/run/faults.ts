/** Undefined behaviour of a kernel, or what ends it: an access out of bounds, a trap, a barrier that never completes. */
export class RunFault extends Error {}
