/** Binary floating-point formats. All follow IEEE 754's layout: sign, biased exponent, significand without its leading bit. */
export interface FloatFormat {
  readonly name: FormatName;
  /** Number of bits of a value. */
  readonly bits: number;
  /** Explicit significand bits. */
  readonly mant: number;
  readonly bias: number;
  /** The pattern that operations return for every NaN. */
  readonly nan: bigint;
}

export type FormatName = 'f16' | 'bf16' | 'f32' | 'tf32' | 'f64';

/** Rounding: to nearest (ties to even), toward zero, down, up, to nearest (ties away). */
export const ROUNDINGS = ['RN', 'RZ', 'RM', 'RP', 'RNA'] as const;
export type Rounding = (typeof ROUNDINGS)[number];

/**
 * Canonical NaNs: f32 0x7fffffff and halves 0x7fff (PTX ISA 9.0, 9.7.3 and 9.7.4). For f64, PTX leaves sign and
 * payload open; here every f64 NaN result is 0xfff8000000000000, which the square-root and division code of ptxas
 * 13.0.88 returns for invalid operands. With a single pattern, the order of operands cannot affect a result. A tf32
 * value is an f32 whose low 13 bits are zero (a NaN keeps f32's pattern).
 */
export const FORMATS: Readonly<Record<FormatName, FloatFormat>> = {
  f16: { name: 'f16', bits: 16, mant: 10, bias: 15, nan: 0x7fffn },
  bf16: { name: 'bf16', bits: 16, mant: 7, bias: 127, nan: 0x7fffn },
  f32: { name: 'f32', bits: 32, mant: 23, bias: 127, nan: 0x7fffffffn },
  tf32: { name: 'tf32', bits: 32, mant: 10, bias: 127, nan: 0x7fffffffn },
  f64: { name: 'f64', bits: 64, mant: 52, bias: 1023, nan: 0xfff8000000000000n },
};

/** Element format of a packed pair, by the pair's type name. */
export const PACKED: Readonly<Record<string, FormatName>> = { f16x2: 'f16', bf16x2: 'bf16' };

/** Relations of float comparisons; those with U hold if an operand is NaN. */
export const RELATIONS = [
  'EQ',
  'NE',
  'LT',
  'LE',
  'GT',
  'GE',
  'EQU',
  'NEU',
  'LTU',
  'LEU',
  'GTU',
  'GEU',
  'NUM',
  'NAN',
] as const;
export type Relation = (typeof RELATIONS)[number];

/** Approximate functions. */
export const APPROXIMATIONS = [
  'RCP',
  'RSQ',
  'SIN',
  'COS',
  'LG2',
  'EX2',
  'SQRT',
  'TANH',
  'SIN_TURNS',
  'COS_TURNS',
] as const;
export type Approximation = (typeof APPROXIMATIONS)[number];
