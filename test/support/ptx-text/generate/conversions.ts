import { isFloat, TYPES, type Type, type } from '../values/types.ts';
import type { Random } from './random.ts';
import { register, wideRegister } from './registers.ts';

const INTEGERS = ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'];
const FLOATS = ['f16', 'bf16', 'f32', 'f64'];

const range = (t: Type): readonly [number, number] =>
  t.kind === 'signed' ? [-(2 ** (t.width - 1)), 2 ** (t.width - 1) - 1] : [0, 2 ** t.width - 1];

/** Whether `a` has values that `d` cannot represent. */
const mayOverflow = (d: Type, a: Type): boolean => range(a)[0] < range(d)[0] || range(a)[1] > range(d)[1];

/** Whether `d` represents every value of `a`. */
const widens = (d: Type, a: Type): boolean =>
  d.format!.exponentBits >= a.format!.exponentBits && d.format!.fractionBits >= a.format!.fractionBits;

const FLOAT_ROUNDING = ['.rn', '.rz', '.rm', '.rp'];
const INTEGER_ROUNDING = ['.rni', '.rzi', '.rmi', '.rpi'];

/** All concatenations of one word of each list. */
const combined = (...lists: readonly (readonly string[])[]): string[] =>
  lists.reduce<string[]>((all, list) => all.flatMap((a) => list.map((b) => a + b)), ['']);

const SAT = ['', '.sat'];

/** The modifiers that a conversion may have. */
function modifiers(d: Type, a: Type, sm: number): string[] {
  // For bf16 to f32, ptxas 13.0.88 accepts .ftz on sm_90 and later.
  const flushes = d.name === 'f32' ? a.name !== 'bf16' || sm >= 90 : a.name === 'f32';
  const ftz = flushes ? ['', '.ftz'] : [''];
  if (!isFloat(d) && !isFloat(a)) return mayOverflow(d, a) ? SAT : [''];
  const sat = d.name === 'bf16' || a.name === 'bf16' ? [''] : SAT;
  if (!isFloat(d)) return combined(INTEGER_ROUNDING, ftz, sat);
  if (!isFloat(a)) return combined(FLOAT_ROUNDING, sat);
  if (d === a) return combined(INTEGER_ROUNDING, ftz, sat);
  return combined(widens(d, a) ? [''] : FLOAT_ROUNDING, ftz, sat);
}

/**
 * Conversions between bf16 and anything except f32 need sm_90; f32 to bf16 rounds to nearest or toward zero; with bf16, ptxas 13.0.88
 * accepts neither 8-bit types nor .sat.
 */
const fits = (d: Type, a: Type, sm: number): boolean => {
  if (d.name !== 'bf16' && a.name !== 'bf16') return true;
  if (sm < 80 || d === a) return sm >= 90;
  const other = d.name === 'bf16' ? a : d;
  if (other.width === 8) return false;
  return other.name === 'f32' ? d.name === 'f32' || sm >= 90 : sm >= 90;
};

/** Pairs of types, result and operand, between which a target converts. */
const pairs = (sm: number): (readonly [Type, Type])[] => {
  const all = [...INTEGERS, ...FLOATS].map(type);
  return all.flatMap((d) =>
    all.filter((a) => fits(d, a, sm) && (d !== a || isFloat(d))).map((a) => [d, a] as const),
  );
};

/** A conversion between two scalar types, with these modifiers. */
function between(random: Random, d: Type, a: Type, words: string): string {
  // Integers may be in wider registers, but not in conversions from or to bf16 (ptxas 13.0.88).
  const exact = d.name === 'bf16' || a.name === 'bf16';
  const holder = (t: Type): string => (exact || isFloat(t) ? register(random, t) : wideRegister(random, t));
  const [to, from] = [holder(d), holder(a)];
  return `cvt${words}.${d.name}.${a.name} ${to}, ${from}`;
}

function simple(random: Random, sm: number): string {
  const [d, a] = random.pick(pairs(sm));
  return between(random, d, a, random.pick(modifiers(d, a, sm)));
}

const PACKED: readonly {
  readonly text: string;
  readonly d: string;
  readonly a: readonly string[];
  readonly sm: number;
}[] = [
  { text: 'cvt.rn.f16x2.f32', d: 'f16x2', a: ['f32', 'f32'], sm: 80 },
  { text: 'cvt.rz.f16x2.f32', d: 'f16x2', a: ['f32', 'f32'], sm: 80 },
  { text: 'cvt.rn.relu.f16x2.f32', d: 'f16x2', a: ['f32', 'f32'], sm: 80 },
  { text: 'cvt.rn.bf16x2.f32', d: 'bf16x2', a: ['f32', 'f32'], sm: 80 },
  { text: 'cvt.rz.relu.bf16x2.f32', d: 'bf16x2', a: ['f32', 'f32'], sm: 80 },
  { text: 'cvt.rn.bf16.f32', d: 'bf16', a: ['f32'], sm: 80 },
  { text: 'cvt.rz.bf16.f32', d: 'bf16', a: ['f32'], sm: 80 },
  { text: 'cvt.rn.relu.f16.f32', d: 'f16', a: ['f32'], sm: 80 },
  { text: 'cvt.rz.satfinite.f16.f32', d: 'f16', a: ['f32'], sm: 80 },
  { text: 'cvt.rn.satfinite.bf16x2.f32', d: 'bf16x2', a: ['f32', 'f32'], sm: 80 },
  { text: 'cvt.rn.satfinite.e4m3x2.f32', d: 'b16', a: ['f32', 'f32'], sm: 89 },
  { text: 'cvt.rn.satfinite.relu.e5m2x2.f32', d: 'b16', a: ['f32', 'f32'], sm: 89 },
  { text: 'cvt.rn.satfinite.e5m2x2.f16x2', d: 'b16', a: ['f16x2'], sm: 89 },
  { text: 'cvt.rn.f16x2.e4m3x2', d: 'f16x2', a: ['b16'], sm: 89 },
  { text: 'cvt.rn.relu.f16x2.e5m2x2', d: 'f16x2', a: ['b16'], sm: 89 },
];

const packed = (random: Random, f: (typeof PACKED)[number]): string =>
  `${f.text} ${[f.d, ...f.a].map((t) => register(random, TYPES.get(t)!)).join(', ')}`;

/** A conversion, without its semicolon. */
export function conversion(random: Random, sm: number): string {
  const forms = PACKED.filter((f) => f.sm <= sm);
  return forms.length > 0 && random.chance(0.2) ? packed(random, random.pick(forms)) : simple(random, sm);
}

/** Every conversion of a target, with each of its modifiers. */
export const everyConversion = (random: Random, sm: number): string[] => [
  ...pairs(sm).flatMap(([d, a]) => modifiers(d, a, sm).map((words) => between(random, d, a, words))),
  ...PACKED.filter((f) => f.sm <= sm).map((f) => packed(random, f)),
];
