import type { Operand } from './operand.ts';

export { FILES, type File, Mod } from './operand.ts';

/**
 * An opcode: its operand slots, modifiers and properties. The table itself is data (`pipelines/isa/*.yaml`);
 * `src/isa` turns that data into these objects.
 */

/** Properties of an opcode, as a bit set in `Opcode.flags`. */
export const OpFlag = {
  /** Changes something beyond its destinations; never removed when its destinations are dead. */
  SideEffect: 1 << 0,
  /** May transfer control: branch, call, return, exit. Last in its block once phase 6 has run. */
  Control: 1 << 1,
  /** Unless guarded, control never reaches the next instruction. */
  NoFallThrough: 1 << 2,
  /** The first two sources may be exchanged. */
  Commutative: 1 << 3,
  /** May carry a guard. */
  Predicable: 1 << 4,
  /** Has no machine encoding; a later phase expands it. */
  Pseudo: 1 << 5,
  ReadsMemory: 1 << 6,
  WritesMemory: 1 << 7,
  /** Its result or effect depends on which other lanes execute it: never moved across control flow. */
  Convergent: 1 << 8,
  /** A thread or memory barrier: memory operations are not moved across it. */
  Barrier: 1 << 9,
  /** Result may differ between executions with equal inputs (clocks, volatile state): never merged. */
  Volatile: 1 << 10,
  /** Approximate function: folded only on request. */
  Approximate: 1 << 11,
  /** Results depend on register values only (no memory, no other lanes): may be folded, copied, moved. */
  Pure: 1 << 12,
  /** The first three sources may be exchanged. */
  Symmetric: 1 << 13,
  /** The first three sources may be exchanged if the truth table, the fourth source, is permuted with them. */
  Table: 1 << 14,
  /** A phi: sources alternate between a predecessor's label and the value from that predecessor. */
  Phi: 1 << 15,
  /** If a source holds an address, the result may hold an address derived from it. */
  HandsAddressOn: 1 << 16,
  /** Compares its first two sources, and comparing a value with itself always gives the same result. */
  Reflexive: 1 << 17,
  /** Adds the carry in its third source, and returns the carry out as its second destination. */
  Carries: 1 << 18,
  /** Its result is its first source; with the property `table`, only if the table selects that source. */
  Copies: 1 << 19,
  /** Its result is its first source if its third, a predicate, is true, and its second otherwise. */
  Selects: 1 << 20,
} as const;

/** Memory spaces, in the order of the reference's categories 0-6. */
export const SPACES = ['generic', 'shared', 'local', 'const', 'param', 'global', 'cluster'] as const;
export type Space = (typeof SPACES)[number];

/** Operand kinds a slot accepts, as a bit set (1 << Kind). See `operand.ts`. */
export type KindSet = number;

/** One operand position of an opcode. */
export interface Slot {
  readonly name: string;
  /**
   * 'r' general register, 'p' predicate, 'u' uniform register, 'b' barrier register, 'any' of these except 'b',
   * 'none' (labels, symbols).
   */
  readonly bank: 'r' | 'p' | 'u' | 'b' | 'any' | 'none';
  /** Width in bits (1 for predicates); 0: given by the modifier group `widthFrom`. */
  readonly width: number;
  /** Name of the modifier group whose chosen value gives the width. */
  readonly widthFrom: string | null;
  readonly kinds: KindSet;
  /** Source modifiers allowed (`Mod` bits). */
  readonly mods: number;
  /** A destination that may be discarded (RZ / PT), or a source that may be omitted. */
  readonly optional: boolean;
  /** Takes this and all further operands: destinations or sources. */
  readonly variadic: boolean;
  /** Value of an optional source that is omitted; null: PT in predicate slots, RZ elsewhere. */
  readonly default: Operand | null;
}

/** The classes that instructions are counted under, in the order of reports. */
export const CLASSES = [
  'integer',
  'float',
  'convert',
  'move',
  'predicate',
  'memory',
  'warp',
  'control',
] as const;
export type InstrClass = (typeof CLASSES)[number];

/** One value of a modifier group. */
export interface ModValue {
  readonly name: string;
  /** Register width in bits that the value implies, for slots with `widthFrom`; 0 if it implies none. */
  readonly width: number;
  /** Scalar type that it denotes ('s32', 'f16x2', ...), or null. */
  readonly type: string | null;
}

/** A modifier group. One of its values is always chosen; the choices are packed into `Instr.mods`. */
export interface ModGroup {
  readonly name: string;
  readonly values: readonly ModValue[];
  /** True: always printed. False: value 0 is the default and is not printed. */
  readonly required: boolean;
  readonly shift: number;
  readonly mask: number;
}

/** The access of an opcode through one of its address operands. */
export interface Access {
  /** Index of the source that is the address. */
  readonly src: number;
  readonly space: Space;
  readonly reads: boolean;
  readonly writes: boolean;
  /** Bytes touched; 0: given by `bytesFrom`, unknown if that is null. */
  readonly bytes: number;
  /** Modifier group whose chosen value gives the type of one element. */
  readonly bytesFrom: ModGroup | null;
  /** Modifier group whose chosen value, `V1` to `V8`, gives the number of elements. */
  readonly countFrom: ModGroup | null;
}

/** Uniformity of a value: which threads that execute an instruction together have the same. A larger number: fewer. */
export const Lanes = {
  /** The same in all threads of a block. */
  Block: 0,
  /** The same in all lanes of a warp. */
  Warp: 1,
  Varying: 2,
} as const;

/** A row of an opcode's `lanes`, for one or all results; the first row that matches applies. */
export interface LaneRule {
  /** Number of the result, -1 for all. */
  readonly dst: number;
  /** The row applies only if this value of the group is chosen; null: always. */
  readonly group: ModGroup | null;
  readonly index: number;
  /** Minimum `Lanes` level of the result. */
  readonly level: number;
  /**
   * The result's level is at least the maximum level of these sources: the numbered ones, all, or, for mutable memory, those
   * of the address.
   */
  readonly from: readonly number[] | 'operands' | 'memory';
}

/** Properties of a special register. */
export interface SpecialRegister {
  /** `Lanes` level. */
  readonly level: number;
  /** Smallest and largest value, unsigned. */
  readonly least: number;
  readonly most: number;
  /** Axis along which it is the thread's index in the block; -1 for none. */
  readonly thread: number;
  /** Axis along which it is the extent of the block; -1 for none. */
  readonly extent: number;
  /** Whether a thread that reads it again may get another value. */
  readonly changes: boolean;
}

/** An opcode, built from its row of `pipelines/isa`. */
export interface Opcode {
  /** Dense index in its instruction set; for table look-ups within one process only. */
  readonly id: number;
  readonly name: string;
  readonly title: string;
  readonly dsts: readonly Slot[];
  readonly srcs: readonly Slot[];
  readonly groups: readonly ModGroup[];
  /** Modifier value name -> group and index. Value names are unique within an opcode. */
  readonly modByName: ReadonlyMap<string, { readonly group: ModGroup; readonly index: number }>;
  readonly groupByName: ReadonlyMap<string, ModGroup>;
  /** `OpFlag` bits. */
  readonly flags: number;
  readonly space: Space | null;
  /** One for each source that may be an address; empty for opcodes without addresses. */
  readonly accesses: readonly Access[];
  readonly unit: string;
  /** The class that reports count it under. */
  readonly class: InstrClass;
  /** Uniformity of its results; empty: that of its operands if it is pure, else varying. */
  readonly lanes: readonly LaneRule[];
  /** By value of the first modifier group: the special register that it reads; empty for other opcodes. */
  readonly special: readonly (SpecialRegister | null)[];
  /** Opcode number seen in traces of ptxas; documentation only, never dispatched on. */
  readonly observed: number | null;
  /** Name of the primitive that implements it, if an expression cannot (memory, lanes, barriers, control). */
  readonly primitive: string | null;
  /** Source text of the meaning, in the expression language of `src/isa`; null for primitives. */
  readonly means: string | null;
}

/** A row of the table `foreign`: PTX instructions that Ori carries unchanged. */
export interface ForeignForm {
  readonly title: string;
  /** Names of the instructions with their modifiers; `*` matches any characters. */
  readonly names: readonly string[];
  /** Matches the whole name of an instruction. */
  readonly fits: (name: string) => boolean;
  /** The opcode that represents it, with its modifiers; null if Ori cannot represent it. */
  readonly op: Opcode | null;
  readonly mods: number;
  /** Number of leading operands that are written; -1: one, or none if the first is an address. */
  readonly results: number;
  /** Whether the results are also read. */
  readonly tied: boolean;
  /** Whether it is the catch-all row for instructions whose operands are unknown. */
  readonly unknown: boolean;
  /** Why Ori cannot represent it, or ''. */
  readonly none: string;
}

/** A row of `ptx.yaml` that lowering reads too: a PTX instruction that corresponds to one Ori instruction. */
export interface SpelledRow {
  readonly op: Opcode;
  /** Modifier group -> the value or values that the row applies to. */
  readonly mods: Readonly<Record<string, string | readonly string[]>>;
  /** Operands in PTX order, such as `a, -b`; undefined for all, in Ori's order. */
  readonly src: string | undefined;
  readonly ptx: string;
}

/** A row of `lowering` in `ptx.yaml`: a form of a PTX instruction, and the Ori instructions that it becomes. */
export interface LoweringRow {
  readonly ptx: string;
  readonly ori: readonly string[];
}

/** PTX spellings of opcodes, for lowering. */
export interface Spelling {
  /** Modifier group, or OPCODE.group -> PTX spelling of each of its values. */
  readonly words: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly rows: readonly SpelledRow[];
  readonly lowering: readonly LoweringRow[];
  /** Sets of words and types in `lowering`: the words, separated by spaces. */
  readonly sets: Readonly<Record<string, string>>;
  /** By set of `lowering`: Ori names of its words, where they are not the word in upper case. */
  readonly names: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** The spelling of an instruction set without a table. */
export const NO_SPELLING: Spelling = { words: {}, rows: [], lowering: [], sets: {}, names: {} };

/** The instruction set: opcodes by name. One process has one object for each content (`buildIsa`). */
export interface Isa {
  readonly opcodes: readonly Opcode[];
  readonly byName: ReadonlyMap<string, Opcode>;
  /** PTX instructions without an opcode of their own; the first row that matches applies. */
  readonly foreign: readonly ForeignForm[];
  /** Opcodes that rows of `foreign` name in full: they are accepted even if the PTX ISA does not have them. */
  readonly declared: ReadonlySet<string>;
  /** PTX instructions that correspond to one Ori instruction, from the table with which the emitter writes them. */
  readonly spelling: Spelling;
  /** Hash of everything that the opcodes define; part of every cache key. */
  readonly hash: string;
}

/** The row for a PTX instruction by its name with modifiers; undefined if no row matches. */
export const foreignForm = (isa: Isa, name: string): ForeignForm | undefined =>
  isa.foreign.find((f) => f.fits(name));

/** The value of a modifier group that `mods` choose. */
export const chosen = (g: ModGroup, mods: number): ModValue => g.values[(mods >>> g.shift) & g.mask];

/** Name of the value chosen in group `group`. @throws Error if the opcode has no such group */
export function modOf(op: Opcode, mods: number, group: string): string {
  const g = op.groupByName.get(group);
  if (g === undefined) throw new Error(`${op.name} has no modifier group '${group}'`);
  return chosen(g, mods).name;
}

/** Is the value called `name` chosen? False also if the opcode has no such value. */
export function hasMod(op: Opcode, mods: number, name: string): boolean {
  const m = op.modByName.get(name);
  return m !== undefined && ((mods >>> m.group.shift) & m.group.mask) === m.index;
}

/** `mods` with the named values chosen. @throws Error on a name that the opcode does not have */
export function withMods(op: Opcode, mods: number, ...names: readonly string[]): number {
  for (const name of names) {
    const m = op.modByName.get(name);
    if (m === undefined) throw new Error(`${op.name} has no modifier '.${name}'`);
    mods = (mods & ~(m.group.mask << m.group.shift)) | (m.index << m.group.shift);
  }
  return mods >>> 0;
}

/** Width in bits of a slot under the given modifiers. */
export function slotWidth(op: Opcode, mods: number, slot: Slot): number {
  if (slot.widthFrom === null) return slot.width;
  const g = op.groupByName.get(slot.widthFrom)!;
  return g.values[(mods >>> g.shift) & g.mask].width;
}

/** Slot of the i-th destination (the last one repeats if variadic); undefined when there is none. */
export function dstSlot(op: Opcode, i: number): Slot | undefined {
  const n = op.dsts.length;
  if (i < n) return op.dsts[i];
  return n > 0 && op.dsts[n - 1].variadic ? op.dsts[n - 1] : undefined;
}

/** Slot of the i-th source (the last one repeats if variadic); undefined when there is none. */
export function srcSlot(op: Opcode, i: number): Slot | undefined {
  const n = op.srcs.length;
  if (i < n) return op.srcs[i];
  return n > 0 && op.srcs[n - 1].variadic ? op.srcs[n - 1] : undefined;
}
