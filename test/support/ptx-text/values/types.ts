import { BF16, E4M3, E5M2, F16, F32, F64, type Format } from './floats.ts';

/** How the bits of an operand are interpreted. A packed value has two elements of the same width, the first in its low half. */
export interface Type {
  readonly name: string;
  readonly kind: 'signed' | 'unsigned' | 'bits' | 'float' | 'packed' | 'predicate' | 'carry';
  /** Bits. */
  readonly width: number;
  /** The format of floats, and of the elements of packed floats. */
  readonly format?: Format;
  /** For packed integers, whether the elements are signed. */
  readonly signed?: boolean;
}

const list: Type[] = [];
for (const width of [8, 16, 32, 64]) {
  list.push({ name: `s${width}`, kind: 'signed', width });
  list.push({ name: `u${width}`, kind: 'unsigned', width });
  list.push({ name: `b${width}`, kind: 'bits', width });
}
list.push(
  { name: 'b128', kind: 'bits', width: 128 },
  { name: 'pred', kind: 'predicate', width: 1 },
  { name: 'f16', kind: 'float', width: 16, format: F16 },
  { name: 'bf16', kind: 'float', width: 16, format: BF16 },
  { name: 'f32', kind: 'float', width: 32, format: F32 },
  { name: 'f64', kind: 'float', width: 64, format: F64 },
  { name: 'f16x2', kind: 'packed', width: 32, format: F16 },
  { name: 'bf16x2', kind: 'packed', width: 32, format: BF16 },
  { name: 'f32x2', kind: 'packed', width: 64, format: F32 },
  { name: 'e4m3x2', kind: 'packed', width: 16, format: E4M3 },
  { name: 'e5m2x2', kind: 'packed', width: 16, format: E5M2 },
  { name: 's16x2', kind: 'packed', width: 32, signed: true },
  { name: 'u16x2', kind: 'packed', width: 32, signed: false },
);

/** The types of PTX by name, without the dot. */
export const TYPES: ReadonlyMap<string, Type> = new Map(list.map((t) => [t.name, t]));

/** The type with this name, which must exist. */
export const type = (name: string): Type => TYPES.get(name)!;

export const PREDICATE = type('pred');
export const B32 = type('b32');
export const U32 = type('u32');
export const S32 = type('s32');
export const B64 = type('b64');

/** The condition code CC.CF, an implicit operand of extended-precision instructions (PTX ISA, 9.7.2). */
export const CARRY: Type = { name: 'CC.CF', kind: 'carry', width: 1 };

/** Whether the type is a floating-point type, scalar or packed. */
export const isFloat = (t: Type): boolean => t.format !== undefined;

/** The unsigned type as wide as `t`. */
export const unsignedOf = (t: Type): Type => type(`u${t.width}`);
/** The untyped type (`b32` and so on) of the same width. */
export const bitsOf = (t: Type): Type => type(`b${t.width}`);
/** The integer type of the same signedness and twice the width. */
export const twice = (t: Type): Type => type(`${t.name[0]}${2 * t.width}`);

/** Largest and smallest number of an integer type. */
export const largest = (t: Type): bigint =>
  t.kind === 'signed' ? (1n << BigInt(t.width - 1)) - 1n : (1n << BigInt(t.width)) - 1n;
export const smallest = (t: Type): bigint => (t.kind === 'signed' ? -(1n << BigInt(t.width - 1)) : 0n);

/** `x`, clamped to the range of an integer type. */
export const clamp = (t: Type, x: bigint): bigint =>
  x > largest(t) ? largest(t) : x < smallest(t) ? smallest(t) : x;

/** The number that bits represent, signed or unsigned by the type; for floats, the bits themselves. */
export const numberOf = (t: Type, bits: bigint): bigint =>
  t.kind === 'signed' ? BigInt.asIntN(t.width, bits) : BigInt.asUintN(t.width, bits);

/** The bits that represent a number in a type, modulo its width. */
export const bitsOfNumber = (t: Type, x: bigint): bigint => BigInt.asUintN(t.width, x);
