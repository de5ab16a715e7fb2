import type { MachineCode } from './machine-code.ts';
import type { Opcode, Space } from './opcode.ts';
import { type Operand, type Reg, RZ } from './operand.ts';

/**
 * Snapshots. A `Program` and everything below it is immutable and shared: an edit makes new objects along the path to
 * the change and keeps every other reference, so `a === b` means "unchanged".
 */

/** One instruction. Create it with `instr`, so that all instructions have one shape. */
export interface Instr {
  readonly op: Opcode;
  /** Packed modifier values; read with `modOf` / `hasMod`, write with `withMods`. */
  readonly mods: number;
  /** Predicate register that guards it, or NO_REG. */
  readonly guard: Reg;
  /** Whether it runs if the guard is false. */
  readonly guardNot: boolean;
  /** Registers written; NO_REG for discarded results. */
  readonly dst: readonly Reg[];
  readonly src: readonly Operand[];
  /**
   * SSA only: by destination, the register whose value the destination has if the guard is false; NO_REG if that
   * value is unused. `NONE` without a guard and outside SSA, where the destination keeps its old contents.
   */
  readonly otherwise: readonly Reg[];
  /** Index into `Program.locs` (0: none): the source line of the instruction. */
  readonly loc: number;
}

/** The empty register list. Not frozen: frozen arrays have another hidden class in V8, so code that reads both is compiled twice. */
export const NONE: readonly Reg[] = [];

/** An empty list with V8's element kind for objects, like the lists that it replaces; `[]` has that for small integers. */
const NOTHING: readonly never[] = [RZ].slice(1) as never[];
/** The list itself, or one shared list for every empty one, so that all lists have the same element kind. */
export const listed = <T>(list: readonly T[]): readonly T[] => (list.length === 0 ? NOTHING : list);

/** A basic block. Control falls through to the next block in layout order unless the last instruction forbids it. */
export interface Block {
  /** Unique in the function, stable under reordering. Branch targets name it. */
  readonly id: number;
  /** Label in the source, for readers; '' if it had none. */
  readonly name: string;
  readonly ins: readonly Instr[];
}

/** A formal parameter or return value. */
export interface Param {
  readonly name: string;
  /** PTX type without the dot: 'u64', 'f32', 'b8', ... */
  readonly type: string;
  /** Size in bytes (array parameters: of the whole array). */
  readonly size: number;
  readonly align: number;
  /** Byte offset in the parameter space of the function. */
  readonly offset: number;
  /** A `.reg` parameter of a device function: the register that holds it on entry (or at return); else NO_REG. */
  readonly reg: Reg;
  /** Whether it is an array in the source (`.param .b8 p[16]`). */
  readonly array: boolean;
  /** `.ptr` attribute: the space pointed to, or ''. */
  readonly ptr: string;
  /** Alignment in bytes of what it points to, as `.ptr` states it; 0 without `.ptr`. */
  readonly pointeeAlign: number;
}

/** A variable: `.global`, `.const`, `.shared`, `.local`, or `.param` of a call site. */
export interface Variable {
  readonly name: string;
  readonly space: Space;
  /** PTX element type without the dot. */
  readonly type: string;
  /** Size in bytes; 0 for an unsized extern array. */
  readonly size: number;
  readonly align: number;
  readonly linkage: '' | 'extern' | 'visible' | 'weak' | 'common';
  /** Initial bytes, or null if not initialised. If shorter than `size`, the rest is zero. */
  readonly init: Uint8Array | null;
  /** Addresses inside `init`: at byte `at`, `bytes` wide, the address of `symbol` + `addend`, generic if `generic` is true. */
  readonly relocs: readonly {
    readonly at: number;
    readonly bytes: number;
    readonly symbol: string;
    readonly addend: number;
    readonly generic: boolean;
    /** `mask(...)` of PTX: only this byte of the address; -1 for the whole address. */
    readonly byte: number;
  }[];
  /** Attributes kept verbatim, e.g. `.managed`. */
  readonly attrs: readonly string[];
}

/** How often a block ran in a profiled run. */
export interface BlockCount {
  /** Block id. */
  readonly block: number;
  readonly count: number;
}

/** Attributes of a function. */
export interface FnAttrs {
  /** Directives kept verbatim in order: `.maxntid 256`, `.minnctapersm 2`, ... */
  readonly directives: readonly string[];
  /** `.pragma` texts, each with the block at whose start it stands (at the first block: for the whole function). */
  readonly pragmas: readonly { readonly block: number; readonly text: string }[];
  readonly linkage: '' | 'extern' | 'visible' | 'weak';
  readonly noreturn: boolean;
  /** Block counts from a profile; empty without one. Blocks created since have none. */
  readonly counts: readonly BlockCount[];
}

/** A function. */
export interface Fn {
  readonly name: string;
  /** An `entry` ends with EXIT or RET; a `func` returns with RET. */
  readonly kind: 'entry' | 'func';
  readonly params: readonly Param[];
  readonly returns: readonly Param[];
  /** Layout order; the first is the entry. */
  readonly blocks: readonly Block[];
  /** All register indices in use are below this; new registers start here. */
  readonly regCount: number;
  /** All block ids in use are below this. */
  readonly blockCount: number;
  /** Variables of function scope: `.local`, call-site `.param`. Function-scope `.shared` is in `Program.variables`. */
  readonly variables: readonly Variable[];
  /** Jump tables: block ids. */
  readonly tables: readonly (readonly number[])[];
  readonly attrs: FnAttrs;
  /**
   * Identity of the block layout and the edges: versions of a function that differ only in other instructions share
   * it, and with it every analysis of the flow graph.
   */
  readonly shape: Shape;
  /** Its machine code, as far as phases of the back end have made it; absent before them, and wherever PTX is written. */
  readonly code?: MachineCode;
}

/** Identity of a flow graph; see `Fn.shape`. Only object identity matters. */
export interface Shape {
  readonly shape: true;
}

/** A new flow graph identity. */
export const newShape = (): Shape => ({ shape: true });

/** Source position: always a PTX line, and the `.loc` that covers it, if any. */
export interface Loc {
  /** Line in the PTX text, from 1. */
  readonly line: number;
  /** `.loc` file index, line and column; 0 if there is none. */
  readonly file: number;
  readonly srcLine: number;
  readonly srcColumn: number;
}

/** A line of the source code that was compiled to PTX. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/**
 * The source line that a `.loc` directive names for a location; null if none does, or its file is not known.
 * @param loc index into `Program.locs`
 */
export function sourceOf(program: Pick<Program, 'locs' | 'files'>, loc: number): SourceLine | null {
  const at = program.locs[loc];
  if (at === undefined || at.file === 0) return null;
  const file = program.files.find((f) => f.index === at.file);
  return file === undefined ? null : { file: file.name, line: at.srcLine };
}

/** A function declared but not defined in this module, or a prototype for indirect calls. */
export interface Prototype {
  readonly name: string;
  readonly params: readonly Param[];
  readonly returns: readonly Param[];
  readonly noreturn: boolean;
}

/** Resolves an alias to the name of the function that it stands for; returns any other name unchanged. */
export const ownName = (program: Program, name: string): string =>
  program.aliases.find((a) => a.name === name)?.of ?? name;

/** One snapshot of a module. */
export interface Program {
  /** Name for messages (the file's). */
  readonly name: string;
  readonly version: string;
  readonly target: string;
  readonly addressSize: 32 | 64;
  readonly functions: readonly Fn[];
  readonly variables: readonly Variable[];
  readonly prototypes: readonly Prototype[];
  /** Other names of functions, each of which is declared too (`.alias`, PTX ISA 9.0, 5.4.6). */
  readonly aliases: readonly { readonly name: string; readonly of: string }[];
  /** Source positions; entry 0 is "none". */
  readonly locs: readonly Loc[];
  /** `.file` table: index and name. */
  readonly files: readonly { readonly index: number; readonly name: string }[];
  /** Functions that could not be lowered, with the reasons; they are not in `functions`. */
  readonly skipped: readonly { readonly name: string; readonly why: readonly string[] }[];
}

/** Creates a function from its parts, so that all functions have one shape. */
export const makeFn = (f: Fn): Fn => ({
  name: f.name,
  kind: f.kind,
  params: listed(f.params),
  returns: listed(f.returns),
  blocks: f.blocks,
  regCount: f.regCount,
  blockCount: f.blockCount,
  variables: listed(f.variables),
  tables: listed(f.tables),
  attrs: f.attrs,
  shape: f.shape,
  code: f.code,
});

/**
 * Creates an instruction. `src` and `dst` are kept, not copied, and must not be modified later; an empty `src` is replaced by a
 * shared list.
 */
export const instr = (
  op: Opcode,
  mods: number,
  dst: readonly Reg[],
  src: readonly Operand[],
  loc = 0,
  guard: Reg = -1,
  guardNot = false,
  otherwise: readonly Reg[] = NONE,
): Instr => ({ op, mods, guard, guardNot, dst, src: listed(src), otherwise, loc });
