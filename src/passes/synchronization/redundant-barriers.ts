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
 * Phase 26, OriRemoveRedundantBarriers: removes a barrier or fence if an equal one ran before it and nothing in between could observe a
 * difference.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STS [R1], R2                        STS [R1], R2
 *           BAR.SYNC 0                          BAR.SYNC 0
 *           IADD3 R3, R1, 4                     IADD3 R3, R1, 4
 *           BAR.SYNC 0                          LDS R4, [R3]
 *           LDS R4, [R3]
 *
 * A forward data-flow analysis finds the last barrier or fence, if it is the same on all incoming paths. Memory accesses (except of
 * constants), other barriers, operations between lanes, calls and anything else with an effect end it.
 *
 * A barrier over the block must be for all of its threads, without a count, and all threads must reach the same barriers in the same
 * order. Warps meet by arrival, wherever they wait: if some waited once more in a loop, they would meet the others' first barrier
 * after it with their second. So a kernel keeps its barriers if any of them is reached by some threads without the others (divergence
 * analysis) or has a guard, if one has a computed number or only arrives, or if a called function might have more. Fences concern only
 * the thread itself.
 *
 * Knob 358: 0 disables it; 1 to 3 do the same, because it is not known what the wider modes of the original remove.
 *
 * Requires: control-last. Guarantees: blocks and edges stay; a second application changes nothing.
 * Bound: a block is visited again only when its input changes, at most twice.
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

/** The last barrier or fence at each place, if nothing since could observe it; null if incoming paths differ, or there is none. */
class LastOrders {
  private readonly cfg: Cfg;
  private readonly inStep: boolean;
  /** By block: the state at its end; undefined until a path has reached it. */
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

  /** The state before the first instruction of a block. */
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

  /** The state after an instruction, given the one before it. */
  after(last: Instr | null, x: Instr): Instr | null {
    if (isOrder(x)) return !isOfBlock(x) || this.inStep ? x : null;
    return mayTell(x) ? null : last;
  }
}

/**
 * Do all threads of a block that have not exited wait at the same barriers, in the same order? Divergence is computed only if there is
 * a barrier to remove.
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

/** Could it observe whether the threads, or their accesses, were ordered once more before it? */
const mayTell = (x: Instr): boolean =>
  (x.op.flags & EFFECTS) !== 0 &&
  x.op.primitive !== 'branch' &&
  !(x.op.space === 'const' && (x.op.flags & (EFFECTS & ~OpFlag.ReadsMemory)) === 0);
