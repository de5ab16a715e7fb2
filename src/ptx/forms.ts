/**
 * The forms of PTX instructions in the notation of `pipelines/isa/ptx-syntax.yaml`: `WORDS : OPERANDS ; SINCE ; UNTIL`.
 *
 * WORDS are modifiers, in any order: `a/b` is one of several, `[a/b]` one or none, `<u32/s32>` a type; `$name` is a set. Types must appear
 * in their order. Words with a `^` must come first, in their order. OPERANDS are described at `OperandForm`. SINCE is the first version and
 * target that have the form. UNTIL is the last version that has it on every target, and the first target that lacks it in later versions.
 */
import { PTX_SYNTAX } from './syntax.generated.ts';

/** The requirements of a form on one operand. */
export interface OperandForm {
  /**
   * `value`: a register or constant of a type. `packed`: a value, or a vector whose elements make up the type. `moved`: a value, a special
   * register, or the address of a symbol. `address`: a register or the address of a symbol. `memory`: `[...]`. `constant`: a constant.
   * `chosen`: 32 bits, or a selected part of them. `vector`: `count` values in braces. `any`: not checked.
   */
  readonly kind:
    | 'value'
    | 'packed'
    | 'moved'
    | 'address'
    | 'memory'
    | 'constant'
    | 'chosen'
    | 'vector'
    | 'any';
  /** Whether the operand is written. */
  readonly result: boolean;
  /** A type, or the index of one of the instruction's types: 0 the first, 1 the second; -1 for none. */
  readonly type: string | number;
  /** Whether the register may be larger than the type. */
  readonly larger: boolean;
  /** Maximum total bits of a vector of values; 0 if vectors are not allowed. */
  readonly vector: number;
  /** Whether the result may be `_`. */
  readonly sink: boolean;
  /** Whether a predicate may or must follow after `|`. */
  readonly pair: '' | 'may' | 'must';
  /** Whether it may be a special register. */
  readonly special: boolean;
  /** Whether it may be a constant. */
  readonly constants: boolean;
  readonly optional: boolean;
  /** For `vector`: the number of elements. */
  readonly count: Count | null;
  /** For `vector`: whether the first element is a 32-bit index into an array of textures, and only the others are of the type. */
  readonly indexed: boolean;
  /** For `memory`: the parts after the base of the address. */
  readonly parts: readonly OperandForm[];
  /** For `memory`: the opaque type of the base; '' for an address in memory. */
  readonly handle: string;
  /** Allowed values of a constant: an interval, the multiples of a number, or a list; null for all. */
  readonly range: Range | null;
}

/** The number of elements of a vector: `factor` times a size that a modifier states, divided by `by`, minus `less`. */
export interface Count {
  readonly factor: number;
  /** `x` of `.x4`, `n` of `.m64n8k16`, `d` of `.2d`; '' for none, so that `factor` is the count. */
  readonly of: '' | 'x' | 'n' | 'd';
  readonly by: number;
  readonly less: number;
}

/** Sizes that modifiers state, for `Count`; 0 if they do not. */
export type Sizes = Readonly<Record<'x' | 'n' | 'd', number>>;

/** The sizes that some modifiers state. */
export const sizesOf = (mods: readonly string[]): Sizes => {
  const number = (pattern: RegExp): number => {
    for (const m of mods) {
      const found = pattern.exec(m);
      if (found !== null) return Number(found[1]);
    }
    return 0;
  };
  return { x: number(/^x(\d+)$/), n: number(/^m\d+n(\d+)k\d+$/), d: number(/^([1-5])d$/) };
};

/** The value of a count. */
export const countOf = ({ factor, of, by, less }: Count, sizes: Sizes): number =>
  (factor * (of === '' ? 1 : sizes[of])) / by - less;

/** Allowed values of a constant. */
export type Range =
  | { readonly kind: 'between'; readonly low: bigint; readonly high: bigint; readonly step: bigint }
  | { readonly kind: 'multiple'; readonly of: bigint }
  | { readonly kind: 'one'; readonly of: readonly bigint[] };

/** A set of modifiers of which exactly one (`required`) or at most one may be present. */
export interface Group {
  readonly words: readonly string[];
  readonly required: boolean;
  /** Whether it must come directly after the opcode and the preceding leading groups. */
  readonly leading: boolean;
}

/** The first version and target that have something. */
export interface Need {
  /** 1000 * major + minor; 0 for any. */
  readonly version: number;
  readonly sm: number;
  /** Whether only targets with a suffix (`sm_100a`) have it. */
  readonly suffix: boolean;
}

/** One form of an instruction. */
export interface InstructionForm {
  readonly groups: readonly Group[];
  /** For each type of the instruction, its alternatives. */
  readonly types: readonly (readonly string[])[];
  readonly operands: readonly OperandForm[];
  /** Number of operands that are not optional. */
  readonly fewest: number;
  readonly since: Need;
  /** The last version that has the form on every target, and the first target that lacks it in later versions; null: it is current. */
  readonly until: Need | null;
}

const NO_NEED: Need = { version: 0, sm: 0, suffix: false };

/** A version as a number: 7008 for `7.8`, so that versions can be compared. */
export function versionNumber(version: string): number {
  const [major, minor] = version.split('.');
  return Number(major) * 1000 + Number(minor ?? 0);
}

/** Parses one form. @param sets words of each set, separated by blanks @throws Error at a fault in the notation */
export function readForm(text: string, sets: Readonly<Record<string, string>>): InstructionForm {
  const parts = text.split(COLON);
  if (parts.length !== 2) throw new Error('a form is WORDS : OPERANDS');
  const [head, tail] = parts;
  const [shape, ...needs] = tail.split(';').map((x) => x.trim());
  const groups: Group[] = [];
  const types: (readonly string[])[] = [];
  for (const word of head.split(' ')) {
    if (word === '') continue;
    const found = readWord(word, sets);
    if ('words' in found) groups.push(found);
    else types.push(found);
  }
  const operands = shape
    .split(' ')
    .filter((w) => w !== '')
    .map((w) => operandOf(w, types.length));
  let since = NO_NEED;
  let until: Need | null = null;
  for (const need of needs.filter((n) => n !== '')) {
    const found = readNeed(need.replace(/^until /, ''));
    if (!need.startsWith('until ')) since = found;
    else until = found;
  }
  return {
    groups,
    types,
    operands,
    fewest: operands.filter((o) => !o.optional).length,
    since,
    until,
  };
}

// Caches: forms repeat few words many times.
const words = new WeakMap<object, Map<string, Group | readonly string[]>>();
const operandWords = new Map<string, OperandForm>();

/** Parses a word: a group of modifiers, or the alternatives of a type. */
function readWord(word: string, sets: Readonly<Record<string, string>>): Group | readonly string[] {
  let known = words.get(sets);
  if (known === undefined) words.set(sets, (known = new Map()));
  let found = known.get(word);
  if (found === undefined) {
    const m = /^(?:<([^<>[\]]+)>|\[\^?([^<>[\]]+)\]|\^?([^<>[\]]+))$/.exec(word);
    if (m === null) throw new Error(`'${word}' is neither a word, [optional] nor a <type>`);
    found =
      m[1] !== undefined
        ? alternatives(m[1], sets)
        : {
            words: alternatives(m[2] ?? m[3], sets),
            required: m[3] !== undefined,
            leading: word.startsWith('^') || word.startsWith('[^'),
          };
    known.set(word, found);
  }
  return found;
}

const alternatives = (list: string, sets: Readonly<Record<string, string>>): readonly string[] =>
  list.split('/').flatMap((w) => {
    if (!w.startsWith('$')) return series(w);
    const set = Object.hasOwn(sets, w.slice(1)) ? sets[w.slice(1)] : undefined;
    if (set === undefined) throw new Error(`there is no set '${w}'`);
    return set.split(' ').flatMap(series);
  });

function operandOf(word: string, types: number): OperandForm {
  const key = `${word} ${types}`;
  let found = operandWords.get(key);
  if (found === undefined) {
    found = word.startsWith('[') ? readAddress(word, types) : readOperand(word, types);
    operandWords.set(key, found);
  }
  return found;
}

/** Parses a version and target such as `7.8 sm_90`. @throws Error at a fault in the notation */
export function readNeed(text: string): Need {
  const m = /^(?:(\d+\.\d+) ?)?(?:(?:below )?(sm_\d+[af]?)(?:\/sm_\d+[af]?)*)?$/.exec(text);
  if (m === null)
    throw new Error(`'${text}' is not a version and target, such as '7.8 sm_90' or 'until 6.3'`);
  return {
    version: m[1] === undefined ? 0 : versionNumber(m[1]),
    sm: Number(/\d+/.exec(m[2] ?? '')?.[0] ?? 0),
    suffix: /[af]$/.test(m[2] ?? ''),
  };
}

/** The colon between words and operands; words may contain `::`. */
const COLON = /(?<!:):(?!:)(?= |$)/;

/** Named kinds of operands, without the marks around them. */
const NAMED: Readonly<Record<string, Partial<OperandForm>>> = {
  t: { type: 0 },
  s: { type: 1 },
  's+': { type: 1, larger: true, special: true },
  l: { type: 0, larger: true },
  tv: { type: 0, vector: 128 },
  tvs: { type: 0, vector: 128, special: true },
  lv: { type: 0, larger: true, vector: 128 },
  lv256: { type: 0, larger: true, vector: 256 },
  h: { kind: 'address', type: 'u64' },
  p: { type: 'pred' },
  ps: { type: 'pred', special: true },
  pr: { type: 'pred', constants: false },
  b16: { type: 'b16' },
  b32: { type: 'b32' },
  'u32+': { type: 'u32', larger: true },
  'b32+': { type: 'b32', larger: true },
  u16: { type: 'u16' },
  f16x2: { type: 'f16x2' },
  bf16x2: { type: 'bf16x2' },
  tf32: { type: 'tf32' },
  f32: { type: 'f32' },
  f64: { type: 'f64' },
  b64: { type: 'b64' },
  u32: { type: 'u32' },
  u32r: { type: 'u32', constants: false },
  u32v: { type: 'u32', vector: 32 },
  u32rv: { type: 'u32', constants: false, vector: 32 },
  u64: { type: 'u64' },
  packed: { kind: 'packed', type: 0, special: true },
  moved: { kind: 'moved', type: 0 },
  address: { kind: 'address', type: 0 },
  chosen: { kind: 'chosen', type: 'u32' },
  chosenr: { kind: 'chosen', type: 'u32', constants: false },
  x: { kind: 'any' },
};

/** The words that `m64n{8..256..8}k16` stands for: one for each number. */
function series(word: string): string[] {
  if (!word.includes('{')) return [word];
  const m = /^(.*)\{(\d+)\.\.(\d+)\.\.(\d+)\}(.*)$/.exec(word);
  if (m === null) return [word];
  const out: string[] = [];
  for (let k = Number(m[2]); k <= Number(m[3]); k += Number(m[4])) out.push(`${m[1]}${k}${m[5]}`);
  return out;
}

/** Makes an operand form; the only constructor, so that all objects have the same hidden class. */
const form = (p: Partial<OperandForm> & Pick<OperandForm, 'kind'>): OperandForm => ({
  kind: p.kind,
  result: p.result ?? false,
  type: p.type ?? -1,
  larger: p.larger ?? false,
  vector: p.vector ?? 0,
  special: p.special ?? false,
  constants: p.constants ?? true,
  sink: p.sink ?? false,
  pair: p.pair ?? '',
  optional: p.optional ?? false,
  count: p.count ?? null,
  indexed: p.indexed ?? false,
  parts: p.parts ?? [],
  handle: p.handle ?? '',
  range: p.range ?? null,
});

/** Opaque types by their names in addresses; '' for memory. */
const HANDLES: Readonly<Record<string, string>> = { m: '', tex: 'texref', surf: 'surfref' };

/** Parses `[m]`, `[m,2*u32]` or `[tex,h?,2^s]`. */
function readAddress(word: string, types: number): OperandForm {
  const m = /^\[(m|tex|surf)((?:,[^\],]+)*)\](\??)$/.exec(word);
  if (m === null) throw new Error(`'${word}' is not an address such as [m] or [m,2*u32]`);
  const parts = m[2]
    .split(',')
    .slice(1)
    .map((w) => readOperand(w, types));
  return form({ kind: 'memory', handle: HANDLES[m[1]], parts, optional: m[3] === '?' });
}

/** Parses the count before `*` or `^`: `4`, `x`, `2x`, `n/2`, `d-2`. */
function readCount(text: string, word: string): Count {
  const m = /^(\d*)([xnd]?)(?:\/(\d+))?(?:-(\d+))?$/.exec(text);
  if (m === null || text === '')
    throw new Error(`'${text}' of '${word}' is not a count such as 4, 2x, n/2 or d-2`);
  return {
    factor: Number(m[1] || 1),
    of: m[2] as Count['of'],
    by: Number(m[3] ?? 1),
    less: Number(m[4] ?? 0),
  };
}

function readOperand(word: string, types: number): OperandForm {
  const many = /^(=?)([\w/-]+)([*^])(\w.*)$/.exec(word);
  if (many !== null) {
    const one = readOperand(many[1] + many[4], types);
    return form({ ...one, kind: 'vector', count: readCount(many[2], word), indexed: many[3] === '^' });
  }
  const m = /^(=?)(#|\w+\+?)(_?)(\[\|p\]|\|p)?(?::(\S+?)|(?<=#)(-?\d\S*?))?(\??)$/.exec(word);
  if (m === null) throw new Error(`'${word}' is not an operand`);
  // The pattern takes `t_` as one word.
  const sink = m[3] === '_' || m[2].endsWith('_');
  const name = m[2].replace(/_$/, '');
  const base: Partial<OperandForm> | undefined = name === '#' ? { kind: 'constant' } : NAMED[name];
  if (base === undefined) throw new Error(`'${name}' of '${word}' is not a kind of operand`);
  if (typeof base.type === 'number' && base.type >= types)
    throw new Error(`'${word}' has a type that the form does not name`);
  const range = m[5] ?? m[6];
  return form({
    kind: 'value',
    result: m[1] === '=',
    sink,
    pair: m[4] === undefined ? '' : m[4] === '|p' ? 'must' : 'may',
    optional: m[7] === '?',
    range: range === undefined ? null : readRange(range, word),
    ...base,
  });
}

function readRange(text: string, word: string): Range {
  const between = /^(-?\d+)\.\.(\d+)(?:%(\d+))?$/.exec(text);
  if (between !== null)
    return {
      kind: 'between',
      low: BigInt(between[1]),
      high: BigInt(between[2]),
      step: BigInt(between[3] ?? 1),
    };
  if (/^%\d+$/.test(text)) return { kind: 'multiple', of: BigInt(text.slice(1)) };
  if (/^-?\d+(\/-?\d+)*$/.test(text)) return { kind: 'one', of: text.split('/').map(BigInt) };
  throw new Error(`'${word}' has no range such as 0..15, %32 or 4/8/16`);
}

const read = new Map<string, readonly InstructionForm[]>();

/** The forms of an opcode; undefined if the table has none, so that its instructions are not checked. */
export function formsOf(opcode: string): readonly InstructionForm[] | undefined {
  let forms = read.get(opcode);
  if (forms === undefined && Object.hasOwn(PTX_SYNTAX.instructions, opcode)) {
    forms = PTX_SYNTAX.instructions[opcode].map((text) => readForm(text, PTX_SYNTAX.sets));
    read.set(opcode, forms);
  }
  return forms;
}

const needs = new Map<string, Need>();

/** The version and target that a modifier or type needs in any form. */
export function needOfWord(word: string): Need {
  let need = needs.get(word);
  if (need === undefined) {
    need = Object.hasOwn(PTX_SYNTAX.words, word) ? readNeed(PTX_SYNTAX.words[word]) : NO_NEED;
    needs.set(word, need);
  }
  return need;
}

/** The version and target that a directive needs. @param name its name without the dot */
export const needOfDirective = (name: string): Need =>
  Object.hasOwn(PTX_SYNTAX.directives, name) ? readNeed(PTX_SYNTAX.directives[name]) : NO_NEED;

/** May a modifier occur twice? */
export const mayRepeat = (word: string): boolean => REPEATED.has(word);
const REPEATED: ReadonlySet<string> = new Set(PTX_SYNTAX.sets.twice.split(' '));

/** Bits of a register or value of a type; 1 for predicates, 0 for types whose sizes are not checked. */
export function bitsOf(type: string): number {
  let bits = sizes.get(type);
  if (bits === undefined) {
    const m = /^(?:[busf]|bf|tf)(8|16|32|64|128)(x2)?$/.exec(type);
    bits = type === 'pred' ? 1 : m === null ? 0 : Number(m[1]) * (m[2] === undefined ? 1 : 2);
    sizes.set(type, bits);
  }
  return bits;
}

const sizes = new Map<string, number>();

/**
 * The class of types with which a type is compatible (PTX ISA 9.0, table 26): 'i' for integers of either sign, the type itself for
 * floating-point types, '' for bit types, which are compatible with all.
 */
export function kindOf(type: string): string {
  let kind = kinds.get(type);
  if (kind === undefined) {
    kind = /^[us]\d+$/.test(type) ? 'i' : /^(b?f\d|tf32|[us]16x2)/.test(type) ? type : '';
    kinds.set(type, kind);
  }
  return kind;
}

const kinds = new Map<string, string>();
