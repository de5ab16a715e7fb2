import { countsBytes, ENTRY_SHIFT, jumpBy } from '../../ir/jump-table.ts';
import { Kind, NO_REG, type Operand, type Reg } from '../../ir/operand.ts';
import type { Block, Fn, Instr } from '../../ir/program.ts';

/** Jumps through tables by byte offset, rewritten to use an index. */
export interface IndexPlan {
  /** By jump: the same jump with an index. */
  readonly jumps: ReadonlyMap<Instr, Instr>;
  /** Shifts that become dead and are not written. */
  readonly dropped: ReadonlySet<Instr>;
}

const NOTHING: IndexPlan = { jumps: new Map(), dropped: new Set() };

/**
 * `brx.idx` takes an index, which ptxas shifts itself. An offset that is shifted back costs a mask in ptxas 13.0.88. So the index is taken
 * from the shift that computes the offset, if it is in the same block and its operand is not redefined before the jump.
 */
export function planIndices(fn: Fn): IndexPlan {
  if (fn.tables.length === 0) return NOTHING;
  const jumps = new Map<Instr, Instr>();
  const shifts = new Set<Instr>();
  /** Jumps (as objects) that occur in several blocks, below different shifts. */
  const several = new Set<Instr>();
  const seen = new Map<Instr, Instr | null>();
  for (const b of fn.blocks)
    b.ins.forEach((x, at) => {
      if (x.op.primitive !== 'branch-table' || !countsBytes(x)) return;
      const shift = shiftAbove(b, at);
      if (seen.has(x) && seen.get(x) !== shift) several.add(x);
      seen.set(x, shift);
    });
  for (const [x, shift] of seen) {
    if (shift === null || several.has(x)) continue;
    jumps.set(x, jumpBy(x, shift.src[0], false));
    shifts.add(shift);
  }
  if (jumps.size === 0) return NOTHING;
  const needed = new Set<Reg>(fn.returns.map((p) => p.reg));
  for (const b of fn.blocks)
    for (const x of b.ins) {
      needed.add(x.guard);
      for (const o of (jumps.get(x) ?? x).src) needed.add(o.reg);
    }
  return { jumps, dropped: new Set([...shifts].filter((x) => !needed.has(x.dst[0]))) };
}

/** The shift in the jump's block that computes its offset from an index that is not redefined in between; null if there is none. */
function shiftAbove(b: Block, at: number): Instr | null {
  const offset = b.ins[at].src[0].reg;
  if (offset === NO_REG) return null;
  const written = new Set<Reg>();
  for (let k = at - 1; k >= 0; k--) {
    const x = b.ins[k];
    for (const r of x.dst) written.add(r);
    if (x.dst.includes(offset)) return isShift(x) && !written.has(x.src[0].reg) ? x : null;
  }
  return null;
}

/** Is it an unguarded shift that turns an index into an offset? */
const isShift = (x: Instr): boolean =>
  x.op.name === 'SHL' &&
  x.mods === 0 &&
  x.guard === NO_REG &&
  x.src[0].mods === 0 &&
  isConstant(x.src[1], ENTRY_SHIFT);

const isConstant = (o: Operand, n: number): boolean => o.kind === Kind.Imm && o.lo === n && o.mods === 0;
