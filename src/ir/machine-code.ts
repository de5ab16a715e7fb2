/**
 * Machine code of a function, which phases of the back end make. What it consists of is known to code generation alone; everyone else
 * counts and prints it.
 */
export interface MachineCode {
  /** Number of instructions. */
  readonly instructions: number;
  /** Number of general registers, the highest plus one; null before they are allocated. */
  readonly registers: number | null;
  /** Number of registers that were spilled. */
  readonly spills: number;
  /** Its text for readers, a line for each label and instruction. */
  lines(): readonly string[];
}
