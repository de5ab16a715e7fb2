/*
 * Snapshots as bytes, for workers and for disk. Several snapshots go into one pack, which holds everything that they share
 * once: functions, blocks, instructions, variables, tables of lines. They share it again when they come out.
 *
 *     'ORI', version, checksum of what follows, hash of the instruction set
 *     texts, names of opcodes, operands, instructions, blocks, tables of lines, variables, functions, snapshots
 *
 * What there is much of (operands, instructions, blocks, lines) is written number by number, the rest as JSON, which takes a
 * new field without a change here. Operands are equal where their contents are; everything else, where it is one object.
 */

/** Raised whenever bytes that were packed before would be read as something else. */
export const PACK_VERSION = 2;

/** `ORI`. */
export const MAGIC = [0x4f, 0x52, 0x49];
/** Bytes before the body: these, the version, the checksum. */
export const HEAD = 8;

/** Bytes that are no pack, or none that this version reads. */
export class PackError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PackError';
  }
}

/** Where an instruction has its line: the same as the one before, the next one, another. */
export const Line = { Same: 0, Next: 1, Other: 2 } as const;
/** Bits of the byte before an instruction; destinations in bits 4 and 5 (3: a number follows), `Line` above. */
export const Has = { Mods: 1, Guard: 2, GuardNot: 4, Otherwise: 8 } as const;

/** The byte before an operand: its kind, its modifiers from this bit on, and whether `hi` and a name follow. */
export const MODS = 3;
export const MORE = 1 << 6;
