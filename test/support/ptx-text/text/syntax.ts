import type { Type } from '../values/types.ts';

/*
 * What PTX text says, as it is written: names are not resolved beyond the scope that they stand in.
 */

/** A number that is written down. Integers have 64 bits; floats are bits of f64, or of f32 where they are `single`. */
export type Constant =
  | { readonly kind: 'integer'; readonly value: bigint; readonly unsigned: boolean }
  | { readonly kind: 'float'; readonly bits: bigint; readonly single: boolean };

export type Operand =
  | { readonly kind: 'constant'; readonly constant: Constant }
  /** A register, variable, function or label, with what is added to an address; `selector` is `.x` or `.h10` without its dot. */
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
  /** Memory: what a register or variable holds or is, plus a number of bytes; without a name the number alone. */
  | { readonly kind: 'address'; readonly name: string | null; readonly offset: bigint }
  /** `_`: a result that nobody wants. */
  | { readonly kind: 'sink' };

export interface Guard {
  readonly name: string;
  readonly negated: boolean;
}

export interface Instruction {
  readonly guard: Guard | null;
  readonly opcode: string;
  /** The words behind the opcode, without dots. */
  readonly modifiers: readonly string[];
  readonly operands: readonly Operand[];
  readonly line: number;
  readonly scope: Scope;
}

export type Space = 'reg' | 'param' | 'shared' | 'local' | 'global' | 'const';

/** What a variable holds at first: numbers, addresses, or lists of them. */
export type Initial =
  | { readonly kind: 'number'; readonly constant: Constant }
  /** The address of a variable or function, in its own space or generic; `mask` takes a byte of it. */
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
  /** Bytes of an element, of which a vector has several. */
  readonly elementBytes: number;
  readonly align: number;
  /** Elements; null for an array whose size is not said. */
  readonly length: number | null;
  readonly initial: Initial | null;
  readonly isExtern: boolean;
}

export interface Register {
  readonly kind: 'register';
  readonly name: string;
  readonly type: Type;
  /** Number among the registers of its function. */
  readonly slot: number;
}

/** What a name of a function's body means. */
export type Entity =
  | Register
  | Variable
  | { readonly kind: 'label'; readonly at: number }
  /** `.branchtargets`. */
  | { readonly kind: 'targets'; readonly labels: readonly string[]; readonly scope: Scope }
  /** `.calltargets` or `.callprototype`, which say nothing about what happens. */
  | { readonly kind: 'prototype' }
  | { readonly kind: 'function'; readonly name: string };

/** The names between two braces, and those around them. */
export class Scope {
  readonly outer: Scope | null;
  readonly #names = new Map<string, Entity>();

  constructor(outer: Scope | null) {
    this.outer = outer;
  }

  /** @returns false if the name is taken */
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
  /** null if it is only declared. */
  readonly body: Body | null;
  /** Directives in front of the body, such as `reqntid`, with their numbers. */
  readonly directives: ReadonlyMap<string, readonly number[]>;
}

export interface Body {
  readonly instructions: readonly Instruction[];
  readonly registers: readonly Register[];
  /** Variables of the body, its parameters excluded. */
  readonly variables: readonly Variable[];
}

export interface Module {
  readonly addressBits: number;
  readonly variables: readonly Variable[];
  readonly functions: readonly PtxFunction[];
  readonly scope: Scope;
}
