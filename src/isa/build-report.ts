/** Reports one fault of an opcode. */
export type Report = (message: string, notes?: readonly string[]) => void;
