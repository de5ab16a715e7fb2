import { counted } from '../../ir/counts.ts';
import { nearest } from '../../ir/diagnostic.ts';
import {
  type Isa,
  type LoweringRow,
  Mod,
  type Opcode,
  type Slot,
  slotWidth,
  withMods,
} from '../../ir/opcode.ts';
import { imm, immOf, type Operand, PF, PT, RZ } from '../../ir/operand.ts';
import { defaultOperand } from '../../ir/print.ts';
import { intMod, sizeMod, TYPES } from './types.ts';

/*
 * Rows of `lowering` in `pipelines/isa/ptx.yaml`: the PTX form of an instruction, and the Ori instructions that it becomes
 * (pipelines/isa/README.md describes the notation). A row is expanded for every choice of its sets.
 */

/** An operand of the PTX instruction. */
export interface FormOperand {
  readonly name: string;
  /** Width in bits of its type; 1 for a predicate. */
  readonly bits: number;
  /** True: signed values narrower than 32 bits are sign-extended. */
  readonly extended: boolean;
  readonly optional: boolean;
  /** True if it is the second half of `$d|$p`, whose first half is the operand before. */
  readonly second: boolean;
  readonly result: boolean;
  /** True for `_`: the operand must be a sink. */
  readonly sink: boolean;
}

/** The destination of an Ori instruction: an operand by index, a temporary by name, the carry register, or nothing. */
export type FormResult =
  | { readonly kind: 'operand'; readonly at: number; readonly masked: boolean }
  | { readonly kind: 'temp'; readonly name: string; readonly bits: number }
  | { readonly kind: 'carry' }
  | { readonly kind: 'none' };

/** A source of an Ori instruction: an operand by index, or a temporary, with modifiers; a constant; the carry register. */
export type FormSource =
  | { readonly kind: 'operand'; readonly at: number; readonly mods: number }
  | { readonly kind: 'temp'; readonly name: string; readonly mods: number }
  | { readonly kind: 'value'; readonly value: Operand }
  | { readonly kind: 'carry' };

/** An Ori instruction of a row. */
export interface FormLine {
  readonly op: Opcode;
  readonly mods: number;
  readonly dst: readonly FormResult[];
  readonly src: readonly FormSource[];
}

/** A row for one choice of its sets. */
export interface Form {
  readonly row: LoweringRow;
  /** Opcode with modifiers. */
  readonly name: string;
  /** Operands, the halves of a pair one by one. */
  readonly operands: readonly FormOperand[];
  readonly lines: readonly FormLine[];
}

/** The value of a set in a choice; '' for an optional word that is absent. */
export type Choice = ReadonlyMap<string, string>;

const ITEM = /^\{(\.?)(?:(\w+):)?(\w+)\}$/;
const OPERAND = /^\$(\w+)(?::(\w+))?(\?)?$/;
const RESULT = /^\$(\w+)(?::(masked))?$/;
const SOURCE = /^([-~!]?)(?:\$(\w+)|\|\$(\w+)\||(%\w+)|(\w+))$/;

/** Operands of a row: `a, b|c, d` as a list, the halves of a pair one after the other. */
interface OperandText {
  readonly name: string;
  readonly as: string;
  readonly optional: boolean;
  readonly second: boolean;
}

/** The name that was probably meant, as the end of a message; empty if none is similar. */
export const near = (word: string, known: Iterable<string>): string =>
  nearest(word, known, 1)
    .map((n) => `; did you mean '${n}'?`)
    .join('');

/** The items between the dots of a name; a set may contain a dot. */
const itemsOf = (name: string): string[] => name.match(/\{[^}]*\}|[^.{}]+/g) ?? [];

const split = (line: string): [string, string[]] => {
  const at = line.indexOf(' ');
  return at < 0
    ? [line, []]
    : [
        line.slice(0, at),
        line
          .slice(at + 1)
          .split(',')
          .map((s) => s.trim()),
      ];
};

/** An item of a form's name: one of some words, or none if it is optional. */
interface Item {
  /** Name of its value in a choice; '' for a word that stands in the row itself. */
  readonly name: string;
  readonly words: readonly string[];
  readonly optional: boolean;
  /** True if its words are types, whose order matters. */
  readonly types: boolean;
}

/** A row whose PTX has been read. */
export interface FormRow {
  readonly row: LoweringRow;
  readonly opcode: string;
  readonly items: readonly Item[];
  readonly operands: readonly OperandText[];
}

/** Reads the PTX of a row. @throws Error with what is wrong in it */
export function readRow(row: LoweringRow, isa: Isa): FormRow {
  const [name, list] = split(row.ptx);
  const [opcode, ...items] = itemsOf(name);
  return {
    row,
    opcode,
    items: items.map((item) => readItem(item, isa)),
    operands: list.flatMap((text) => text.split('|').map((half, k) => operandText(half, k))),
  };
}

function readItem(item: string, isa: Isa): Item {
  const m = ITEM.exec(item);
  if (m === null) return { name: '', words: [item], optional: false, types: TYPES.has(item) };
  const [, dot, own, set] = m;
  const words = isa.spelling.sets[set]?.split(' ') ?? (dot === '' ? [] : [set]);
  if (words.length === 0)
    throw new Error(`there is no set '${set}'${near(set, Object.keys(isa.spelling.sets))}`);
  return { name: own ?? set, words, optional: dot !== '', types: words.every((w) => TYPES.has(w)) };
}

/** The choice with which a row has the modifiers of an instruction; null if it has them with none. */
export function choiceOf({ items }: FormRow, mods: readonly string[]): Choice | null {
  const choice = new Map<string, string>();
  const others = mods.filter((m) => !TYPES.has(m));
  const types = mods.filter((m) => TYPES.has(m));
  for (const { name, words, optional, types: isType } of items) {
    const left = isType ? types : others;
    const at = isType ? (words.includes(left[0]) ? 0 : -1) : left.findIndex((m) => words.includes(m));
    if (at < 0 && !optional) return null;
    if (name !== '') choice.set(name, at < 0 ? '' : left[at]);
    if (at >= 0) left.splice(at, 1);
  }
  return others.length + types.length === 0 ? choice : null;
}

/** All choices of a row. */
function choicesOf({ items }: FormRow): Choice[] {
  let choices: Map<string, string>[] = [new Map()];
  for (const { name, words, optional } of items)
    if (name !== '')
      choices = choices.flatMap((c) =>
        (optional ? ['', ...words] : words).map((w) => new Map(c).set(name, w)),
      );
  return choices;
}

/** All forms of a row. @throws Error with what is wrong in it */
export function formsOf(row: LoweringRow, isa: Isa): Form[] {
  const read = readRow(row, isa);
  return choicesOf(read).map((choice) => formFor(read, choice, isa));
}

/** The form of a row for one choice. @throws Error with what is wrong in the row */
export function formFor({ row, opcode, items, operands }: FormRow, choice: Choice, isa: Isa): Form {
  const words = items
    .map(({ name, words }) => (name === '' ? words[0] : choice.get(name)!))
    .filter((w) => w !== '');
  const types = words.filter((w) => TYPES.has(w));
  const lines = row.ori.map((line) => new LineReader(isa, choice, operands).read(line));
  const results = new Set(lines.flatMap((l) => l.dst.flatMap((d) => (d.kind === 'operand' ? [d.at] : []))));
  const checked = operands.map((o, at): FormOperand => {
    const result = results.has(at);
    return {
      name: o.name,
      bits: bitsOf(o, choice, result ? types[0] : types.at(-1)),
      extended: o.as === 'signed' && TYPES.get(types.at(-1) ?? '')?.kind === 'signed',
      optional: o.optional,
      second: o.second,
      result,
      sink: o.name === '_',
    };
  });
  checkOrder(lines);
  checkWidths(lines, checked);
  return { row, name: [opcode, ...words].join('.'), operands: checked, lines };
}

function operandText(text: string, half: number): OperandText {
  if (text === '_') return { name: '_', as: '', optional: false, second: half > 0 };
  const m = OPERAND.exec(text);
  if (m === null) throw new Error(`'${text}' is not an operand`);
  return { name: m[1], as: m[2] ?? '', optional: m[3] !== undefined, second: half > 0 };
}

/** Width of an operand: what stands after its name (bits, `pred`, or a set of types), otherwise that of the type. */
function bitsOf({ name, as }: OperandText, choice: Choice, type: string | undefined): number {
  if (as === 'pred') return 1;
  if (/^\d+$/.test(as)) return Number(as);
  const own = TYPES.get(as === '' || as === 'signed' ? (type ?? '') : (choice.get(as) ?? ''));
  if (own === undefined) throw new Error(`operand '${name}' has no type`);
  return own.bits;
}

/**
 * Checks that results are written after the last source is read, since an instruction may write a register that it reads, and that
 * temporaries are defined before they are used.
 *
 * @throws Error otherwise
 */
function checkOrder(lines: readonly FormLine[]): void {
  const written = lines.findIndex((l) => l.dst.some((d) => d.kind === 'operand' || d.kind === 'carry'));
  const late = lines.findLastIndex((l) => l.src.some((s) => s.kind === 'operand' || s.kind === 'carry'));
  if (written >= 0 && late > written) throw new Error('a source is read after a result is written');
  const defined = new Set<string>();
  for (const { dst, src } of lines) {
    for (const s of src)
      if (s.kind === 'temp' && !defined.has(s.name)) throw new Error(`'${s.name}' is not defined`);
    for (const d of dst) if (d.kind === 'temp') defined.add(d.name);
  }
}

/** Checks that operands and temporaries have the width of what reads and writes them. @throws Error otherwise */
function checkWidths(lines: readonly FormLine[], operands: readonly FormOperand[]): void {
  const temps = new Map<string, number>();
  const check = (name: string, bits: number, { op, mods }: FormLine, slot: Slot): void => {
    const wanted = slotWidth(op, mods, slot);
    // A value narrower than 32 bits is in a register of 32.
    const given = bits > 1 ? Math.max(bits, 32) : bits;
    if (wanted !== given) throw new Error(`'${name}' has width ${bits}, and ${op.name} has ${wanted} there`);
  };
  for (const line of lines) {
    for (const [k, s] of line.src.entries())
      if (s.kind === 'operand') check(`$${operands[s.at].name}`, operands[s.at].bits, line, line.op.srcs[k]);
      else if (s.kind === 'temp') check(s.name, temps.get(s.name)!, line, line.op.srcs[k]);
    for (const [k, d] of line.dst.entries())
      if (d.kind === 'operand') check(`$${operands[d.at].name}`, operands[d.at].bits, line, line.op.dsts[k]);
      else if (d.kind === 'temp') temps.set(d.name, d.bits);
  }
}

/** Reads the Ori lines of a row for one choice. */
class LineReader {
  private readonly isa: Isa;
  private readonly choice: Choice;
  private readonly operands: readonly OperandText[];

  constructor(isa: Isa, choice: Choice, operands: readonly OperandText[]) {
    this.isa = isa;
    this.choice = choice;
    this.operands = operands;
  }

  read(text: string): FormLine {
    const [name, list] = split(text);
    const [opcode, ...items] = itemsOf(name);
    const op = this.isa.byName.get(opcode);
    if (op === undefined)
      throw new Error(`${opcode} is not an opcode${near(opcode, this.isa.byName.keys())}`);
    const words = items.map((item) => this.modifier(item)).filter((w) => w !== '');
    const unknown = words.find((w) => !op.modByName.has(w));
    if (unknown !== undefined)
      throw new Error(`${opcode} has no modifier '${unknown}'${near(unknown, op.modByName.keys())}`);
    const mods = words.length === 0 ? 0 : withMods(op, 0, ...words);
    if (list.length < op.dsts.length) throw new Error(`${opcode} has ${counted(op.dsts.length, 'result')}`);
    const dst = op.dsts.map((slot, k) => this.result(list[k], slotWidth(op, mods, slot)));
    const sources = list.slice(op.dsts.length);
    if (sources.length > op.srcs.length)
      throw new Error(`${opcode} has ${counted(op.srcs.length, 'source')}`);
    const src = op.srcs.map((slot, k) => this.source(sources[k], slot, slotWidth(op, mods, slot)));
    return { op, mods, dst, src };
  }

  /** A modifier of an Ori opcode: a word, or a set, for which its value stands. */
  private modifier(item: string): string {
    const m = /^\{(\w+)(?::(\w+))?(?:=(\w+))?\}$/.exec(item);
    return m === null ? item : this.valueOf(m[1], m[2], m[3]);
  }

  private valueOf(set: string, part: string | undefined, otherwise: string | undefined): string {
    const word = this.choice.get(set);
    if (word === undefined) throw new Error(`'${set}' is not a set of the instruction`);
    if (word === '') return otherwise ?? '';
    const type = TYPES.get(word);
    if (part === undefined || type === undefined)
      return this.isa.spelling.names[set]?.[word] ?? word.toUpperCase();
    if (part === 'size') return sizeMod(type.bits);
    if (part === 'int') return intMod(type);
    if (part === 'long') return type.kind === 'signed' ? 'S64' : 'U64';
    if (part === 'half') return word.startsWith('bf') ? 'BF16' : 'F16';
    if (part === 'lanes') return word.endsWith('x2') ? 'PACKED' : 'SCALAR';
    throw new Error(`a type has no '${part}'; expected size, int, long, half or lanes`);
  }

  private operand(name: string): number {
    const at = this.operands.findIndex((o) => o.name === name);
    if (at < 0) throw new Error(`there is no operand '$${name}'`);
    return at;
  }

  private result(text: string, bits: number): FormResult {
    if (text === '_') return { kind: 'none' };
    if (text === 'CC') return { kind: 'carry' };
    if (text.startsWith('%')) return { kind: 'temp', name: text, bits };
    const m = RESULT.exec(text);
    if (m === null) throw new Error(`'${text}' is not a result`);
    return { kind: 'operand', at: this.operand(m[1]), masked: m[2] !== undefined };
  }

  private source(text: string | undefined, slot: Slot, bits: number): FormSource {
    if (text === undefined) return { kind: 'value', value: defaultOperand(slot) };
    const m = SOURCE.exec(this.modifier(text));
    if (m === null) throw new Error(`'${text}' is not a source`);
    const [, sign, plain, absolute, temp, word] = m;
    const mods =
      (absolute === undefined ? 0 : Mod.Abs) | (sign === '-' ? Mod.Neg : sign === '' ? 0 : Mod.Not);
    const name = plain ?? absolute;
    if (name !== undefined) return { kind: 'operand', at: this.operand(name), mods };
    if (temp !== undefined) return { kind: 'temp', name: temp, mods };
    if (word === 'CC') return { kind: 'carry' };
    const known = { RZ, PT, PF }[word];
    if (known !== undefined) return { kind: 'value', value: known };
    if (!/^\d/.test(word)) throw new Error(`'${text}' is not a source`);
    const v = BigInt(word) * (sign === '-' ? -1n : 1n);
    return { kind: 'value', value: bits === 64 ? immOf(v, 64) : imm(Number(BigInt.asIntN(32, v))) };
  }
}
