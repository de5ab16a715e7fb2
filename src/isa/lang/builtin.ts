import { didYouMean } from '../../ir/diagnostic.ts';
import { TextError } from '../../ir/text-error.ts';
import { FORMATS, type FormatName, PACKED, ROUNDINGS, type Rounding } from '../formats.ts';
import type { Expr } from './parse.ts';
import type { FloatType, Scope, Value } from './values.ts';

/** A function of the meaning language. */
export interface Builtin {
  /** Parameter names, for messages. */
  readonly names: readonly string[];
  /** Least number of arguments; the others are optional. */
  readonly least: number;
  /** Builds the value of a call at offset `at`; `want` is the width that the context expects, if known. @throws TextError */
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

/** The value of an argument that must be a static number. @throws TextError otherwise */
export function staticInt(s: Scope, e: Expr): number {
  const v = s.eval(e, null);
  if (v.k !== 'int') throw new TextError('expected a number known from the modifiers', e.at);
  return Number(v.value);
}

/** The truth of an optional static argument; false if it is missing. */
export const flag = (s: Scope, e: Expr | undefined): boolean =>
  e !== undefined && s.truth(s.eval(e, 1), e.at);

/** An argument that must be one of the allowed names. @throws TextError otherwise */
export function word(s: Scope, e: Expr, allowed: readonly string[]): string {
  const v = s.eval(e, null);
  if (v.k !== 'name' || !allowed.includes(v.name))
    throw new TextError(
      `expected one of ${allowed.join(', ')}`,
      e.at,
      1,
      v.k === 'name' ? didYouMean(v.name, allowed) : [],
    );
  return v.name;
}

/**
 * A rounding mode. CONTRACT rounds to nearest; it also permits fusing two operations, which is a separate rewrite that changes the result.
 */
export function rounding(s: Scope, e: Expr): Rounding {
  const mode = word(s, e, [...ROUNDINGS, 'CONTRACT']) as Rounding | 'CONTRACT';
  return mode === 'CONTRACT' ? 'RN' : mode;
}

/** The name of a scalar type: that of a modifier group's value, or one given by its upper-case name. */
export function scalarType(s: Scope, e: Expr): string {
  const v = s.eval(e, null);
  if (v.k !== 'name') throw new TextError('expected a type', e.at);
  return v.type ?? v.name.toLowerCase();
}

/** An argument that must be a float type, scalar or packed. @throws TextError otherwise */
export function floatType(s: Scope, e: Expr): FloatType {
  const t = scalarType(s, e);
  if (Object.hasOwn(PACKED, t)) return { element: PACKED[t], packed: true };
  if (Object.hasOwn(FORMATS, t)) return { element: t as FormatName, packed: false };
  throw new TextError(
    `'${t}' is not a float type`,
    e.at,
    1,
    didYouMean(t, [...Object.keys(FORMATS), ...Object.keys(PACKED)]),
  );
}

/** The bits of a scalar type, by its name. @throws TextError for other names */
export function typeBits(s: Scope, e: Expr): number {
  const t = scalarType(s, e);
  const m = /^[a-z]+(\d+)/.exec(t);
  if (m === null) throw new TextError(`'${t}' is not a type`, e.at);
  return Number(m[1]);
}

/** Is the argument a signed integer type? */
export const isSigned = (s: Scope, e: Expr): boolean => scalarType(s, e).startsWith('s');

/** The node of an argument; a static one becomes a constant of `want` bits. */
export const node = (s: Scope, e: Expr, want: number | null): number => s.bits(s.eval(e, want), want, e.at);

/** Checks a width: graphs have values of 1 to 32 bits, or 64. @throws TextError for other widths */
export function width(w: number, at: number): number {
  if (!(w >= 1 && w <= 32) && w !== 64) throw new TextError(`${w} bits: widths are 1 to 32, and 64`, at);
  return w;
}
