import { TextError } from '../ir/text-error.ts';
import type { Place } from './word.ts';

/*
 * Parser for the language of pipelines/machine, in which rows say where operands are encoded and how they are printed; README.md there
 * describes it.
 */

/** Kinds of atoms: register files, numbers, floats, addresses, sets; `$name` gives an enumeration. */
export type Kind =
  | 'R'
  | 'UR'
  | 'P'
  | 'UP'
  | 'B'
  | 'SB'
  | 'u'
  | 's'
  | 'd'
  | 'f64'
  | 'f32'
  | 'f16'
  | 'bf16'
  | 'pc'
  | 'set'
  | 'enum';

/** A parsed condition: `X`, `!X`, `cmp=F` or `cmp!=F`, joined by `|` or by `&`. */
export interface ConditionText {
  readonly any: boolean;
  readonly tests: readonly { readonly field: string; readonly value: string | null; readonly not: boolean }[];
}

/** A bit that modifies how an operand is interpreted. */
export interface SignText {
  readonly sign: '-' | '|' | '~' | '!';
  readonly at: number;
  /** Name of a field that turns `-` into `~` when set. */
  readonly invertIf?: string;
}

/** A parsed suffix of an operand. */
export interface SuffixText {
  /** Name of a field whose value is printed, or fixed text. */
  readonly field?: string;
  readonly text?: string;
  readonly when?: ConditionText;
}

/** A parsed part of an operand: a register, a number or a name. */
export interface AtomText {
  readonly kind: Kind;
  /** Name of the value list of an enumeration. */
  readonly values?: string;
  /** Empty for fixed text. */
  readonly place: Place;
  readonly scale: number;
  /** True if the bits are complemented. */
  readonly inverted: boolean;
  readonly signs: readonly SignText[];
  readonly suffixes: readonly SuffixText[];
}

/** A parsed summand of an address. */
export interface TermText {
  readonly atom: AtomText;
  readonly when?: ConditionText;
}

/** A parsed operand. */
export interface OperandText {
  readonly name: string;
  /** Preceded by a blank instead of a comma in the vendor's text. */
  readonly glued: boolean;
  /** Bit of the reuse mask, if the layout gives it. */
  readonly reuse?: number;
  /** Name of the slot, if a layout places the operand. */
  readonly slot?: string;
  /** Fixed text, such as `PR`. */
  readonly literal?: string;
  readonly atom?: AtomText;
  /** For an address: its summands and, before them or alone, a constant bank or a descriptor with its own brackets. */
  readonly prefix?: { readonly word: string; readonly term: TermText };
  readonly terms?: readonly TermText[];
  readonly signs: readonly SignText[];
  readonly suffixes: readonly SuffixText[];
  readonly when?: ConditionText;
  /** Value of the operand's bits if `when` does not hold. */
  readonly otherwise?: string;
  /** The vendor's text omits the operand if it has this value. */
  readonly hidden?: string;
}

/** Splits a text at the separators outside of brackets. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let k = 0; k < text.length; k++) {
    if ('[{'.includes(text[k])) depth++;
    else if (']}'.includes(text[k])) depth--;
    else if (depth === 0 && text.startsWith(separator, k)) {
      parts.push(text.slice(from, k));
      from = k + separator.length;
    }
  }
  return [...parts, text.slice(from)].map((p) => p.trim());
}

/** Parses bit ranges such as `16+8`, `73` and `76/80`, least significant first. @throws TextError */
export function parsePlace(text: string, lengthOfKind?: number): Place {
  return text.split('/').map((part) => {
    const m = /^(\d+)(?:\+(\d+))?$/.exec(part);
    if (m === null) throw new TextError(`'${text}' is not a place in a word: expected 24, 40+14 or 76/80`);
    const at = Number(m[1]);
    const length = m[2] === undefined ? (lengthOfKind ?? 1) : Number(m[2]);
    if (length < 1 || at + length > 128)
      throw new TextError(`'${text}' is not within the 128 bits of a word`);
    return { at, length };
  });
}

/** Parses a condition. @throws TextError */
export function parseCondition(text: string): ConditionText {
  const any = text.includes('|');
  const tests = text.split(any ? '|' : '&').map((t) => {
    const m = /^\s*(!?)([\w.]+)(?:(!?=)(\S+))?\s*$/.exec(t);
    if (m === null) throw new TextError(`'${text}' is not a condition: expected X, !X, cmp=F or cmp!=F`);
    return { field: m[2], value: m[4] ?? null, not: m[1] === '!' || m[3] === '!=' };
  });
  return { any, tests };
}

const KINDS: ReadonlySet<string> = new Set<Kind>([
  'R',
  'UR',
  'P',
  'UP',
  'B',
  'SB',
  'u',
  's',
  'd',
  'f64',
  'f32',
  'f16',
  'bf16',
  'pc',
  'set',
]);

/**
 * Parses an atom such as `R24 -72 |73 .{half}`.
 *
 * @param bitsOf bits of a register number of a file
 * @throws TextError
 */
function parseAtom(text: string, bitsOf: (file: string) => number | undefined): AtomText {
  const m = /^(?:([A-Z]+|[usd]|pc|set)|(b?f\d+)@|\$(\w+)@)(\d[\d+/]*)(?:\*(\d+))?(\^?)(.*)$/s.exec(text);
  if (m === null || (m[1] !== undefined && !KINDS.has(m[1])))
    throw new TextError(
      `'${text}' is not an operand: expected R24, u32+32, f32@32+32, $name@61+3 and the like`,
    );
  const [, file, float, list, place, scale, turned, marks] = m;
  return {
    kind: (file ?? float ?? 'enum') as Kind,
    ...(list !== undefined && { values: list }),
    place: parsePlace(place, file === undefined ? undefined : bitsOf(file)),
    scale: Number(scale ?? 1),
    inverted: turned === '^',
    ...parseMarks(marks),
  };
}

/** Parses the signs and suffixes after an atom. */
function parseMarks(text: string): { signs: SignText[]; suffixes: SuffixText[] } {
  const signs: SignText[] = [];
  const suffixes: SuffixText[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const sign = /^([-|~!])(\d+)(?:~(\w+))?(?=\s|$)/.exec(rest);
    const suffix = /^\.(?:\{(\w+)\}|([\w.]+?))(?:\(([^)]+)\))?(?=\s|$)/.exec(rest);
    if (sign !== null)
      signs.push({
        sign: sign[1] as SignText['sign'],
        at: Number(sign[2]),
        ...(sign[3] !== undefined && { invertIf: sign[3] }),
      });
    else if (suffix !== null)
      suffixes.push({
        ...(suffix[1] !== undefined ? { field: suffix[1] } : { text: suffix[2] }),
        ...(suffix[3] !== undefined && { when: parseCondition(suffix[3]) }),
      });
    else throw new TextError(`'${rest}' is neither a sign (-72) nor a suffix (.64)`);
    rest = rest.slice((sign ?? suffix)![0].length).trim();
  }
  return { signs, suffixes };
}

function parseTerm(text: string, bitsOf: (file: string) => number | undefined): TermText {
  const m = /^(.*?)(?: if (\S+))?$/s.exec(text.trim())!;
  return { atom: parseAtom(m[1], bitsOf), ...(m[2] !== undefined && { when: parseCondition(m[2]) }) };
}

/** Parses the operands of a row, in the order of its text. @throws TextError */
export function parseOperands(text: string, bitsOf: (file: string) => number | undefined): OperandText[] {
  if (text.trim() === '') return [];
  return splitOutside(text, ',').map((o) => parseOperand(o, bitsOf));
}

function parseOperand(whole: string, bitsOf: (file: string) => number | undefined): OperandText {
  const m = /^(&?)(?:([a-z]\w*):)?(.*?)(?: \?(\S*))?(?: when (.+?)(?: else (\S+))?)?$/s.exec(whole.trim());
  if (m === null) throw new TextError(`'${whole}' is not an operand`);
  const [, glue, name, core, hidden, when, otherwise] = m;
  const common = {
    name: name ?? core,
    glued: glue === '&',
    ...(hidden !== undefined && { hidden: hidden === '' ? '0' : hidden }),
    ...(when !== undefined && { when: parseCondition(when) }),
    ...(otherwise !== undefined && { otherwise }),
  };
  const none = { signs: [], suffixes: [] };
  if (/^[a-z]\w*$/.test(core) && name === undefined) return { ...common, slot: core, ...none };
  if (/^'.*'$/.test(core)) return { ...common, literal: core.slice(1, -1), ...none };
  const brackets = /^(?:(c|cx|g?desc|[ti]desc)\[([^\]]*)\])?(?:\[([^\]]*)\])?( .*)?$/s.exec(core);
  if (brackets === null || (brackets[1] ?? brackets[3]) === undefined) {
    const atom = parseAtom(core, bitsOf);
    return { ...common, atom, ...none };
  }
  const [, word, prefix, inner, marks] = brackets;
  return {
    ...common,
    ...(word !== undefined && { prefix: { word, term: parseTerm(prefix, bitsOf) } }),
    terms: inner === undefined ? [] : splitOutside(inner, ' + ').map((t) => parseTerm(t, bitsOf)),
    ...parseMarks(marks ?? ''),
  };
}

/** A parsed modifier: its place and the names of its values. */
export interface ModifierText {
  readonly place: Place;
  /** Names by value: '' for no name, null for reserved values. Absent for a flag with the modifier's own name. */
  readonly names?: readonly (string | null)[];
  /** Name of the value list that it uses. */
  readonly list?: string;
  readonly when?: ConditionText;
  readonly otherwise?: string;
}

/** Parses a modifier: `80`, `76+3 F LT EQ` or `76+4 $fcmp when EX else F`; `_` means no name, `-` reserved. @throws TextError */
export function parseModifier(text: string): ModifierText {
  const m = /^(\S+)((?: (?!when )\S+)*)(?: when (.+?)(?: else (\S+))?)?$/s.exec(text.trim());
  if (m === null)
    throw new TextError(`'${text}' is not a modifier: expected 80, 76+3 F LT EQ, or 76+4 $fcmp`);
  const words = m[2].trim() === '' ? [] : m[2].trim().split(/\s+/);
  const list = words.length === 1 && words[0].startsWith('$') ? words[0].slice(1) : undefined;
  return {
    place: parsePlace(m[1]),
    ...(list !== undefined ? { list } : words.length > 0 && { names: namesOf(words) }),
    ...(m[3] !== undefined && { when: parseCondition(m[3]) }),
    ...(m[4] !== undefined && { otherwise: m[4] }),
  };
}

/** Converts the names of a value list: `_` to no name, `-` to reserved. */
export const namesOf = (words: readonly string[]): (string | null)[] =>
  words.map((w) => (w === '-' ? null : w === '_' ? '' : w));
