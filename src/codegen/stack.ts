/** Number of the general register that holds the stack pointer, as in code of ptxas. */
export const STACK = 1;
/** First of the two uniform registers that hold the descriptor of global memory, as in code of ptxas. */
export const DESCRIPTOR = 4;
