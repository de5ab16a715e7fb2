/** Register files. The name is the prefix in Ori text. */
export const FILES = ['R', 'RD', 'P', 'UR', 'URD', 'UP', 'RQ', 'B'] as const;
export type File = (typeof FILES)[number];

/** Modifiers an operand may carry, as a bit set. */
export const Mod = { Neg: 1, Abs: 2, Not: 4 } as const;

/**
 * A virtual register: `index << 3 | file`. Indices are unique in a function across all files, so a bit set over `reg
 * >>> 3` covers every register, and a register's file needs no table.
 */
export type Reg = number;

/** No register: a discarded destination, or an operand without one. */
export const NO_REG: Reg = -1;

/** Numbers of the register files. */
export const RegFile = { R: 0, RD: 1, P: 2, UR: 3, URD: 4, UP: 5, RQ: 6, B: 7 } as const;

/** Width in bits of the registers of each file, by file number. */
export const FILE_WIDTH: readonly number[] = [32, 64, 1, 32, 64, 1, 128, 32];

/** The register with this index in a file (`RegFile`). */
export const makeReg = (index: number, file: number): Reg => (index << 3) | file;
/** Index of a register in its function. */
export const regIndex = (r: Reg): number => r >>> 3;
/** File of a register (`RegFile`). */
export const regFile = (r: Reg): number => r & 7;
/** Width of a register in bits. */
export const regWidth = (r: Reg): number => FILE_WIDTH[r & 7];
/** Is it a predicate register, possibly a uniform one? False for NO_REG. */
export const isPredReg = (r: Reg): boolean =>
  r !== NO_REG && ((r & 7) === RegFile.P || (r & 7) === RegFile.UP);
/** `R12`, `RD13`, `P4`, ... */
export const regName = (r: Reg): string => `${FILES[r & 7]}${r >>> 3}`;
/** File numbers by the prefix that `regName` prints. */
const FILE_OF = new Map<string, number>(FILES.map((name, file) => [name, file]));
/** The register that `regName` printed, or NO_REG if the text is not a register. */
export function regOf(text: string): Reg {
  let digits = text.length;
  for (; digits > 0; digits--) {
    const c = text.charCodeAt(digits - 1);
    if (c < 48 || c > 57) break;
  }
  if (digits === 0 || digits > 3 || digits === text.length) return NO_REG;
  const file = FILE_OF.get(text.slice(0, digits));
  return file === undefined ? NO_REG : makeReg(Number(text.slice(digits)), file);
}

/** Operand kinds. */
export const Kind = {
  /** A register. */
  Reg: 0,
  /** A constant of the slot's width; in a predicate slot 1 is PT and 0 is !PT. */
  Imm: 1,
  /** `c[bank][offset]` or `c[bank][R + offset]`: constant bank. `hi` is the bank, `lo` the byte offset. */
  CBank: 2,
  /** `[R + offset]`, `[symbol + offset]`, `[offset]`: a memory address. */
  Addr: 3,
  /** A block of the same function; `lo` is its id. */
  Label: 4,
  /** A symbol's address or a function's name; `lo` is a byte offset. */
  Sym: 5,
  /** A jump table of the same function; `lo` is its index in `Fn.tables`. */
  Table: 6,
  /** Text for the printer, held in `sym`. It reads nothing. */
  Text: 7,
} as const;

/** One source operand. All operands share this shape, so that reading one costs the same everywhere. */
export interface Operand {
  readonly kind: number;
  /** The register read (Reg, Addr, indexed CBank), else NO_REG. */
  readonly reg: Reg;
  /** Imm: low 32 bits as int32. Addr, CBank, Sym: byte offset (int32). Label: block id. Table: index. */
  readonly lo: number;
  /** Imm: high 32 bits as int32 (0 for widths up to 32). CBank: bank. */
  readonly hi: number;
  /** Addr, Sym: name of the symbol, '' for none. Text: the text. */
  readonly sym: string;
  /** `Mod` bits applied to the value read. */
  readonly mods: number;
}

/**
 * The same number, as a small integer of V8 if it fits 32 bits. V8 keeps an integer as a double if it came from a division
 * or from a field that held a fraction. One double in a field makes V8 box that field in all later objects.
 */
export const smallInt = (n: number): number => ((n | 0) === n ? n | 0 : n);

/** An operand from its fields. Operands are created here, so that all have one shape. */
export const makeOperand = (
  kind: number,
  reg: Reg,
  lo: number,
  hi: number,
  sym: string,
  mods: number,
): Operand => ({
  kind,
  reg,
  lo: smallInt(lo),
  hi: smallInt(hi),
  sym,
  mods,
});

/** Register operand with optional `Mod` bits. */
export const reg = (r: Reg, mods = 0): Operand => makeOperand(Kind.Reg, r, 0, 0, '', mods);
/** Constant of at most 32 bits; the value is taken modulo 2^32. */
export const imm = (value: number): Operand => makeOperand(Kind.Imm, NO_REG, value | 0, 0, '', 0);
/** Constant of 64 bits from two 32-bit halves. */
export const immPair = (lo: number, hi: number): Operand =>
  makeOperand(Kind.Imm, NO_REG, lo | 0, hi | 0, '', 0);
/** Constant of `width` bits from a BigInt (taken modulo 2^width). */
export function immOf(value: bigint, width: number): Operand {
  const v = BigInt.asUintN(width, value);
  return immPair(Number(BigInt.asIntN(32, v)), Number(BigInt.asIntN(32, v >> 32n)));
}
/** Value of a constant as an unsigned BigInt of `width` bits. */
export function immValue(o: Operand, width: number): bigint {
  const lo = BigInt(o.lo >>> 0);
  return BigInt.asUintN(width, width > 32 ? (BigInt(o.hi >>> 0) << 32n) | lo : lo);
}
/** Constant bank operand at a byte offset, with an optional index register. */
export const cbank = (bank: number, offset: number, index: Reg = NO_REG): Operand =>
  makeOperand(Kind.CBank, index, offset, bank, '', 0);
/** Address operand: register (or NO_REG) + symbol (or '') + byte offset. */
export const addr = (base: Reg, offset: number, sym = ''): Operand =>
  makeOperand(Kind.Addr, base, offset, 0, sym, 0);
/** Label operand for the block with this id. */
export const label = (block: number): Operand => makeOperand(Kind.Label, NO_REG, block, 0, '', 0);
/** Symbol operand with a byte offset. */
export const sym = (name: string, offset = 0): Operand => makeOperand(Kind.Sym, NO_REG, offset, 0, name, 0);
/** Jump table operand by the table's index in `Fn.tables`. */
export const table = (index: number): Operand => makeOperand(Kind.Table, NO_REG, index, 0, '', 0);
/** Text operand, for the printer. */
export const text = (words: string): Operand => makeOperand(Kind.Text, NO_REG, 0, 0, words, 0);
/** The constant predicate: PT (true) or !PT (false). */
export const PT: Operand = makeOperand(Kind.Imm, NO_REG, 1, 0, '', 0);
export const PF: Operand = makeOperand(Kind.Imm, NO_REG, 0, 0, '', 0);
/** Zero; printed `RZ` in register slots. */
export const RZ: Operand = makeOperand(Kind.Imm, NO_REG, 0, 0, '', 0);

/** The same operand with other `Mod` bits. */
export const withOperandMods = (o: Operand, mods: number): Operand =>
  o.mods === mods ? o : makeOperand(o.kind, o.reg, o.lo, o.hi, o.sym, mods);
/** The same operand with another register. */
export const withReg = (o: Operand, r: Reg): Operand =>
  o.reg === r ? o : makeOperand(o.kind, r, o.lo, o.hi, o.sym, o.mods);

/** Are all fields of two operands equal? */
export const sameOperand = (a: Operand, b: Operand): boolean =>
  a === b ||
  (a.kind === b.kind &&
    a.reg === b.reg &&
    a.lo === b.lo &&
    a.hi === b.hi &&
    a.sym === b.sym &&
    a.mods === b.mods);

/** Is it a constant whose bits are all zero? Modifiers are ignored. */
export const isZero = (o: Operand): boolean => o.kind === Kind.Imm && o.lo === 0 && o.hi === 0;
/** Is it the constant predicate true: PT, or !PF? */
export const isTrue = (o: Operand): boolean =>
  o.kind === Kind.Imm && ((o.lo & 1) ^ ((o.mods & Mod.Not) !== 0 ? 1 : 0)) === 1;
