import type { PtxInstr } from '../ast.ts';

/** The meaning of a PTX type suffix. */
export interface PtxType {
  readonly name: string;
  /** Bits of a value; 32 for pairs of halves. */
  readonly bits: number;
  readonly kind: 'signed' | 'unsigned' | 'bits' | 'float' | 'half' | 'pred' | 'other';
}

const make = (name: string, bits: number, kind: PtxType['kind']): [string, PtxType] => [
  name,
  { name, bits, kind },
];

/** PTX types by name. */
export const TYPES: ReadonlyMap<string, PtxType> = new Map([
  ...[8, 16, 32, 64].flatMap((n) => [
    make(`u${n}`, n, 'unsigned'),
    make(`s${n}`, n, 'signed'),
    make(`b${n}`, n, 'bits'),
  ]),
  make('b128', 128, 'bits'),
  make('f32', 32, 'float'),
  make('f64', 64, 'float'),
  make('f16', 16, 'half'),
  make('bf16', 16, 'half'),
  make('f32x2', 64, 'other'),
  make('f16x2', 32, 'half'),
  make('bf16x2', 32, 'half'),
  make('tf32', 32, 'other'),
  make('u16x2', 32, 'other'),
  make('s16x2', 32, 'other'),
  make('pred', 1, 'pred'),
]);

/** Does an instruction have a modifier? The name is without the dot. */
export const has = (i: PtxInstr, modifier: string): boolean => i.mods.includes(modifier);

/** The last type among an instruction's modifiers; null if there is none. */
export function lastType(mods: readonly string[]): PtxType | null {
  for (let i = mods.length - 1; i >= 0; i--) {
    const t = TYPES.get(mods[i]);
    if (t !== undefined) return t;
  }
  return null;
}

/** All types among the modifiers, in order. */
export const typesOf = (mods: readonly string[]): PtxType[] =>
  mods.map((m) => TYPES.get(m)).filter((t): t is PtxType => t !== undefined);

/** A key that is equal for equal modifiers: types in their order, then the others sorted, since their order is free. */
export function modifierKey(mods: readonly string[]): string {
  const types = mods.filter((m) => TYPES.has(m));
  const others = mods.filter((m) => !TYPES.has(m)).sort();
  return `${others.join('.')} ${types.join('.')}`;
}

/** The integer modifier of an Ori opcode for a PTX type, such as `S32` or `U64`; at least 32 bits. Bit types count as unsigned. */
export const intMod = (t: PtxType): string => `${t.kind === 'signed' ? 'S' : 'U'}${Math.max(32, t.bits)}`;
/** The `size` modifier of an Ori opcode for a width in bits. */
export const sizeMod = (bits: number): string => (bits === 64 ? '64' : 'B32');
