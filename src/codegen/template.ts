import { Mod } from '../ir/operand.ts';
import { TextError } from '../ir/text-error.ts';

/*
 * Parser for the machine instructions of pipelines/selection: `ISETP.{cmp}.{type}.{bool} d=$d q=$q a=$a b=$b p=$c`. README.md there
 * describes the notation.
 */

/** Half or whole of a value of 64 bits. */
export type Part = 'all' | 'lo' | 'hi';

/** The value of an operand in a template. */
export type TemplateValue =
  /** An operand of the Ori instruction. */
  | { readonly kind: 'slot'; readonly name: string; readonly part: Part; readonly mods: number }
  /** A register that only these instructions use. */
  | {
      readonly kind: 'temporary';
      readonly name: string;
      readonly words: number;
      readonly part: Part;
      readonly mods: number;
    }
  /** RZ, PT, or the zero of another file. */
  | { readonly kind: 'constant'; readonly file: string; readonly mods: number }
  | { readonly kind: 'number'; readonly value: number; readonly mods: number }
  /** A word that the driver writes to constant bank 0, and an offset from it. */
  | { readonly kind: 'driver'; readonly name: string; readonly offset: number; readonly mods: number }
  /** The name of a field's value. */
  | { readonly kind: 'word'; readonly name: string; readonly group: string | null };

/** A machine instruction of a template. */
export interface Template {
  /** Parts of the name; those in braces name a modifier group of the Ori instruction. */
  readonly name: readonly { readonly text: string; readonly isGroup: boolean }[];
  readonly values: readonly { readonly key: string; readonly value: TemplateValue }[];
  readonly text: string;
}

const SIGNS: readonly [RegExp, number][] = [
  [/^-/, Mod.Neg],
  [/^[!~]/, Mod.Not],
];

const partOf = (text: string | undefined): Part => (text === 'lo' || text === 'hi' ? text : 'all');

function templateValue(whole: string): TemplateValue {
  let text = whole;
  let mods = 0;
  for (const [sign, mod] of SIGNS)
    if (sign.test(text) && !/^-\d/.test(text)) {
      mods |= mod;
      text = text.slice(1);
    }
  const absolute = /^\|(.*)\|$/.exec(text);
  if (absolute !== null) {
    mods |= Mod.Abs;
    text = absolute[1];
  }
  const slot = /^\$(\w+?)(?:\.(lo|hi))?$/.exec(text);
  if (slot !== null) return { kind: 'slot', name: slot[1], part: partOf(slot[2]), mods };
  const temporary = /^%(\w+)(?::(\d))?(?:\.(lo|hi))?$/.exec(text);
  if (temporary !== null) {
    const [, name, words = '1', part] = temporary;
    return { kind: 'temporary', name, words: Number(words), part: partOf(part), mods };
  }
  const constant = /^(U?)(RZ|PT)$/.exec(text);
  if (constant !== null) return { kind: 'constant', file: constant[1] + constant[2][0], mods };
  if (/^-?(\d+|0x[0-9a-f]+)$/.test(text)) return { kind: 'number', value: Number(text) | 0, mods };
  const driver = /^c\[0\]\[([a-z-]+)\+(\d+)\]$/.exec(text);
  if (driver !== null) return { kind: 'driver', name: driver[1], offset: Number(driver[2]), mods };
  const word = /^([A-Z][A-Za-z0-9_.]*)(?:\{(\w+)\})?$/.exec(text);
  if (word !== null) return { kind: 'word', name: word[1], group: word[2] ?? null };
  throw new TextError(`'${whole}' is no value of a machine instruction`);
}

/** Parses a machine instruction of a template. @throws TextError */
export function parseTemplate(text: string): Template {
  const [head, ...rest] = text.split(' ');
  const name = head.split('.').map((part) => {
    const group = /^\{(\w+)\}$/.exec(part);
    if (group === null && !/^[A-Za-z0-9_]+$/.test(part))
      throw new TextError(`'${part}' is no part of a machine instruction's name`);
    return { text: group?.[1] ?? part, isGroup: group !== null };
  });
  const values = rest.map((one) => {
    const at = one.indexOf('=');
    if (at <= 0) throw new TextError(`'${one}' is not an operand, as in d=$d`);
    return { key: one.slice(0, at), value: templateValue(one.slice(at + 1)) };
  });
  return { name, values, text };
}
