import { mustStay } from '../analysis/calls/effects.ts';
import { isReadOnlyLoad } from '../analysis/memory/memory-ops.ts';
import { isMatrixGroupProduct } from '../ir/async-registers.ts';
import { memo } from '../ir/memo.ts';
import { modOf, type Opcode, OpFlag } from '../ir/opcode.ts';
import { Kind, NO_REG, regIndex } from '../ir/operand.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';

/** Properties of a kernel and the functions that it may call that determine how it is judged. */
export interface Features {
  /** The kernel, and the functions that it may call. */
  readonly functions: readonly Fn[];
  readonly instructions: number;
  /** Has ordering accesses or accesses whose number must stay (PTX ISA 9.0, chapter 8), fences, or clock reads. */
  readonly orders: boolean;
  /** Some of these synchronise with threads of other blocks. */
  readonly wide: boolean;
  /** Number of loads from memory that nothing may write (PTX ISA 9.0, ld.global.nc). */
  readonly readOnlyLoads: number;
  /** Threads of a block communicate: barriers, stores to shared memory, atomic operations. */
  readonly communicates: boolean;
  /** Lanes of a warp exchange values, so results depend on which lanes are live. */
  readonly exchanges: boolean;
  /** Has products of warpgroups, which need four warps (PTX ISA 9.0, 9.7.15). */
  readonly warpgroups: boolean;
  readonly clusters: boolean;
  /** Has asynchronous copies. */
  readonly copies: boolean;
  readonly loops: boolean;
  /** Reads tid.y. */
  readonly rows: boolean;
  /** Reads the y or z component of any special register. */
  readonly deep: boolean;
  /** Block sizes that the kernel may be written for, the most likely first. */
  readonly sizes: readonly number[];
}

/** Functions of a module by name and alias, and whether a variable holds the address of one. */
const functionNames = memo((program: Program) => {
  const byName = new Map(program.functions.map((f) => [f.name, f]));
  for (const a of program.aliases) {
    const f = byName.get(a.of);
    if (f !== undefined) byName.set(a.name, f);
  }
  return { byName, inVariables: program.variables.some((v) => v.relocs.some((r) => byName.has(r.symbol))) };
});

/** The functions that a kernel may call, itself first; all functions of the program if it has an indirect call. */
export function functionsOf(program: Program, kernel: Fn): Fn[] {
  const { byName } = functionNames(program);
  const out = new Set([kernel]);
  for (const f of out)
    for (const b of f.blocks)
      for (const x of b.ins) {
        if (x.op.primitive === 'call' && x.src[0].kind === Kind.Reg)
          return [kernel, ...program.functions.filter((g) => g !== kernel)];
        for (const o of x.src) {
          const g = o.kind === Kind.Sym ? byName.get(o.sym) : undefined;
          if (g !== undefined) out.add(g);
        }
      }
  return [...out];
}

/**
 * The program without the functions that a kernel cannot call, so that they cost a run nothing. The same program if the address of a
 * function is used, since addresses depend on positions in the module.
 */
export function programOf(program: Program, kernel: string): Program {
  const { byName, inVariables } = functionNames(program);
  const entry = byName.get(kernel);
  if (entry === undefined || inVariables || program.functions.length === 1) return program;
  const called = new Set(functionsOf(program, entry));
  if (called.size === program.functions.length) return program;
  for (const f of called)
    for (const b of f.blocks)
      for (const x of b.ins)
        if (x.src.some((o, k) => byName.has(o.sym) && (k > 0 || x.op.primitive !== 'call'))) return program;
  const functions = called.size === 1 ? [entry] : program.functions.filter((f) => called.has(f));
  return { ...program, functions };
}

/** Memory semantics (`sem` modifier) of an access or a fence; '' for instructions without. */
export function semOf({ op, mods }: Pick<Instr, 'op' | 'mods'>): string {
  return op.groupByName.has('sem') ? modOf(op, mods, 'sem') : '';
}

/** True for a strong access: volatile, relaxed or stronger (PTX ISA 9.0, 8.3). Atomic operations are strong. */
export const isStrongAccess = (x: Pick<Instr, 'op' | 'mods'>): boolean =>
  x.op.accesses.length > 0 && !['', 'WEAK'].includes(semOf(x));

/** True if the instruction reads a clock. */
export const isClock = ({ op, mods }: Pick<Instr, 'op' | 'mods'>): boolean =>
  op.primitive === 'special' && op.special.length > 0 && /^(CLOCK|GLOBALTIMER)/.test(modOf(op, mods, 'sr'));

/** True if the instruction orders other accesses of its thread, or must keep its own number and order. */
export function ordersOthers(x: Pick<Instr, 'op' | 'mods'>): boolean {
  const { op } = x;
  if (op.primitive === 'fence' || isClock(x)) return true;
  if (op.primitive === 'hint') return (op.flags & OpFlag.Barrier) !== 0;
  return isStrongAccess(x);
}

/** True if the instruction synchronises with threads of other blocks. */
const isWide = (x: Instr): boolean =>
  (x.op.primitive === 'fence' || (isStrongAccess(x) && semOf(x) !== 'RELAXED')) &&
  (!x.op.groupByName.has('scope') ||
    !['NONE', 'CTA'].includes(modOf(x.op, x.mods, 'scope')) ||
    semOf(x) === 'VOLATILE');

/** Loads and clock reads whose results have no effect, directly or through other dead instructions. */
export function deadLoads(functions: readonly Fn[]): Set<Instr> {
  const out = new Set<Instr>();
  for (const f of functions) {
    const read = new Set<number>();
    const gone = new Set<Instr>();
    for (const p of f.returns) if (p.reg !== NO_REG) read.add(regIndex(p.reg));
    // Removes instructions without effect until a fixpoint: the operands of a removed one may then be unused too.
    for (let changed = true; changed; ) {
      changed = false;
      const used = new Set(read);
      for (const b of f.blocks)
        for (const x of b.ins) {
          if (gone.has(x)) continue;
          for (const o of x.src) if (o.reg !== NO_REG) used.add(regIndex(o.reg));
          if (x.guard !== NO_REG) used.add(regIndex(x.guard));
          for (const r of x.otherwise) if (r !== NO_REG) used.add(regIndex(r));
        }
      for (const b of f.blocks)
        for (const x of b.ins)
          if (
            !gone.has(x) &&
            (!mustStay(x) || isClock(x)) &&
            x.dst.every((r) => r === NO_REG || !used.has(regIndex(r)))
          ) {
            gone.add(x);
            changed = true;
          }
    }
    for (const x of gone) if ((x.op.flags & OpFlag.ReadsMemory) !== 0 || isClock(x)) out.add(x);
  }
  return out;
}

/** Convergent operations that have the same meaning for a single lane. */
const ALONE: ReadonlySet<string | null> = new Set(['barrier', 'warpsync', 'cluster-barrier', 'activemask']);

const TALKS: ReadonlySet<string | null> = new Set([
  'barrier',
  'warpsync',
  'cluster-barrier',
  'atomic',
  'mbarrier-arrive',
]);

const talks = (op: Opcode): boolean =>
  TALKS.has(op.primitive) || op.accesses.some((a) => a.space === 'shared' && a.writes);

/** Common block sizes of kernels. */
const SIZES: readonly number[] = [256, 128, 512, 64, 1024];

/** Block sizes, the most likely first: kernels written for one size contain it, the size minus one, or four times the size. */
function sizesOf(constants: ReadonlyMap<number, number>): readonly number[] {
  const score = (n: number): number =>
    (constants.get(n) ?? 0) + (constants.get(n - 1) ?? 0) + (constants.get(4 * n) ?? 0);
  return SIZES.toSorted((a, b) => score(b) - score(a));
}

/** Collects the features of a kernel and of the functions that it may call. */
export function featuresOf(program: Program, kernel: Fn): Features {
  const functions = functionsOf(program, kernel);
  let instructions = 0;
  let readOnlyLoads = 0;
  let [orders, wide, communicates, exchanges, clusters, copies, loops] = Array<boolean>(7).fill(false);
  let warpgroups = false;
  let rows = false;
  let deep = false;
  const constants = new Map<number, number>();
  for (const f of functions) {
    const position = new Map(f.blocks.map((b, k) => [b.id, k]));
    f.blocks.forEach((b, at) => {
      instructions += b.ins.length;
      for (const x of b.ins) {
        const { op } = x;
        for (const o of x.src) if (o.kind === Kind.Imm) constants.set(o.lo, (constants.get(o.lo) ?? 0) + 1);
        const shown = op.primitive === 'special' && op.special.length > 0 ? modOf(op, x.mods, 'sr') : '';
        rows ||= /^TID.Y/.test(shown);
        deep ||= /[.][YZ]$/.test(shown);
        orders ||= ordersOthers(x);
        wide ||= isWide(x);
        if (isReadOnlyLoad(x)) readOnlyLoads++;
        communicates ||= talks(op);
        exchanges ||= (op.flags & OpFlag.Convergent) !== 0 && !ALONE.has(op.primitive);
        warpgroups ||= isMatrixGroupProduct(x);
        clusters ||= op.primitive === 'cluster-barrier';
        copies ||= op.primitive === 'async-copy';
        loops ||= x.src.some((o) => o.kind === Kind.Label && position.get(o.lo)! <= at);
      }
    });
  }
  return {
    functions,
    instructions,
    orders,
    wide,
    readOnlyLoads,
    communicates,
    exchanges,
    warpgroups,
    clusters,
    copies,
    loops,
    rows,
    deep,
    sizes: sizesOf(constants),
  };
}
