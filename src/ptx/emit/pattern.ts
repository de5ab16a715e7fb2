import { Mod } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg } from '../../ir/operand.ts';

/** The requirement of one item of a row's `src` or `dst` on an operand. */
export type Pattern =
  /** Anything other than a carry in CC.CF. */
  | { readonly kind: 'any' }
  /** An operand with exactly these modifiers. */
  | { readonly kind: 'mods'; readonly mods: number }
  /** This constant, unmodified. */
  | { readonly kind: 'number'; readonly lo: number; readonly hi: number }
  | { readonly kind: 'pred'; readonly value: boolean }
  /** The carry in CC.CF. */
  | { readonly kind: 'carry' }
  | { readonly kind: 'bank' }
  | { readonly kind: 'register' }
  | { readonly kind: 'discarded' };

/** Parses a list of patterns such as `a, -b, 0`. */
export const parsePatterns = (text: string): Pattern[] => text.split(',').map((s) => parsePattern(s.trim()));

function parsePattern(s: string): Pattern {
  if (s === '_') return { kind: 'discarded' };
  if (s === 'PT' || s === 'PF') return { kind: 'pred', value: s === 'PT' };
  if (s === 'CC') return { kind: 'carry' };
  if (/^\w+:bank$/.test(s)) return { kind: 'bank' };
  if (/^\w+:reg$/.test(s)) return { kind: 'register' };
  if (/^\d/.test(s)) {
    const v = BigInt(s);
    return { kind: 'number', lo: Number(BigInt.asIntN(32, v)), hi: Number(BigInt.asIntN(32, v >> 32n)) };
  }
  switch (s[0]) {
    case '-':
      return { kind: 'mods', mods: Mod.Neg };
    case '|':
      return { kind: 'mods', mods: Mod.Abs };
    case '~':
    case '!':
      return { kind: 'mods', mods: Mod.Not };
  }
  return { kind: 'any' };
}

/** Modifiers that the row itself expresses, so that the operand is written without them: `sub` already negates its source. */
export const takes = (p: Pattern | undefined): number => (p?.kind === 'mods' ? p.mods : 0);

/** Does a source match a pattern? @param carry whether the operand is the carry in CC.CF */
export function fitsSource(p: Pattern | undefined, o: Operand, carry: boolean): boolean {
  if (p?.kind === 'carry') return carry;
  if (p === undefined) return true;
  switch (p.kind) {
    case 'any':
      return !carry;
    case 'mods':
      return o.mods === p.mods;
    case 'number':
      return o.kind === Kind.Imm && o.mods === 0 && o.lo === p.lo && o.hi === p.hi;
    case 'pred':
      return o.kind === Kind.Imm && (((o.lo & 1) === 1) !== ((o.mods & Mod.Not) !== 0)) === p.value;
    case 'bank':
      return o.kind === Kind.CBank;
    case 'register':
      return o.kind === Kind.Reg && !carry;
    case 'discarded':
      return false;
  }
}

/** Does a destination match a pattern? @param carry whether the result stays in CC.CF */
export function fitsDestination(p: Pattern | undefined, r: Reg, carry: boolean): boolean {
  if (p?.kind === 'carry') return carry;
  if (p?.kind === 'discarded') return r === NO_REG;
  return p === undefined || (!carry && r !== NO_REG);
}
