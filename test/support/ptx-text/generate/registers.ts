import { isFloat, type Type } from '../values/types.ts';
import type { Random } from './random.ts';

/** Number of registers of each kind in a kernel. */
export const COUNTS = { h: 6, r: 10, d: 6, f: 6, g: 4, p: 6 } as const;
export type Kind = keyof typeof COUNTS;

/** The declared type of each kind, and the type of its contents in memory. */
export const DECLARED: Readonly<Record<Kind, { readonly declared: string; readonly stored: string }>> = {
  h: { declared: 'b16', stored: 'b16' },
  r: { declared: 'b32', stored: 'b32' },
  d: { declared: 'b64', stored: 'b64' },
  f: { declared: 'f32', stored: 'f32' },
  g: { declared: 'f64', stored: 'f64' },
  p: { declared: 'pred', stored: 'pred' },
};

/** The kinds of registers that may hold a type: floats may be in typed and untyped registers, integers only in untyped ones. */
function kindsOf(t: Type): readonly Kind[] {
  if (t.kind === 'predicate') return ['p'];
  if (t.width === 16) return ['h'];
  if (t.width === 32)
    return t.name === 'f32' ? ['f', 'f', 'r'] : t.kind === 'bits' ? ['r', 'r', 'r', 'f'] : ['r'];
  if (t.width === 64)
    return t.name === 'f64' ? ['g', 'g', 'd'] : t.kind === 'bits' ? ['d', 'd', 'd', 'g'] : ['d'];
  throw new Error(`no register for .${t.name}`);
}

/** A random register that may hold a type. */
export function register(random: Random, t: Type): string {
  const kind = random.pick(
    t.kind === 'packed' ? (t.width === 64 ? (['d'] as const) : (['r'] as const)) : kindsOf(t),
  );
  return `%${kind}${random.register(COUNTS[kind])}`;
}

/** A random register at least as wide as a type, for instructions that allow wider ones. */
export function wideRegister(random: Random, t: Type): string {
  const kinds: Kind[] = [];
  if (t.width <= 16) kinds.push('h');
  if (t.width <= 32) kinds.push('r', 'r');
  kinds.push('d');
  if (isFloat(t)) return register(random, t);
  const kind = random.pick(kinds);
  return `%${kind}${random.register(COUNTS[kind])}`;
}

/** Registers besides the random ones: addresses, temporaries, masks, counters. */
export const OTHERS = `.reg .b64 %in, %out, %log, %scratch, %common, %gs, %gl, %gc, %u<4>;
.reg .b32 %thread, %lane, %x, %y, %sh, %t<6>, %m<12>, %i<6>, %n<6>;
.reg .b16 %v<2>;
.reg .pred %q<12>, %c<6>;`;
