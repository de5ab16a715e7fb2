import { EFFECTS } from '../../analysis/calls/effects.ts';
import { type Cfg, cfgOf } from '../../analysis/flow/cfg.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type BlockNo, type Draft, edit } from '../../ir/draft/index.ts';
import { Lanes, modOf, OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, sameOperand } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass, PassContext } from '../pass.ts';

/** Knob 358 and its values (reference passes-e: off, conservative, aggressive, full). */
const MODE = 'Knob358';
const OFF = 0;

/**
 * Phase 26, OriRemoveRedundantBarriers: a barrier or fence goes if an equal one ran before it and nothing in between could tell.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STS [R1], R2                        STS [R1], R2
 *           BAR.SYNC 0                          BAR.SYNC 0
 *           IADD3 R3, R1, 4                     IADD3 R3, R1, 4
 *           BAR.SYNC 0                          LDS R4, [R3]
 *           LDS R4, [R3]
 *
 * Forward over all ways: the barrier that was the last thing to order anything, where every way brings the same. Memory accesses
 * (but not those of constants), other barriers, what lanes do together, calls and anything else with an effect end it.
 *
 * A barrier over the block must be one for all of its threads, without a count, and all threads must come to the same barriers in the
 * same order. Warps meet by arrival, wherever they wait: if some waited once more in a loop, the second of two barriers behind it would
 * be where others meet the first. So a kernel keeps its barriers if any of them stands where some threads come without the others
 * (divergence analysis) or under a guard, if one has a number that is computed or is only arrived at, or if a function that is called might
 * have more. Fences are a thread's own.
 *
 * Knob 358: 0 is off; 1 to 3 do the same, since nothing is known of what the wider modes of the original remove.
 *
 * Requires: control-last. Guarantees: blocks and edges stay; a second application changes nothing.
 * Bound: blocks as often as what reaches them changes, which is twice.
 */
export const redundantBarriers: Pass = (fn, ctx) => {
  if (ctx.knob(MODE) === OFF || !fn.blocks.some((b) => b.ins.some(isOrder))) return fn;
  const orders = new LastOrders(fn);
  return edit(fn, (d) => removeRepeated(d, orders, ctx));
};

function removeRepeated(d: Draft, orders: LastOrders, ctx: PassContext): void {
  for (const b of cfgOf(d.fn).rpo) {
    let last = orders.before(b);
    for (let n = d.first(b), next: number; n >= 0; n = next) {
      next = d.next(n);
      const x = d.at(n);
      if (last !== null && isOrder(x) && isSame(last, x)) {
        if (!ctx.mayRewrite('barrier-removed', d.id(b), x)) return;
        ctx.remark('passed', 'barrier-removed', `${printInstr(x)}: nothing since the last one could tell`, {
          block: d.id(b),
          ins: x,
        });
        d.remove(n);
      } else last = orders.after(last, x);
    }
  }
}

/** The barrier or fence that was the last thing to order anything, at each place; null where ways bring different ones, or none. */
class LastOrders {
  private readonly cfg: Cfg;
  private readonly inStep: boolean;
  /** By block: what stands at its end; undefined where no way has come yet. */
  private readonly out: (Instr | null | undefined)[];

  constructor(fn: Fn) {
    this.cfg = cfgOf(fn);
    this.inStep = meetInStep(fn);
    this.out = new Array<Instr | null | undefined>(fn.blocks.length);
    for (let changed = true; changed; ) {
      changed = false;
      for (const b of this.cfg.rpo) {
        let last = this.before(b);
        for (const x of fn.blocks[b].ins) last = this.after(last, x);
        const was = this.out[b];
        if (was === last || (was != null && last !== null && isSame(was, last))) continue;
        this.out[b] = last;
        changed = true;
      }
    }
  }

  /** Before the first instruction of a block. */
  before(b: BlockNo): Instr | null {
    const { rpo, predStart, pred } = this.cfg;
    if (b === rpo[0]) return null;
    let all: Instr | null | undefined;
    for (let e = predStart[b]; e < predStart[b + 1]; e++) {
      const one = this.out[pred[e]];
      if (one === undefined) continue;
      if (all === undefined) all = one;
      else if (all === null || one === null || !isSame(all, one)) return null;
    }
    return all ?? null;
  }

  /** Behind an instruction, given the one before it. */
  after(last: Instr | null, x: Instr): Instr | null {
    if (isOrder(x)) return !isOfBlock(x) || this.inStep ? x : null;
    return mayTell(x) ? null : last;
  }
}

/**
 * Do all threads of a block that have not ended wait at the same barriers, in the same order? Asks for divergence only where there is a
 * barrier to remove.
 */
function meetInStep(fn: Fn): boolean {
  if (fn.kind !== 'entry' || !fn.blocks.some((b) => b.ins.some(isOfBlock))) return false;
  const waits = ({ op, mods, guard, src }: Instr): boolean =>
    guard === NO_REG && src[0].kind === Kind.Imm && modOf(op, mods, 'mode') !== 'ARRIVE';
  const clear = fn.blocks.every((b) =>
    b.ins.every((x) => x.op.primitive !== 'call' && (x.op.primitive !== 'barrier' || waits(x))),
  );
  if (!clear) return false;
  const { control } = divergenceOf(fn);
  return fn.blocks.every(
    (b, i) => control[i] === Lanes.Block || !b.ins.some((x) => x.op.primitive === 'barrier'),
  );
}

/** A fence, or a barrier that all threads of the block wait at; unguarded, with constant operands and without a result. */
const isOrder = (x: Instr): boolean =>
  (x.op.primitive === 'fence' || isOfBlock(x)) &&
  x.guard === NO_REG &&
  x.src.every((o) => o.kind === Kind.Imm) &&
  x.dst.every((r) => r === NO_REG);

const isOfBlock = (x: Instr): boolean =>
  x.op.primitive === 'barrier' && modOf(x.op, x.mods, 'mode') === 'SYNC' && (x.src[1]?.lo ?? 0) === 0;

const isSame = (a: Instr, b: Instr): boolean =>
  a === b ||
  (a.op === b.op &&
    a.mods === b.mods &&
    a.src.length === b.src.length &&
    a.src.every((o, i) => sameOperand(o, b.src[i])));

/** Could it tell whether the threads, or their accesses, were brought into order once more before it? */
const mayTell = (x: Instr): boolean =>
  (x.op.flags & EFFECTS) !== 0 &&
  x.op.primitive !== 'branch' &&
  !(x.op.space === 'const' && (x.op.flags & (EFFECTS & ~OpFlag.ReadsMemory)) === 0);
