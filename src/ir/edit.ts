import { makeReg, NO_REG, type Operand, type Reg } from './operand.ts';
import {
  type Block,
  type Fn,
  type Instr,
  instr,
  makeFn,
  NONE,
  newShape,
  type Program,
  type Shape,
} from './program.ts';

/*
 * Editing preserves sharing: every helper returns its argument if nothing changes, and copies only the path to the
 * change. Hot code uses object literals with all fields instead of spreads: creating an object of one shape takes 6 ns,
 * spreading a frozen object 57 ns.
 */

/** `fn` with other blocks in layout order. */
export function withBlocks(fn: Fn, blocks: readonly Block[]): Fn {
  return blocks === fn.blocks ? fn : copyFn(fn, blocks, fn.regCount, fn.blockCount, fn.tables);
}

/**
 * `fn` with any of blocks, counters and tables replaced.
 * @param shape `fn.shape` if no block and no edge differs; by default a new one, since the flow graph may have changed
 */
export function copyFn(
  fn: Fn,
  blocks: readonly Block[],
  regCount: number,
  blockCount: number,
  tables: Fn['tables'],
  shape: Shape = newShape(),
): Fn {
  return makeFn({ ...fn, blocks, regCount, blockCount, tables, shape });
}

/** `fn` with other variables and attributes, and with other registers of its parameters and results. */
export const withDeclarations = (
  fn: Fn,
  variables: Fn['variables'],
  attrs: Fn['attrs'] = fn.attrs,
  params: Fn['params'] = fn.params,
  returns: Fn['returns'] = fn.returns,
): Fn => makeFn({ ...fn, variables, attrs, params, returns });

/** `b` with other instructions. */
export const withIns = (b: Block, ins: readonly Instr[]): Block =>
  ins === b.ins ? b : { id: b.id, name: b.name, ins };

/** The same instruction with other sources. */
export const withSrc = (i: Instr, src: readonly Operand[]): Instr =>
  make(i, i.op, i.mods, i.dst, src, i.guard, i.guardNot, i.otherwise);
/** The same instruction with other destinations, and other values under a false guard if `otherwise` is given. */
export const withDst = (i: Instr, dst: readonly Reg[], otherwise: readonly Reg[] = i.otherwise): Instr =>
  make(i, i.op, i.mods, dst, i.src, i.guard, i.guardNot, otherwise);
/** The same instruction with another guard. Without a guard it has no values under a false one. */
export const withGuard = (i: Instr, guard: Reg, guardNot = false): Instr =>
  make(i, i.op, i.mods, i.dst, i.src, guard, guardNot, guard === NO_REG ? NONE : i.otherwise);
/** The same instruction with other values under a false guard. */
export const withOtherwise = (i: Instr, otherwise: readonly Reg[]): Instr =>
  make(i, i.op, i.mods, i.dst, i.src, i.guard, i.guardNot, otherwise);
/** The same instruction with another source line. */
export const withLoc = (i: Instr, loc: number): Instr =>
  instr(i.op, i.mods, i.dst, i.src, loc, i.guard, i.guardNot, i.otherwise);
/** The same instruction with other modifiers. */
export const withModsOf = (i: Instr, mods: number): Instr =>
  make(i, i.op, mods, i.dst, i.src, i.guard, i.guardNot, i.otherwise);

function make(
  i: Instr,
  op: Instr['op'],
  mods: number,
  dst: readonly Reg[],
  src: readonly Operand[],
  guard: Reg,
  guardNot: boolean,
  otherwise: readonly Reg[],
): Instr {
  return instr(op, mods, dst, src, i.loc, guard, guard !== NO_REG && guardNot, otherwise);
}

/**
 * Maps a list to operands. Once `Array.prototype.map` is compiled, its result is an array that may have holes, as far as V8
 * knows. Code that handles arrays of both kinds is compiled again, and a store into an array without holes then converts
 * it to one that may have holes. Array literals never have holes.
 */
export function toOperands<A, T extends Operand | null = Operand>(
  list: readonly A[],
  f: (x: A, i: number) => T,
): T[] {
  switch (list.length) {
    case 0:
      return [];
    case 1:
      return [f(list[0], 0)];
    case 2:
      return [f(list[0], 0), f(list[1], 1)];
    case 3:
      return [f(list[0], 0), f(list[1], 1), f(list[2], 2)];
    case 4:
      return [f(list[0], 0), f(list[1], 1), f(list[2], 2), f(list[3], 3)];
  }
  const out: T[] = [];
  for (let i = 0; i < list.length; i++) out.push(f(list[i], i));
  return out;
}

/** Maps a list to registers; see `toOperands`. */
export function toRegs<A>(list: readonly A[], f: (x: A, i: number) => Reg): Reg[] {
  switch (list.length) {
    case 0:
      return [];
    case 1:
      return [f(list[0], 0)];
    case 2:
      return [f(list[0], 0), f(list[1], 1)];
  }
  const out: Reg[] = [];
  for (let i = 0; i < list.length; i++) out.push(f(list[i], i));
  return out;
}

/**
 * The instruction with other registers and operands.
 * @param register is called for NO_REG too
 */
export const renamedBy = (x: Instr, register: (r: Reg) => Reg, operand: (o: Operand) => Operand): Instr =>
  instr(
    x.op,
    x.mods,
    toRegs(x.dst, register),
    toOperands(x.src, operand),
    x.loc,
    register(x.guard),
    x.guardNot,
    x.otherwise.length === 0 ? NONE : toRegs(x.otherwise, register),
  );

/** The same instruction with source `at` replaced. */
export function withSource(i: Instr, at: number, o: Operand): Instr {
  if (i.src[at] === o) return i;
  const src = [...i.src];
  src[at] = o;
  return withSrc(i, src);
}

/**
 * Applies `f` to every block: the same block for "unchanged", null to drop it, several to replace it.
 * Returns `fn` itself if every block came back unchanged.
 */
export function mapBlocks(fn: Fn, f: (b: Block, position: number) => Block | null | readonly Block[]): Fn {
  const out = replaced(fn.blocks, f);
  return out === fn.blocks ? fn : withBlocks(fn, out);
}

/**
 * Applies `f` to every instruction of a block: the same one for "unchanged", null to delete it, several to replace
 * it.
 * Returns `b` itself if every instruction came back unchanged.
 */
export function mapIns(b: Block, f: (ins: Instr, index: number) => Instr | null | readonly Instr[]): Block {
  const out = replaced(b.ins, f);
  return out === b.ins ? b : withIns(b, out);
}

/** A list with what `f` makes of each element; the list itself if every element came back unchanged. */
function replaced<T extends object>(
  list: readonly T[],
  f: (x: T, index: number) => T | null | readonly T[],
): readonly T[] {
  let out: T[] | null = null;
  for (let i = 0; i < list.length; i++) {
    const x = list[i];
    const r = f(x, i);
    if (r === x) {
      if (out !== null) out.push(x);
      continue;
    }
    if (out === null) out = list.slice(0, i);
    if (r === null) continue;
    if (Array.isArray(r)) for (const y of r as readonly T[]) out.push(y);
    else out.push(r as T);
  }
  return out ?? list;
}

/** Allocates registers, blocks and tables while a pass builds its result. */
export class FnEditor {
  readonly fn: Fn;
  private regs: number;
  private blocks: number;
  private tables: (readonly number[])[] | null = null;

  constructor(fn: Fn) {
    this.fn = fn;
    this.regs = fn.regCount;
    this.blocks = fn.blockCount;
  }

  /** An unused register in the given file (`RegFile`). */
  freshReg(file: number): Reg {
    return makeReg(this.regs++, file);
  }

  /** An unused block id. */
  freshBlock(): number {
    return this.blocks++;
  }

  /** Adds a jump table. @returns its index */
  addTable(targets: readonly number[]): number {
    this.tables ??= [...this.fn.tables];
    this.tables.push(targets);
    return this.tables.length - 1;
  }

  /** The function with these blocks and everything allocated; `fn` itself if nothing differs. */
  finish(blocks: readonly Block[]): Fn {
    const { fn } = this;
    if (blocks === fn.blocks && this.tables === null) return fn;
    return copyFn(fn, blocks, this.regs, this.blocks, this.tables ?? fn.tables);
  }
}

/** `program` with the function of the same name replaced; itself if it is the same object. @throws Error if there is none */
export function withFunction(program: Program, fn: Fn): Program {
  const at = program.functions.findIndex((f) => f.name === fn.name);
  if (at < 0) throw new Error(`no function '${fn.name}' in ${program.name}`);
  if (program.functions[at] === fn) return program;
  const functions = [...program.functions];
  functions[at] = fn;
  return withFunctions(program, functions);
}

/** `program` with other functions; itself if the array is the same. */
export function withFunctions(program: Program, functions: readonly Fn[]): Program {
  if (functions === program.functions) return program;
  return {
    name: program.name,
    version: program.version,
    target: program.target,
    addressSize: program.addressSize,
    functions,
    variables: program.variables,
    prototypes: program.prototypes,
    aliases: program.aliases,
    locs: program.locs,
    files: program.files,
    skipped: program.skipped,
  };
}
