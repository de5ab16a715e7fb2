import { didYouMean } from '../../ir/diagnostic.ts';
import { FORMATS, type FormatName, PACKED, ROUNDINGS, type Rounding } from '../formats.ts';
import { type Expr, MeaningError } from './parse.ts';
import type { FloatType, Scope, Value } from './values.ts';

/** A function of the meaning language. */
export interface Builtin {
  /** Parameter names, for messages. */
  readonly names: readonly string[];
  /** Least number of arguments; the others are optional. */
  readonly least: number;
  readonly make: (s: Scope, args: readonly Expr[], want: number | null, at: number) => Value;
}

/** Returns a function that adds builtins to `table`; their `signature` is `name(a, b, c?)`. */
export const definer =
  (table: Map<string, Builtin>) =>
  (signature: string, make: Builtin['make']): void => {
    const [, name, params] = /^(\w+)\((.*)\)$/.exec(signature)!;
    const names = params.split(', ');
    table.set(name, { names, least: names.filter((p) => !p.endsWith('?')).length, make });
  };

// ---------------------------------------------------------------------- arguments

export function staticInt(s: Scope, e: Expr): number {
  const v = s.eval(e, null);
  if (v.k !== 'int') throw new MeaningError(e.at, 'expected a number known from the modifiers');
  return Number(v.value);
}

export const flag = (s: Scope, e: Expr | undefined): boolean =>
  e !== undefined && s.truth(s.eval(e, 1), e.at);

export function word(s: Scope, e: Expr, allowed: readonly string[]): string {
  const v = s.eval(e, null);
  if (v.k !== 'name' || !allowed.includes(v.name))
    throw new MeaningError(
      e.at,
      `expected one of ${allowed.join(', ')}`,
      v.k === 'name' ? didYouMean(v.name, allowed) : [],
    );
  return v.name;
}

/**
 * A rounding mode. CONTRACT rounds to nearest. It permits fusing two operations, but fusing is a separate rewrite
 * that may change the result.
 */
export function rounding(s: Scope, e: Expr): Rounding {
  const mode = word(s, e, [...ROUNDINGS, 'CONTRACT']) as Rounding | 'CONTRACT';
  return mode === 'CONTRACT' ? 'RN' : mode;
}

/** Scalar type of a modifier group's value, or a type by its upper-case name. */
export function scalarType(s: Scope, e: Expr): string {
  const v = s.eval(e, null);
  if (v.k !== 'name') throw new MeaningError(e.at, 'expected a type');
  return v.type ?? v.name.toLowerCase();
}

export function floatType(s: Scope, e: Expr): FloatType {
  const t = scalarType(s, e);
  if (Object.hasOwn(PACKED, t)) return { element: PACKED[t], packed: true };
  if (Object.hasOwn(FORMATS, t)) return { element: t as FormatName, packed: false };
  throw new MeaningError(
    e.at,
    `'${t}' is not a float type`,
    didYouMean(t, [...Object.keys(FORMATS), ...Object.keys(PACKED)]),
  );
}

export function typeBits(s: Scope, e: Expr): number {
  const t = scalarType(s, e);
  const m = /^[a-z]+(\d+)/.exec(t);
  if (m === null) throw new MeaningError(e.at, `'${t}' is not a type`);
  return Number(m[1]);
}

export const isSigned = (s: Scope, e: Expr): boolean => scalarType(s, e).startsWith('s');

export const node = (s: Scope, e: Expr, want: number | null): number => s.bits(s.eval(e, want), want, e.at);

/** Checks a width: graphs have vectors of 1 to 32 bits, or 64. */
export function width(w: number, at: number): number {
  if (!(w >= 1 && w <= 32) && w !== 64) throw new MeaningError(at, `${w} bits: widths are 1 to 32, and 64`);
  return w;
}
