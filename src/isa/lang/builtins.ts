import type { Builtin } from './builtin.ts';
import { CONVERSIONS } from './builtins-convert.ts';
import { FLOATS } from './builtins-float.ts';
import { INTEGERS } from './builtins-integer.ts';
import { WIDTHS } from './builtins-width.ts';

/** The functions of the meaning language, by name. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ...WIDTHS,
  ...INTEGERS,
  ...FLOATS,
  ...CONVERSIONS,
]);
