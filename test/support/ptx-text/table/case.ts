import type { Format } from '../values/floats.ts';
import { isFloat, TYPES, type Type } from '../values/types.ts';

/** What the interpreter does not do: an instruction, a modifier, an operand, a directive. */
export class Unsupported extends Error {}

/**
 * The choices that the PTX ISA leaves open, such as the payload of a NaN or a quotient by zero. A run makes them by its seed, so that what
 * depends on them differs from seed to seed.
 */
export interface Choices {
  /** Bits that nothing says anything about. */
  unspecified(t: Type): bigint;
  /** A NaN of unspecified sign and payload. */
  nan(f: Format): bigint;
}

/**
 * What an instruction computes from its operands. Operands and results are numbers of their types: signed integers may be negative,
 * predicates are 0 or 1, floats are their bits. Results are taken modulo their width.
 */
export interface Computation {
  readonly results: readonly Type[];
  readonly operands: readonly Type[];
  readonly of: (operands: readonly bigint[], open: Choices) => bigint | readonly bigint[];
  /** The PTX ISA allows an error. */
  readonly approximate?: boolean;
}

/** One instruction: what it computes with these modifiers. */
export type Case = (m: Modifiers) => Computation;

/** Cases by key: the opcode, with `.float` for floating-point types and `.cc` for those that set the carry. */
export type Table = Readonly<Record<string, Case>>;

/** The words behind an opcode. A case takes those that it knows; what is left then is unsupported. */
export class Modifiers {
  readonly opcode: string;
  /** How many source operands are written. */
  readonly sources: number;
  /** Selectors such as `b0` or `h10` behind the operands of video instructions, the result first; empty where there is none. */
  readonly selectors: readonly string[];
  readonly #left: string[];

  constructor(opcode: string, words: readonly string[], sources: number, selectors: readonly string[] = []) {
    this.opcode = opcode;
    this.sources = sources;
    this.selectors = selectors;
    this.#left = [...words];
  }

  /** Takes a word if it is there. */
  flag(word: string): boolean {
    const at = this.#left.indexOf(word);
    if (at >= 0) this.#left.splice(at, 1);
    return at >= 0;
  }

  /** Takes the first of some words that is there; null if none is. */
  oneOf<T extends string>(words: readonly T[]): T | null {
    const found = this.#left.find((w) => (words as readonly string[]).includes(w));
    if (found === undefined) return null;
    this.flag(found);
    return found as T;
  }

  /** Takes one of some words, of which one has to be there. */
  need<T extends string>(words: readonly T[]): T {
    const found = this.oneOf(words);
    if (found === null) throw new Unsupported(`${this.name} without one of .${words.join(', .')}`);
    return found;
  }

  /** Takes words that say nothing about results, such as hints about caches. */
  ignore(words: RegExp): void {
    for (const w of this.#left.filter((x) => words.test(x))) this.flag(w);
  }

  /** Takes the next type. */
  type(): Type {
    const t = this.peek();
    if (t === undefined) throw new Unsupported(`${this.name} without a type`);
    this.flag(t.name);
    return t;
  }

  /** The next type, which stays. */
  peek(): Type | undefined {
    const word = this.#left.find((w) => TYPES.has(w));
    return word === undefined ? undefined : TYPES.get(word);
  }

  has(word: string): boolean {
    return this.#left.includes(word);
  }

  /** The words that are left. */
  get words(): readonly string[] {
    return [...this.#left];
  }

  /** The opcode and what is left of its modifiers. */
  get name(): string {
    return [this.opcode, ...this.#left].join('.');
  }

  /** Throws if a modifier is left. */
  finish(): void {
    if (this.#left.length > 0) throw new Unsupported(`${this.opcode} with .${this.#left.join('.')}`);
  }
}

/** Words of opcodes whose last type decides between integers and floats. */
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
