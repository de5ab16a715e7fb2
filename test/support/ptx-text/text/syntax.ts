import type { Type } from '../values/types.ts';

/*
 * The syntax tree of PTX text. Each instruction keeps its scope; names are resolved later.
 */

/** A literal. Integers have 64 bits; floats are the bits of an f64, or of an f32 if `single`. */
export type Constant =
  | { readonly kind: 'integer'; readonly value: bigint; readonly unsigned: boolean }
  | { readonly kind: 'float'; readonly bits: bigint; readonly single: boolean };

export type Operand =
  | { readonly kind: 'constant'; readonly constant: Constant }
  /** A register, variable, function or label, with an offset; `selector` is `.x` or `.h10` without its dot. */
  | {
      readonly kind: 'name';
      readonly name: string;
      readonly offset: bigint;
      readonly selector: string;
      readonly minus: boolean;
    }
  | { readonly kind: 'not'; readonly operand: Operand }
  | { readonly kind: 'vector'; readonly elements: readonly Operand[] }
  /** Two results: `d|p`. */
  | { readonly kind: 'pair'; readonly first: Operand; readonly second: Operand }
  /** Arguments or results of a call. */
  | { readonly kind: 'list'; readonly elements: readonly Operand[] }
  /** A memory operand: the value of a register or the address of a variable, plus a byte offset; without a name, the offset alone. */
  | { readonly kind: 'address'; readonly name: string | null; readonly offset: bigint }
  /** `_`: a result that is discarded. */
  | { readonly kind: 'sink' };

export interface Guard {
  readonly name: string;
  readonly negated: boolean;
}

export interface Instruction {
  readonly guard: Guard | null;
  readonly opcode: string;
  /** The modifiers of the opcode, without dots. */
  readonly modifiers: readonly string[];
  readonly operands: readonly Operand[];
  readonly line: number;
  readonly scope: Scope;
}

export type Space = 'reg' | 'param' | 'shared' | 'local' | 'global' | 'const';

/** Initial value of a variable: numbers, addresses, or lists of them. */
export type Initial =
  | { readonly kind: 'number'; readonly constant: Constant }
  /** The address of a variable or function, in its own space or generic; `mask` selects one byte of it. */
  | {
      readonly kind: 'symbol';
      readonly name: string;
      readonly offset: bigint;
      readonly generic: boolean;
      readonly mask: bigint | null;
    }
  | { readonly kind: 'list'; readonly elements: readonly Initial[] };

export interface Variable {
  readonly kind: 'variable';
  readonly space: Exclude<Space, 'reg'>;
  readonly name: string;
  readonly type: Type;
  /** Bytes per element; a vector has several elements. */
  readonly elementBytes: number;
  readonly align: number;
  /** Number of elements; null for an array without a size. */
  readonly length: number | null;
  readonly initial: Initial | null;
  readonly isExtern: boolean;
}

export interface Register {
  readonly kind: 'register';
  readonly name: string;
  readonly type: Type;
  /** Index among the registers of its function. */
  readonly slot: number;
}

/** What a name in a function's body refers to. */
export type Entity =
  | Register
  | Variable
  | { readonly kind: 'label'; readonly at: number }
  /** `.branchtargets`. */
  | { readonly kind: 'targets'; readonly labels: readonly string[]; readonly scope: Scope }
  /** `.calltargets` or `.callprototype`, which do not affect execution. */
  | { readonly kind: 'prototype' }
  | { readonly kind: 'function'; readonly name: string };

/** The names declared in a block, and a link to the enclosing scope. */
export class Scope {
  readonly outer: Scope | null;
  readonly #names = new Map<string, Entity>();

  constructor(outer: Scope | null) {
    this.outer = outer;
  }

  /** @returns false if the name is already declared in this scope */
  declare(name: string, entity: Entity): boolean {
    if (this.#names.has(name)) return false;
    this.#names.set(name, entity);
    return true;
  }

  find(name: string): Entity | undefined {
    return this.#names.get(name) ?? this.outer?.find(name);
  }
}

export interface PtxFunction {
  readonly name: string;
  readonly kind: 'entry' | 'func';
  readonly results: readonly (Register | Variable)[];
  readonly params: readonly (Register | Variable)[];
  /** Null if the function is only declared. */
  readonly body: Body | null;
  /** Directives before the body, such as `reqntid`, with their numeric arguments. */
  readonly directives: ReadonlyMap<string, readonly number[]>;
}

export interface Body {
  readonly instructions: readonly Instruction[];
  readonly registers: readonly Register[];
  /** Variables declared in the body; parameters are not included. */
  readonly variables: readonly Variable[];
}

export interface Module {
  readonly addressBits: number;
  readonly variables: readonly Variable[];
  readonly functions: readonly PtxFunction[];
  readonly scope: Scope;
}
