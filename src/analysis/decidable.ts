import { isControl, isPhi } from '../ir/flow.ts';
import { hasMod, OpFlag } from '../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, regIndex, regWidth, sameOperand } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { Bounds, finish } from '../isa/bounds.ts';
import {
  type BoundsProgram,
  boundsProgram,
  evaluate,
  operandOf,
  SPARE,
  sourceWidth,
} from '../isa/bounds-program.ts';

/**
 * Is it worth asking `rangesOf` for decided conditions? That costs far more than looking for one of these signs:
 *
 * - two branches test the same predicate, so one may decide the other;
 * - a register is compared with constants, or with the same register, more than once, for order, so one comparison may decide another;
 * - a comparison is decided by how its operands are computed: special registers, narrow loads, masks, shifts.
 *
 * The function is in SSA. A condition that shows none of these signs (a bound from a loop's counter, or through
 * longer sums) is missed.
 */
export function mayBeDecided(fn: Fn): boolean {
  const asked = new Set<number>();
  const compared = new Map<number, { readonly by: Instr; readonly ordered: boolean }>();
  const near = new NearBounds(fn);
  for (const b of fn.blocks)
    for (const x of b.ins) {
      if (isControl(x)) {
        if (x.guard === NO_REG) continue;
        if (asked.has(x.guard)) return true;
        asked.add(x.guard);
        continue;
      }
      if (!comparesIntegers(x)) continue;
      const key = keyOf(x);
      const ordered = isOrdered(x);
      const old = compared.get(key);
      if (old !== undefined && (ordered || old.ordered) && !sameComparison(old.by, x)) return true;
      if (old === undefined) compared.set(key, { by: x, ordered });
      if (near.decides(x)) return true;
    }
  return false;
}

const comparesIntegers = (x: Instr): boolean =>
  (x.op.flags & OpFlag.Reflexive) !== 0 &&
  x.op.means !== null &&
  x.dst.some(isPredReg) &&
  x.src[0].kind === Kind.Reg;

/** The compared registers; all constants count as one. */
const keyOf = (x: Instr): number =>
  (regIndex(x.src[0].reg) + 1) * 2 ** 24 + (x.src[1].kind === Kind.Reg ? regIndex(x.src[1].reg) + 1 : 0);

/** Anything but equality. */
const isOrdered = ({ op, mods }: Instr): boolean => !hasMod(op, mods, 'EQ') && !hasMod(op, mods, 'NE');

const sameComparison = (a: Instr, b: Instr): boolean =>
  a.mods === b.mods && a.src.length === b.src.length && a.src.every((o, k) => sameOperand(o, b.src[k]));

/** Decides comparisons with a constant from the definition of the other operand alone. */
class NearBounds {
  /** By register index: what defines it. */
  private readonly defs: (Instr | undefined)[];
  private outer = new Bounds(64);
  private inner = new Bounds(64);

  constructor(fn: Fn) {
    this.defs = new Array(fn.regCount);
    for (const { ins } of fn.blocks)
      for (const x of ins) for (const r of x.dst) if (r !== NO_REG) this.defs[regIndex(r)] = x;
  }

  decides(x: Instr): boolean {
    if (x.src[1].kind !== Kind.Imm) return false;
    const def = this.defs[regIndex(x.src[0].reg)];
    const width = regWidth(x.src[0].reg);
    if (def === undefined || isPhi(def) || def.guard !== NO_REG || width > 64) return false;
    const g = boundsProgram(x)!;
    const at = this.made(def, def.dst.indexOf(x.src[0].reg), width);
    if (at < 0) return false;
    this.outer = roomFor(g, this.outer);
    const p = this.outer;
    fill(g, x, p);
    if (g.sources[0] >= 0) p.copy(g.sources[0], this.inner, at);
    evaluate(g, p);
    return x.dst.some((r, k) => {
      const d = g.graph.dsts[k];
      return r !== NO_REG && ((p.zeroLow[d] | p.oneLow[d]) & 1) !== 0;
    });
  }

  /** Slot of `inner` with the possible results of an instruction; -1 if they may be anything. */
  private made(def: Instr, k: number, width: number): number {
    const { op, mods } = def;
    const g = boundsProgram(def);
    if (g !== null) {
      this.inner = roomFor(g, this.inner);
      fill(g, def, this.inner);
      evaluate(g, this.inner);
      return g.graph.dsts[k];
    }
    const p = this.inner;
    p.setTop(0, width);
    if (op.special.length > 0) {
      const s = op.special[(mods >>> op.groups[0].shift) & op.groups[0].mask];
      if (s === null) return -1;
      p.least[0] = s.least;
      p.most[0] = Math.min(s.most, p.most[0]);
    } else if (hasMod(op, mods, 'U8') || hasMod(op, mods, 'U16'))
      p.most[0] = hasMod(op, mods, 'U8') ? 0xff : 0xffff;
    else return -1;
    finish(p, 0, width);
    return 0;
  }
}

const roomFor = (g: BoundsProgram, p: Bounds): Bounds =>
  p.least.length < g.count + SPARE ? new Bounds(2 * (g.count + SPARE)) : p;

/** Sets constant sources to their values and all others to any value. */
function fill(g: BoundsProgram, x: Instr, p: Bounds): void {
  for (let k = 0; k < g.sources.length; k++) {
    if (g.sources[k] < 0) continue;
    const o = operandOf(x, k);
    const width = sourceWidth(x, k);
    if (o.kind === Kind.Imm) p.setConstant(g.sources[k], width, o.lo, o.hi);
    else p.setTop(g.sources[k], width);
  }
}
