/**
 * What a kernel does that the PTX ISA calls undefined, or that ends it: an access beside its memory, a trap, a barrier that never
 * completes.
 */
export class RunFault extends Error {}
