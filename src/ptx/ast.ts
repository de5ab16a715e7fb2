/**
 * PTX as parsed: every directive and instruction of the file, in order, with places. Names are without the leading
 * dot of directives and modifiers; `.reg` names keep their `%`.
 */

/** Half-open range of offsets in the source text, with the line and column (from 1) of its start. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly column: number;
}

export type PtxSpace = 'reg' | 'sreg' | 'const' | 'global' | 'local' | 'param' | 'shared' | 'tex';

/** A scalar initialiser. `bits` is the value's bit pattern in the element type. */
export type Init =
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly bits: bigint; readonly width: 32 | 64 }
  | {
      readonly kind: 'address';
      readonly symbol: string;
      readonly addend: bigint;
      /** `generic(sym)` */
      readonly generic: boolean;
      /** `mask(...) `: which byte of the address, or -1. */
      readonly byte: number;
    }
  | { readonly kind: 'list'; readonly items: readonly Init[] };

export interface VarDecl {
  readonly kind: 'variable';
  readonly span: Span;
  readonly linkage: '' | 'extern' | 'visible' | 'weak' | 'common';
  readonly space: PtxSpace;
  /** Element type: 'u32', 'b8', 'f64', 'pred', 'texref', 'samplerref', 'surfref', ... */
  readonly type: string;
  /** Vector length of `.v2` / `.v4` elements, else 1. */
  readonly vector: number;
  readonly align: number;
  readonly name: string;
  /** Array dimensions; 0 for `[]`. Empty for a scalar. */
  readonly dims: readonly number[];
  readonly init: Init | null;
  /** `.attribute(.managed, .unified(...))` verbatim; of a texture, sampler or surface also `filter_mode = nearest`. */
  readonly attributes: readonly string[];
  /** `.param ... .ptr .global .align 16`: the space pointed to ('' if `.ptr` names none), else null. */
  readonly ptr: { readonly space: string; readonly align: number } | null;
  /** `.reg .b32 %r<10>`: the count; else 0. */
  readonly count: number;
}

/**
 * An operand. Equal operands of one file may be one object, so that a register that stands a thousand times costs nothing;
 * hence they have no place of their own: `placeOf` finds it in the instruction's text.
 */
export type PtxOperand =
  /** `%r1`, `%tid.x`, `%p1`; `neg` for `-%r1`, `not` for `!%p1`; `part` for `%r1.x` lanes of vectors and video selectors. */
  | {
      readonly kind: 'reg';
      readonly name: string;
      readonly neg: boolean;
      readonly not: boolean;
      readonly part: string;
      readonly span?: Span;
    }
  | { readonly kind: 'int'; readonly value: bigint; readonly unsigned: boolean }
  /** `0f3F800000` (32), `0d...` (64), or a decimal literal (64). */
  | { readonly kind: 'float'; readonly bits: bigint; readonly width: 32 | 64 }
  /** A variable, function, label or register without `%`; with an offset also a register (`mov.u32 %r1, %r2+4`). */
  | { readonly kind: 'sym'; readonly name: string; readonly offset: bigint; readonly span?: Span }
  /** `[base + offset]`; base is a register, a symbol or absent. `extra` holds further parts of `[a, {b, c}]`. */
  | {
      readonly kind: 'addr';
      readonly base: string;
      readonly offset: bigint;
      readonly extra: readonly PtxOperand[];
      /** `[a].unified` of a load. */
      readonly unified?: true;
    }
  | { readonly kind: 'vector'; readonly items: readonly PtxOperand[] }
  /** `%p1|%p2`, `%r1|%p2`. */
  | { readonly kind: 'pair'; readonly first: PtxOperand; readonly second: PtxOperand }
  /** `(a, b)` of call. */
  | { readonly kind: 'list'; readonly items: readonly PtxOperand[] }
  /** `_`. */
  | { readonly kind: 'sink' };

export interface PtxInstr {
  readonly kind: 'instr';
  readonly span: Span;
  /** Base opcode: 'add', 'ld', 'cp', 'wgmma'. */
  readonly opcode: string;
  /** All that follows with dots removed: ['rn', 'f32'], ['shared::cta', 'v4', 'u32'], ['async', ...]. */
  readonly mods: readonly string[];
  readonly guard: { readonly name: string; readonly not: boolean } | null;
  readonly operands: readonly PtxOperand[];
}

export type PtxStatement =
  | PtxInstr
  | VarDecl
  | { readonly kind: 'label'; readonly name: string; readonly span: Span }
  | {
      readonly kind: 'loc';
      readonly file: number;
      readonly line: number;
      readonly column: number;
      /** `function_name ... inlined_at ...` verbatim, or ''. */
      readonly rest: string;
      readonly span: Span;
    }
  | { readonly kind: 'pragma'; readonly text: string; readonly span: Span }
  /** `{ ... }` with declarations of its own. */
  | { readonly kind: 'scope'; readonly body: readonly PtxStatement[]; readonly span: Span }
  /** `name: .branchtargets a, b;` */
  | {
      readonly kind: 'branchtargets';
      readonly name: string;
      readonly labels: readonly string[];
      readonly span: Span;
    }
  /** `name: .calltargets f, g;` */
  | {
      readonly kind: 'calltargets';
      readonly name: string;
      readonly functions: readonly string[];
      readonly span: Span;
    }
  /** `name: .callprototype (ret) _ (params);` */
  | {
      readonly kind: 'callprototype';
      readonly name: string;
      readonly returns: readonly VarDecl[];
      readonly params: readonly VarDecl[];
      readonly noreturn: boolean;
      /** What follows the parameters, as of a function. */
      readonly directives: readonly string[];
      readonly span: Span;
    };

export interface PtxFunction {
  readonly kind: 'function';
  readonly span: Span;
  readonly linkage: '' | 'extern' | 'visible' | 'weak';
  readonly entry: boolean;
  readonly name: string;
  readonly returns: readonly VarDecl[];
  readonly params: readonly VarDecl[];
  /** Performance and other directives between header and body, verbatim: `.maxntid 256, 1, 1`, `.noreturn`. */
  readonly directives: readonly string[];
  /** null for a declaration. */
  readonly body: readonly PtxStatement[] | null;
  /** Whether the text has no such declaration, and calls imply it. */
  readonly implied?: boolean;
}

export type PtxItem =
  | PtxFunction
  | VarDecl
  | { readonly kind: 'file'; readonly index: number; readonly name: string; readonly span: Span }
  /** `.alias name, of;` */
  | { readonly kind: 'alias'; readonly name: string; readonly of: string; readonly span: Span }
  /** Anything kept verbatim: `.section`, `.pragma`, `@@DWARF` (directive 'dwarf'). */
  | { readonly kind: 'verbatim'; readonly directive: string; readonly span: Span };

export interface PtxModule {
  /** Name for messages. */
  readonly name: string;
  /** The whole source: spans index into it. */
  readonly text: string;
  readonly version: string;
  /** `.target sm_90a, debug` -> ['sm_90a', 'debug']. */
  readonly target: readonly string[];
  readonly addressSize: 32 | 64;
  readonly items: readonly PtxItem[];
}
