import type { Place } from './word.ts';

/*
 * The language of pipelines/machine: how a row writes where operands stand in a word, and how they are shown. README.md describes it.
 */

/** Thrown for text that is none of the language. */
export class FormError extends Error {}

/** Registers by file; a `$name` stands for an enumeration. */
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

/** `X`, `!X`, `cmp=F`, `cmp!=F`; several joined by `|` or by `&`. */
export interface ConditionText {
  readonly any: boolean;
  readonly tests: readonly { readonly field: string; readonly value: string | null; readonly not: boolean }[];
}

/** A bit that changes how an operand is read. */
export interface SignText {
  readonly sign: '-' | '|' | '~' | '!';
  readonly at: number;
  /** A `-` that is a `~` where this field is set. */
  readonly invertIf?: string;
}

export interface SuffixText {
  /** A field whose value is shown, or fixed text. */
  readonly field?: string;
  readonly text?: string;
  readonly when?: ConditionText;
}

/** One value of an operand: a register, a number or a name. */
export interface AtomText {
  readonly kind: Kind;
  /** Of an enumeration: its name. */
  readonly values?: string;
  /** Empty for a fixed text. */
  readonly place: Place;
  readonly scale: number;
  /** The bits are those of the number turned over. */
  readonly inverted: boolean;
  readonly signs: readonly SignText[];
  readonly suffixes: readonly SuffixText[];
}

export interface TermText {
  readonly atom: AtomText;
  readonly when?: ConditionText;
}

export interface OperandText {
  readonly name: string;
  /** A blank, not a comma, stands before it in the vendor's text. */
  readonly glued: boolean;
  /** Bit of the reuse mask, where the layout says it. */
  readonly reuse?: number;
  /** Of one that the layout gives: its name alone. */
  readonly slot?: string;
  /** Fixed text, such as `PR`. */
  readonly literal?: string;
  readonly atom?: AtomText;
  /** In brackets: terms that are added; before them, or alone, a constant bank or a descriptor in brackets of its own. */
  readonly prefix?: { readonly word: string; readonly term: TermText };
  readonly terms?: readonly TermText[];
  readonly signs: readonly SignText[];
  readonly suffixes: readonly SuffixText[];
  readonly when?: ConditionText;
  /** The value of its bits where `when` does not hold. */
  readonly otherwise?: string;
  /** The vendor's text leaves it out where it has this value. */
  readonly hidden?: string;
}

/** Splits at a separator that stands in no brackets. */
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

/** `16+8`, `73`, `76/80`: runs of bits, the least significant first. */
export function parsePlace(text: string, lengthOfKind?: number): Place {
  return text.split('/').map((part) => {
    const m = /^(\d+)(?:\+(\d+))?$/.exec(part);
    if (m === null) throw new FormError(`'${text}' is no place in a word: expected 24, 40+14 or 76/80`);
    const at = Number(m[1]);
    const length = m[2] === undefined ? (lengthOfKind ?? 1) : Number(m[2]);
    if (length < 1 || at + length > 128)
      throw new FormError(`'${text}' is not within the 128 bits of a word`);
    return { at, length };
  });
}

export function parseCondition(text: string): ConditionText {
  const any = text.includes('|');
  const tests = text.split(any ? '|' : '&').map((t) => {
    const m = /^\s*(!?)([\w.]+)(?:(!?=)(\S+))?\s*$/.exec(t);
    if (m === null) throw new FormError(`'${text}' is no condition: expected X, !X, cmp=F or cmp!=F`);
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
 * `R24 -72 |73 .{half}`.
 *
 * @param bitsOf bits of a register of a file
 */
function parseAtom(text: string, bitsOf: (file: string) => number | undefined): AtomText {
  const m = /^(?:([A-Z]+|[usd]|pc|set)|(b?f\d+)@|\$(\w+)@)(\d[\d+/]*)(?:\*(\d+))?(\^?)(.*)$/s.exec(text);
  if (m === null || (m[1] !== undefined && !KINDS.has(m[1])))
    throw new FormError(`'${text}' is no operand: expected R24, u32+32, f32@32+32, $name@61+3 and the like`);
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

/** Signs and suffixes behind an operand. */
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
    else throw new FormError(`'${rest}' is neither a sign (-72) nor a suffix (.64)`);
    rest = rest.slice((sign ?? suffix)![0].length).trim();
  }
  return { signs, suffixes };
}

function parseTerm(text: string, bitsOf: (file: string) => number | undefined): TermText {
  const m = /^(.*?)(?: if (\S+))?$/s.exec(text.trim())!;
  return { atom: parseAtom(m[1], bitsOf), ...(m[2] !== undefined && { when: parseCondition(m[2]) }) };
}

/** The operands of a row, in the order of the text. */
export function parseOperands(text: string, bitsOf: (file: string) => number | undefined): OperandText[] {
  if (text.trim() === '') return [];
  return splitOutside(text, ',').map((o) => parseOperand(o, bitsOf));
}

function parseOperand(whole: string, bitsOf: (file: string) => number | undefined): OperandText {
  const m = /^(&?)(?:([a-z]\w*):)?(.*?)(?: \?(\S*))?(?: when (.+?)(?: else (\S+))?)?$/s.exec(whole.trim());
  if (m === null) throw new FormError(`'${whole}' is no operand`);
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

/** A modifier: where it stands, and what its values are called. */
export interface ModifierText {
  readonly place: Place;
  /** By value: its name, '' where it has none, null where it is reserved. Absent for a flag that is called as the modifier. */
  readonly names?: readonly (string | null)[];
  /** The list of names that it takes. */
  readonly list?: string;
  readonly when?: ConditionText;
  readonly otherwise?: string;
}

/** `80`, `76+3 F LT EQ`, `76+4 $fcmp when EX else F`. `_` has no name, `-` is reserved. */
export function parseModifier(text: string): ModifierText {
  const m = /^(\S+)((?: (?!when )\S+)*)(?: when (.+?)(?: else (\S+))?)?$/s.exec(text.trim());
  if (m === null) throw new FormError(`'${text}' is no modifier: expected 80, 76+3 F LT EQ, or 76+4 $fcmp`);
  const words = m[2].trim() === '' ? [] : m[2].trim().split(/\s+/);
  const list = words.length === 1 && words[0].startsWith('$') ? words[0].slice(1) : undefined;
  return {
    place: parsePlace(m[1]),
    ...(list !== undefined ? { list } : words.length > 0 && { names: namesOf(words) }),
    ...(m[3] !== undefined && { when: parseCondition(m[3]) }),
    ...(m[4] !== undefined && { otherwise: m[4] }),
  };
}

/** Names by value. `_` is none, `-` reserved. */
export const namesOf = (words: readonly string[]): (string | null)[] =>
  words.map((w) => (w === '-' ? null : w === '_' ? '' : w));
