import { isControl, isPhi } from '../../ir/flow.ts';
import { hasMod, OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Reg, regIndex, regWidth, sameOperand } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { Bounds, finish } from '../../isa/bounds.ts';
import {
  type BoundsProgram,
  boundsProgram,
  evaluate,
  operandOf,
  SPARE,
  sourceWidth,
} from '../../isa/bounds-program.ts';
import { EqualSource, mayEqualSource } from '../../isa/equal-source.ts';
import type { CoreOp } from '../../isa/lang/graph.ts';

/**
 * Is it worth computing `rangesOf` to find decided conditions and redundant operations? That costs far more than a search for one of
 * these signs:
 *
 * - two branches test the same predicate, or another instruction reads one that a branch tests, so one may decide the other;
 * - a register is compared with constants, or with the same register, more than once, for order, so one comparison may decide another;
 *   or a branch compares it with a constant for equality and it is used elsewhere;
 * - a comparison or a sign is decided, or another operation is known to leave an operand unchanged, because of how the operands are
 *   computed: special registers, narrow loads, masks, shifts.
 *
 * The function is in SSA. A condition that shows none of these signs (a bound from a loop's counter, or through longer sums) is missed.
 */
export function mayBeDecided(fn: Fn): boolean {
  const tested = new Set<number>();
  const read = new Set<number>();
  const equal = new Set<number>();
  const compared = new Map<number, { readonly by: Instr; readonly ordered: boolean }>();
  const near = new NearBounds(fn);
  for (const b of fn.blocks)
    for (const x of b.ins) {
      if (isControl(x)) {
        if (x.guard === NO_REG) continue;
        if (tested.has(x.guard)) return true;
        tested.add(x.guard);
        const by = near.definition(x.guard);
        if (by !== undefined && comparesIntegers(by) && by.src[1].kind === Kind.Imm && !isOrdered(by))
          equal.add(by.src[0].reg);
        continue;
      }
      if (x.guard !== NO_REG) read.add(x.guard);
      for (const o of x.src) if (o.kind === Kind.Reg && isPredReg(o.reg)) read.add(o.reg);
      if (!comparesIntegers(x)) {
        if (near.decides(x)) return true;
        continue;
      }
      const key = keyOf(x);
      const ordered = isOrdered(x);
      const old = compared.get(key);
      if (old !== undefined && (ordered || old.ordered) && !sameComparison(old.by, x)) return true;
      if (old === undefined) compared.set(key, { by: x, ordered });
      if (near.decides(x)) return true;
    }
  for (const p of tested) if (read.has(p)) return true;
  return equal.size > 0 && readsMore(fn, equal);
}

/** Is one of some registers read by anything but comparisons? */
const readsMore = (fn: Fn, regs: ReadonlySet<Reg>): boolean =>
  fn.blocks.some((b) =>
    b.ins.some((x) => !comparesIntegers(x) && x.src.some((o) => o.kind === Kind.Reg && regs.has(o.reg))),
  );

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

const BOUNDED: ReadonlySet<CoreOp> = new Set(['zext', 'sext', 'popc', 'clz']);

/** Decides comparisons with a constant from the definition of the other operand alone. */
class NearBounds {
  /** By register index: what defines it. */
  private readonly defs: (Instr | undefined)[];
  private outer = new Bounds(64);
  private inner = new Bounds(64);
  private readonly equal = new EqualSource();

  constructor(fn: Fn) {
    this.defs = new Array(fn.regCount);
    for (const { ins } of fn.blocks)
      for (const x of ins) for (const r of x.dst) if (r !== NO_REG) this.defs[regIndex(r)] = x;
  }

  /** The definition of a register. */
  definition(r: Reg): Instr | undefined {
    return this.defs[regIndex(r)];
  }

  /** Is a predicate that the instruction writes known, or a result equal to one of its operands? */
  decides(x: Instr): boolean {
    const g = x.op.means === null ? null : boundsProgram(x);
    if (g === null || !(x.dst.some(isPredReg) || mayEqualSource(g) || isSign(g, x))) return false;
    if (!x.src.some((o) => o.kind === Kind.Reg && this.isBounded(this.defs[regIndex(o.reg)]))) return false;
    let narrow = false;
    this.outer = roomFor(g, this.outer);
    fill(g, x, this.outer);
    for (let k = 0; k < x.src.length && k < g.sources.length; k++) {
      const o = x.src[k];
      if (g.sources[k] < 0 || o.kind !== Kind.Reg) continue;
      const def = this.defs[regIndex(o.reg)];
      const width = regWidth(o.reg);
      if (
        def === undefined ||
        isPhi(def) ||
        def.guard !== NO_REG ||
        width > 64 ||
        width !== sourceWidth(x, k)
      )
        continue;
      const at = this.resultOf(def, def.dst.indexOf(o.reg), width);
      if (at < 0) continue;
      narrow = true;
      this.outer.copy(g.sources[k], this.inner, at);
    }
    if (!narrow) return false;
    const p = this.outer;
    evaluate(g, p);
    const same = mayEqualSource(g) ? this.equal.of(g, p) : [];
    return x.dst.some((r, k) => r !== NO_REG && (p.isConstant(g.graph.dsts[k]) || same[k] >= 0));
  }

  /** Can anything be known about the results? For an operation on registers alone, only if it counts bits or extends. */
  private isBounded(def: Instr | undefined): boolean {
    if (def === undefined || isPhi(def) || def.guard !== NO_REG) return false;
    if (def.op.means === null) return def.op.special.length > 0 || (def.op.flags & OpFlag.ReadsMemory) !== 0;
    return def.src.some((o) => o.kind === Kind.Imm) || boundsProgram(def)!.ops.some((x) => BOUNDED.has(x));
  }

  /** Slot of `inner` with the possible results of an instruction; -1 if they may be anything. */
  private resultOf(def: Instr, k: number, width: number): number {
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
    } else if ((op.flags & OpFlag.ReadsMemory) === 0) return -1;
    else if (hasMod(op, mods, 'U8') || hasMod(op, mods, 'U16'))
      p.most[0] = hasMod(op, mods, 'U8') ? 0xff : 0xffff;
    else if (hasMod(op, mods, 'S8') || hasMod(op, mods, 'S16')) {
      const half = hasMod(op, mods, 'S8') ? 0x80 : 0x8000;
      p.signedLeast[0] = -half;
      p.signedMost[0] = half - 1;
    } else return -1;
    finish(p, 0, width);
    return 0;
  }
}

/** Does it compute the sign of its operand, as in signed division by a power of 2: an arithmetic shift by all bits but one? */
const isSign = (g: BoundsProgram, x: Instr): boolean =>
  x.src.length === 2 &&
  x.src[1].kind === Kind.Imm &&
  x.src[1].lo === sourceWidth(x, 0) - 1 &&
  g.ops.includes('ashr');

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
