import { isPhi } from '../../ir/flow.ts';
import { OpFlag, slotWidth } from '../../ir/opcode.ts';
import { FILE_WIDTH, Kind, NO_REG, type Operand, regFile } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { Bounds, reduce } from '../../isa/bounds.ts';
import {
  boundsProgram,
  constrain,
  evaluate,
  operandOf,
  SPARE,
  sourceWidth,
} from '../../isa/bounds-program.ts';
import { blockShapeOf } from '../flow/block-shape.ts';
import type { DefUse } from './defuse.ts';
import type { Fact, ValueNames } from './range-facts.ts';

/**
 * The bounds that one instruction, phi or branch condition implies, given those of its operands. Results are in slots of `scratch`,
 * valid until the next call.
 */
export class RangeTransfer {
  scratch = new Bounds(64);
  private readonly fn: Fn;
  private readonly du: DefUse;
  private readonly names: ValueNames;
  /** By name: the bounds of each value. */
  private readonly bounds: Bounds;

  constructor(fn: Fn, du: DefUse, names: ValueNames, bounds: Bounds) {
    this.fn = fn;
    this.du = du;
    this.names = names;
    this.bounds = bounds;
  }

  private room(slots: number): void {
    if (this.scratch.least.length < slots) this.scratch = new Bounds(2 * slots);
  }

  /** Sets slot `to` to the bounds of an operand. @returns false if they are not known yet */
  private load(to: number, o: Operand, width: number, name: number): boolean {
    if (name >= 0 && o.kind === Kind.Reg) {
      if (this.bounds.isEmpty(name)) return false;
      this.scratch.copy(to, this.bounds, name);
    } else if (o.kind === Kind.Imm) this.scratch.setConstant(to, width, o.lo, o.hi);
    else this.scratch.setTop(to, width);
    return true;
  }

  /** Computes what `result` returns. @returns false if an operand has no value yet */
  prepare(n: number): boolean {
    const x = this.du.ins[n];
    const { start, name } = this.names;
    const g = boundsProgram(x);
    if (g === null) return true;
    this.room(g.count + SPARE);
    for (let k = 0; k < g.sources.length; k++)
      if (
        g.sources[k] >= 0 &&
        !this.load(
          g.sources[k],
          operandOf(x, k),
          sourceWidth(x, k),
          k < x.src.length ? name[start[n] + k] : -1,
        )
      )
        return false;
    evaluate(g, this.scratch);
    return true;
  }

  /** Slot with the bounds of destination `k`, after `prepare`. */
  result(n: number, k: number, width: number): number {
    const x = this.du.ins[n];
    const { start, name } = this.names;
    const g = boundsProgram(x);
    let at = g === null ? this.primitive(x, n, k, width) : g.graph.dsts[k];
    const other =
      k < x.otherwise.length && x.otherwise[k] !== NO_REG ? name[start[n] + x.src.length + k] : -1;
    if (other >= 0 && !this.bounds.isEmpty(other)) {
      const to = g === null ? 1 : g.count;
      this.scratch.copy(to, this.scratch, at);
      this.scratch.join(to, width, this.bounds, other);
      at = to;
    }
    return at;
  }

  private primitive(x: Instr, n: number, k: number, width: number): number {
    const p = this.scratch;
    const { op } = x;
    if (isPhi(x)) {
      const { start, name } = this.names;
      p.setEmpty(0);
      for (let s = 1; s < x.src.length; s += 2) {
        if (!this.load(1, x.src[s], width, name[start[n] + s])) continue;
        if (x.src[s].mods !== 0) this.complement(1);
        p.join(0, width, p, 1);
      }
      return 0;
    }
    p.setTop(0, width);
    if (op.special.length > 0) this.special(x);
    else if ((op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) === OpFlag.ReadsMemory) {
      // A narrow type is extended according to its sign.
      const slot = op.dsts[Math.min(k, op.dsts.length - 1)];
      const group = slot.widthFrom === null ? undefined : op.groupByName.get(slot.widthFrom);
      const type = group?.values[(x.mods >>> group.shift) & group.mask].type ?? '';
      const m = /^([us])(8|16)$/.exec(type);
      if (m !== null && slotWidth(op, x.mods, slot) === 32) {
        const size = 2 ** Number(m[2]);
        if (m[1] === 'u') p.most[0] = size - 1;
        else {
          p.signedLeast[0] = -size / 2;
          p.signedMost[0] = size / 2 - 1;
        }
      }
    }
    reduce(p, 0, width);
    return 0;
  }

  /** Negates the possible values of a predicate, the only modifier that a phi takes: those of an unknown one are the same. */
  private complement(at: number): void {
    const p = this.scratch;
    if (p.isConstant(at)) p.setConstant(at, 1, 1 - (p.oneLow[at] & 1), 0);
  }

  private special(x: Instr): void {
    const g = x.op.groups[0];
    const s = x.op.special[(x.mods >>> g.shift) & g.mask];
    if (s === null) return;
    const { extent, mostThreads } = blockShapeOf(this.fn);
    const p = this.scratch;
    p.least[0] = s.least;
    p.most[0] = Math.min(s.most, p.most[0]);
    if (s.extent >= 0) {
      p.most[0] = Math.min(p.most[0], extent === null ? mostThreads : extent[s.extent]);
      if (extent !== null) p.least[0] = extent[s.extent];
    }
    if (s.thread >= 0)
      p.most[0] = Math.min(p.most[0], (extent === null ? mostThreads : extent[s.thread]) - 1);
  }

  /** Slot with the bounds that a fact implies, -1 if nothing is known yet. */
  fact(f: Fact): number {
    const p = this.scratch;
    const width = FILE_WIDTH[regFile(f.reg)];
    if (f.by === null) {
      if (this.bounds.isEmpty(f.before)) return -1;
      p.copy(0, this.bounds, f.before);
      p.setTop(1, width);
      p.least[1] = f.least;
      p.most[1] = f.most;
      reduce(p, 1, width);
      p.meet(0, width, p, 1);
      return 0;
    }
    const { ins, program: g, compare, holds } = f.by;
    this.room(g.count + SPARE);
    const q = this.scratch;
    for (let k = 0; k < g.sources.length; k++)
      if (
        g.sources[k] >= 0 &&
        !this.load(g.sources[k], operandOf(ins, k), sourceWidth(ins, k), k < f.names.length ? f.names[k] : -1)
      )
        return -1;
    evaluate(g, q);
    const a = g.args[3 * compare];
    const b = g.args[3 * compare + 1];
    const spare = g.count;
    q.copy(spare, q, a);
    q.copy(spare + 1, q, b);
    // On an edge that is never taken, the bounds before the branch are sound.
    if (!constrain(g, q, compare, holds, spare, spare + 1)) return g.sources[f.source];
    return g.sources[f.source] === a ? spare : spare + 1;
  }
}
