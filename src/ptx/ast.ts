/**
 * Syntax tree of PTX: every directive and instruction of a file, in order, with source positions. Names of directives and modifiers are
 * without their leading dot; names of registers keep their `%`.
 */

/** Half-open range of UTF-16 offsets in the source text, with the line and column of its start, counted from 1. */
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
      /** The byte of the address that a mask such as `0xFF00(sym)` selects; -1 for the whole address. */
      readonly byte: number;
    }
  | { readonly kind: 'list'; readonly items: readonly Init[] };

/** A declared variable, register or parameter. */
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
  /** `.attribute(.managed, .unified(...))` verbatim; for a texture, sampler or surface also fields such as `filter_mode = nearest`. */
  readonly attributes: readonly string[];
  /** `.param ... .ptr .global .align 16`: the space that it points to ('' if `.ptr` names none); null without `.ptr`. */
  readonly ptr: { readonly space: string; readonly align: number } | null;
  /** `.reg .b32 %r<10>`: the count; else 0. */
  readonly count: number;
}

/**
 * An operand. Equal operands of one file may be one shared object, so that a register with a thousand uses takes the memory of one.
 * Operands therefore have no source position; `placeOf` finds it in the text of the instruction.
 */
export type PtxOperand =
  /** `%r1`, `%tid.x`, `%p1`. `neg`: `-%r1`; `not`: `!%p1`; `part`: the `x` of `%r1.x`, an element of a vector or a video selector. */
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
  /** A name without `%`: a variable, function, label or register. Also a register with an offset (`mov.u32 %r1, %r2+4`). */
  | { readonly kind: 'sym'; readonly name: string; readonly offset: bigint; readonly span?: Span }
  /** `[base + offset]`; base is a register, a symbol or ''. `extra` holds the further parts of `[a, {b, c}]`. */
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

/** An instruction. */
export interface PtxInstr {
  readonly kind: 'instr';
  readonly span: Span;
  /** Base opcode: 'add', 'ld', 'cp', 'wgmma'. */
  readonly opcode: string;
  /** The modifiers without their dots: ['rn', 'f32'], ['shared::cta', 'v4', 'u32'], ['async', ...]. */
  readonly mods: readonly string[];
  readonly guard: { readonly name: string; readonly not: boolean } | null;
  readonly operands: readonly PtxOperand[];
}

/** A statement of a function body. */
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
      /** The directives after the parameters, as for a function. */
      readonly directives: readonly string[];
      readonly span: Span;
    };

/** A kernel (`.entry`) or device function (`.func`), defined or only declared. */
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
  /** Whether the source does not declare it: calls imply the declaration. */
  readonly implied?: boolean;
}

/** An item at module scope. */
export type PtxItem =
  | PtxFunction
  | VarDecl
  | { readonly kind: 'file'; readonly index: number; readonly name: string; readonly span: Span }
  /** `.alias name, of;` */
  | { readonly kind: 'alias'; readonly name: string; readonly of: string; readonly span: Span }
  /** Anything kept verbatim: `.section`, `.pragma`, `@@DWARF` (directive 'dwarf'). */
  | { readonly kind: 'verbatim'; readonly directive: string; readonly span: Span };

/** A parsed PTX file. */
export interface PtxModule {
  /** File name for messages. */
  readonly name: string;
  /** The whole source: spans index into it. */
  readonly text: string;
  readonly version: string;
  /** `.target sm_90a, debug` -> ['sm_90a', 'debug']. */
  readonly target: readonly string[];
  readonly addressSize: 32 | 64;
  readonly items: readonly PtxItem[];
}
