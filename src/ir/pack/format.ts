/*
 * Snapshots as bytes, for workers and for disk. One pack holds several snapshots and stores every object that they share
 * once: functions, blocks, instructions, variables, tables of lines. Unpacked snapshots share these objects again.
 *
 *     'ORI', version, checksum of what follows, hash of the instruction set
 *     texts, names of opcodes, operands, instructions, blocks, tables of lines, variables, functions, snapshots
 *
 * Frequent objects (operands, instructions, blocks, lines) are written number by number, the rest as JSON, so that a new
 * field there needs no change here. Operands are shared if their contents are equal; everything else, if it is the same
 * object.
 */

/** Incremented whenever earlier packs would be read incorrectly. */
export const PACK_VERSION = 3;

/** `ORI`. */
export const MAGIC = [0x4f, 0x52, 0x49];
/** Bytes before the body: magic, version, checksum. */
export const HEAD = 8;

/** Thrown for bytes that are not a pack, or not one that this version reads. */
export class PackError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PackError';
  }
}

/** The source line of an instruction: the previous one, the next one, or another. */
export const Line = { Same: 0, Next: 1, Other: 2 } as const;
/** Bits 0 to 3 of an instruction's flag byte. Bits 4 and 5: number of destinations (3: a number follows); bits 6 and 7: `Line`. */
export const Has = { Mods: 1, Guard: 2, GuardNot: 4, Otherwise: 8 } as const;

/** First byte of an operand: its kind, its modifiers from bit `MODS` on, and `MORE` if `hi` and a name follow. */
export const MODS = 3;
export const MORE = 1 << 6;
