import type { ModGroup } from '../../ir/opcode.ts';
import type { FormatName } from '../formats.ts';
import type { GraphBuilder } from './graph.ts';
import type { Expr } from './parse.ts';

/** A float type: an element format, and whether two elements are packed into 32 bits. */
export interface FloatType {
  readonly element: FormatName;
  readonly packed: boolean;
}

/** The value of an expression during elaboration. All kinds except `bits` are static, that is, known from the modifiers. */
export type Value =
  | { readonly k: 'bits'; readonly id: number; readonly float: FloatType | null }
  | { readonly k: 'int'; readonly value: bigint }
  | { readonly k: 'bool'; readonly value: boolean }
  /** A value of a modifier group (with the scalar type it stands for), or a bare name such as `F32` or `RN`. */
  | {
      readonly k: 'name';
      readonly name: string;
      readonly type: string | null;
      readonly group: ModGroup | null;
    };

/** The part of the elaborator that built-in functions use. */
export interface Scope {
  readonly b: GraphBuilder;
  /** Value of an expression; `want` is the width that the context expects, if known. */
  eval(e: Expr, want: number | null): Value;
  /** Node for a value; a static one becomes a constant of `want` bits. */
  bits(v: Value, want: number | null, at: number): number;
  /** Two values as bit vectors of the same width; a static one takes the width of the other. */
  together(a: Value, b: Value, want: number | null, atA: number, atB: number): [number, number];
  /** Truth of a static value. */
  truth(v: Value, at: number): boolean;
  /** Number of the source operand that a bare name refers to, or -1. */
  sourceIndex(e: Expr): number;
  /** Node of a source before its modifiers. */
  rawSource(k: number): number;
  /** `Mod` bits of a source. */
  sourceMods(k: number): number;
  /** Width of a destination or source by name, or null. */
  slotWidthOf(name: string): number | null;
}

/** The value of a node. */
export const bitsOf = (id: number, float: FloatType | null = null): Value => ({ k: 'bits', id, float });
