import { Mod, OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Operand, type Reg, regIndex } from '../../ir/operand.ts';
import type { Block, Fn, Instr } from '../../ir/program.ts';
import { type Carries, NO_CARRY } from './expand.ts';

/** The carries of a function that stay in the condition code. */
export interface CarryPlan {
  /** By IADDX: whether its carry in and carry out are in CC.CF. */
  readonly carries: ReadonlyMap<Instr, Carries>;
  /** Copies of carries in CC.CF, which need no instruction. */
  readonly dropped: ReadonlySet<Instr>;
}

/** Maximum number of rounds; beyond it, all carries are written as predicates. Compilers do not write programs that need more. */
const MOST_ROUNDS = 8;

/**
 * Finds chains of IADDX whose carry can stay in CC.CF, the one carry bit of PTX, instead of a predicate register. These are predicates that
 * are written only by additions and copies of their carry, and read only by the next addition of the same block. After a subtraction,
 * a + ~b + 1, CC.CF holds the carry of that sum too: ptxas 13.0.88 emits the same addition with carry after add.cc and after sub.cc.
 */
export function planCarries(fn: Fn): CarryPlan {
  const { chained, touched } = candidates(fn);
  if (chained.size === 0) return { carries: new Map(), dropped: new Set() };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const carries = new Map<Instr, Carries>();
    const dropped = new Set<Instr>();
    const broken = new Set<number>();
    for (const b of touched) walk(b, chained, carries, dropped, broken);
    if (broken.size === 0) return { carries, dropped };
    for (const r of broken) chained.delete(r);
  }
  return { carries: new Map(), dropped: new Set() };
}

/** An unguarded addition with carries. */
const isCarrying = (i: Instr): boolean => (i.op.flags & OpFlag.Carries) !== 0 && i.guard === NO_REG;

/** The predicate that an unguarded logic function copies or complements; NO_REG for any other instruction. */
function copied(i: Instr): Reg {
  if (
    (i.op.flags & OpFlag.Table) === 0 ||
    i.op.dsts[0].bank !== 'p' ||
    i.guard !== NO_REG ||
    i.src[3].kind !== Kind.Imm
  )
    return NO_REG;
  const table = i.src[3].lo & 0xff;
  return table === 0xf0 || table === 0x0f ? i.src[0].reg : NO_REG;
}

/** Predicates written only by additions and copies, and the blocks that read or write them. */
function candidates(fn: Fn): { chained: Set<number>; touched: Block[] } {
  const chained = new Set<number>();
  const other = new Set<number>();
  for (const b of fn.blocks)
    for (const i of b.ins) {
      const carry = isCarrying(i);
      for (let k = 0; k < i.dst.length; k++) {
        const d = i.dst[k];
        if (d === NO_REG || !isPredReg(d)) continue;
        if ((carry && k === 1) || copied(i) !== NO_REG) chained.add(regIndex(d));
        else other.add(regIndex(d));
      }
    }
  for (const r of other) chained.delete(r);
  const has = (r: Reg) => r !== NO_REG && chained.has(regIndex(r));
  const touched = fn.blocks.filter((b) =>
    b.ins.some((i) => has(i.guard) || i.dst.some(has) || i.src.some((o) => has(o.reg))),
  );
  return { chained, touched };
}

function walk(
  b: Block,
  chained: ReadonlySet<number>,
  carries: Map<Instr, Carries>,
  dropped: Set<Instr>,
  broken: Set<number>,
): void {
  // Predicate -> true if CC.CF holds its value, false if it holds the complement.
  const held = new Map<number, boolean>();
  const has = (r: Reg) => r !== NO_REG && chained.has(regIndex(r));
  for (const i of b.ins) {
    if (isCarrying(i)) {
      add(i, held, chained, carries, broken);
      continue;
    }
    const from = copied(i);
    if (from !== NO_REG && has(i.dst[0])) {
      const is = held.get(regIndex(from));
      if (is === undefined) broken.add(regIndex(i.dst[0]));
      else {
        const same = ((i.src[3].lo & 0xff) === 0xf0) !== ((i.src[0].mods & Mod.Not) !== 0);
        held.set(regIndex(i.dst[0]), same === is);
        dropped.add(i);
        continue;
      }
    }
    if (has(i.guard)) broken.add(regIndex(i.guard));
    for (const o of i.src) if (has(o.reg)) broken.add(regIndex(o.reg));
    if (i.op.primitive === 'call' || (i.op.flags & OpFlag.Carries) !== 0) held.clear();
  }
}

function add(
  i: Instr,
  held: Map<number, boolean>,
  chained: ReadonlySet<number>,
  carries: Map<Instr, Carries>,
  broken: Set<number>,
): void {
  const minus = (i.src[1].mods & Mod.Not) !== 0;
  const ci = i.src[2];
  const inside = carryIn(ci, held);
  const co = i.dst[1];
  const out = co !== NO_REG && chained.has(regIndex(co));
  // One PTX instruction suffices if the carry in is zero or in CC.CF, and the carry out is unused or stays in CC.CF.
  const plain = ci.kind === Kind.Imm && (((ci.lo & 1) === 1) !== ((ci.mods & Mod.Not) !== 0)) === minus;
  const one = (plain || inside) && (co === NO_REG || out);
  if (!one) {
    if (ci.reg !== NO_REG && chained.has(regIndex(ci.reg))) broken.add(regIndex(ci.reg));
    if (out) broken.add(regIndex(co));
    held.clear();
    return;
  }
  carries.set(i, inside || out ? { in: inside, out } : NO_CARRY);
  if (!out) return;
  held.clear();
  held.set(regIndex(co), true);
}

/** Does CC.CF hold the carry in? */
const carryIn = (ci: Operand, held: ReadonlyMap<number, boolean>): boolean =>
  ci.reg !== NO_REG && held.get(regIndex(ci.reg)) === ((ci.mods & Mod.Not) === 0);
