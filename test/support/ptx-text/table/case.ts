import type { Format } from '../values/floats.ts';
import { isFloat, TYPES, type Type } from '../values/types.ts';

/** A feature that the interpreter lacks: an instruction, modifier, operand or directive. */
export class Unsupported extends Error {}

/**
 * The choices that the PTX ISA leaves open, such as the payload of a NaN or a quotient by zero. They depend on the seed of the run, so that
 * results which depend on them differ between seeds.
 */
export interface Choices {
  /** Bits that are not specified at all. */
  unspecified(t: Type): bigint;
  /** A NaN of unspecified sign and payload. */
  nan(f: Format): bigint;
}

/**
 * What an instruction computes from its operands. Operands and results are numbers of their types: signed integers may be negative,
 * predicates are 0 or 1, floats are given as bits. Results are truncated to their width.
 */
export interface Computation {
  readonly results: readonly Type[];
  readonly operands: readonly Type[];
  readonly of: (operands: readonly bigint[], open: Choices) => bigint | readonly bigint[];
  /** The PTX ISA permits an error. */
  readonly approximate?: boolean;
}

/** One instruction: the computation for given modifiers. */
export type Case = (m: Modifiers) => Computation;

/** Cases by key: the opcode, with `.float` for floating-point types and `.cc` for those that set the carry. */
export type Table = Readonly<Record<string, Case>>;

/** The modifiers of an instruction. A case consumes those that it implements; the rest is unsupported. */
export class Modifiers {
  readonly opcode: string;
  /** Number of source operands. */
  readonly sources: number;
  /** Selectors such as `b0` or `h10` of the operands of video instructions, the result first; empty for operands without one. */
  readonly selectors: readonly string[];
  readonly #left: string[];

  constructor(opcode: string, words: readonly string[], sources: number, selectors: readonly string[] = []) {
    this.opcode = opcode;
    this.sources = sources;
    this.selectors = selectors;
    this.#left = [...words];
  }

  /** Consumes a modifier if it is present. */
  flag(word: string): boolean {
    const at = this.#left.indexOf(word);
    if (at >= 0) this.#left.splice(at, 1);
    return at >= 0;
  }

  /** Consumes the first modifier that is one of `words`; null if there is none. */
  oneOf<T extends string>(words: readonly T[]): T | null {
    const found = this.#left.find((w) => (words as readonly string[]).includes(w));
    if (found === undefined) return null;
    this.flag(found);
    return found as T;
  }

  /** Consumes a required modifier, one of `words`. @throws Unsupported if there is none */
  need<T extends string>(words: readonly T[]): T {
    const found = this.oneOf(words);
    if (found === null) throw new Unsupported(`${this.name} without one of .${words.join(', .')}`);
    return found;
  }

  /** Consumes modifiers that do not affect results, such as cache hints. */
  ignore(words: RegExp): void {
    for (const w of this.#left.filter((x) => words.test(x))) this.flag(w);
  }

  /** Consumes the next type. */
  type(): Type {
    const t = this.peek();
    if (t === undefined) throw new Unsupported(`${this.name} without a type`);
    this.flag(t.name);
    return t;
  }

  /** The next type, without consuming it. */
  peek(): Type | undefined {
    const word = this.#left.find((w) => TYPES.has(w));
    return word === undefined ? undefined : TYPES.get(word);
  }

  has(word: string): boolean {
    return this.#left.includes(word);
  }

  /** The remaining modifiers. */
  get words(): readonly string[] {
    return [...this.#left];
  }

  /** The opcode with the remaining modifiers. */
  get name(): string {
    return [this.opcode, ...this.#left].join('.');
  }

  /** @throws Unsupported if a modifier remains */
  finish(): void {
    if (this.#left.length > 0) throw new Unsupported(`${this.opcode} with .${this.#left.join('.')}`);
  }
}

/** Opcodes whose last type decides between the integer and the float case. */
const BY_TYPE = new Set(['add', 'sub', 'mul', 'mad', 'div', 'abs', 'neg', 'min', 'max']);

/** The key of an instruction in a table. */
export function keyOf(m: Modifiers): string {
  if (m.has('cc') && m.opcode !== 'addc' && m.opcode !== 'subc' && m.opcode !== 'madc')
    return `${m.opcode}.cc`;
  if (m.opcode === 'cvt' && m.flag('pack')) return 'cvt.pack';
  const t = m.peek();
  return BY_TYPE.has(m.opcode) && t !== undefined && isFloat(t) ? `${m.opcode}.float` : m.opcode;
}

/** Shorthand for a computation. */
export const computes = (
  results: readonly Type[],
  operands: readonly Type[],
  of: Computation['of'],
): Computation => ({ results, operands, of });
