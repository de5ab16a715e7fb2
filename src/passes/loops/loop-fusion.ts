import { isPlainLoad, isSafeLoad, isValue } from '../../analysis/calls/effects.ts';
import { controlIsLast } from '../../analysis/flow/cfg.ts';
import { comesTooLate } from '../../analysis/loops/loop-order.ts';
import { type LoopForest, loopsOf } from '../../analysis/loops/loops.ts';
import { type TripCount, type TripCounts, tripCountsOf } from '../../analysis/loops/trip-count.ts';
import { accessesOf, rowsOf } from '../../analysis/memory/address.ts';
import { staysInOrder } from '../../analysis/memory/alias.ts';
import { storedElements } from '../../analysis/memory/loads-stores.ts';
import { Pool, reads } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { sameForm } from '../../analysis/values/form-arithmetic.ts';
import { type BlockNo, type Draft, edit, type Ins, pinnedBlocks } from '../../ir/draft/index.ts';
import { isControl, isPhi } from '../../ir/flow.ts';
import { NO_REG, type Operand, type Reg } from '../../ir/operand.ts';
import { type Fn, instr } from '../../ir/program.ts';
import type { Pass, PassContext } from '../pass.ts';
import { type BottomTested, bottomTested, isRefusal, type Refusal } from './unroll-shape.ts';

/** Each round halves a row of loops, so rows of up to 256 become one; longer rows take another application. */
const MOST_ROUNDS = 8;

/**
 * Phase 59, OriLoopFusion: two adjacent loops with equal trip counts become one.
 *
 *     before                                   after
 *     BB0:                                     BB0:
 *           BRA BB1                                  BRA BB1
 *     BB1:                                     BB1:
 *           MOVPHI R1, {BB0: RZ, BB1: R2}            MOVPHI R1, {BB0: RZ, BB1: R2}
 *           ...                                      MOVPHI R4, {BB0: RZ, BB1: R5}
 *           IADD3 R2, R1, 1                          ...
 *           ISETP.LT P3, R2, R9                      IADD3 R2, R1, 1
 *       @P3 BRA BB1                                  ISETP.LT P3, R2, R9
 *     BB2:                                           ...
 *           BRA BB3                                  IADD3 R5, R4, 1
 *     BB3:                                           ISETP.LT P6, R5, R9
 *           MOVPHI R4, {BB2: RZ, BB3: R5}        @P6 BRA BB1
 *           ...                                BB2:
 *           IADD3 R5, R4, 1                          BRA BB4
 *           ISETP.LT P6, R5, R9                BB4:
 *       @P6 BRA BB3                                  ...
 *     BB4:
 *           ...
 *
 * The second body follows the first one; its phis move to the first header, and its test alone decides. Blocks between the loops move
 * after both; what the second loop needs of them moves in front of both.
 *
 * Both loops leave only at their single latch, and the only path into the second one comes from the first. Their trip counts are equal if
 * both trip counts are the same constant, or if both compare the same values in the same way. They may only compute, load and store
 * (weakly): other threads must not observe the order. The second uses nothing that the first one changes, and if one of them writes, no
 * iteration of the first accesses what an earlier iteration of the second accesses (`comesTooLate`).
 *
 * Every access is made as often as before, so nothing new can fault. A loop that may not end stays: code after it might never have
 * run.
 *
 * Knob PerformLoopFusionBudget: how many pairs are fused in which a body has several blocks; unset: all.
 *
 * Requires: control-last, ssa; loops without the form of phase 18 stay. Guarantees: the same, and loop-form, if it held
 * before. A second application changes nothing, except in rows of more than 256 loops.
 * Bound: `max-pairs` pairs of accesses for two loops, and `max-pressure` registers in both; one analysis of the function for
 * each round.
 */
export const loopFusion: Pass = (fn, ctx) => {
  let now = fn;
  for (let round = 1; ; round++) {
    const forest = loopsOf(now);
    if (forest.loops.length < 2 || !controlIsLast(now)) return now;
    const step = new Fusion(now, forest, ctx);
    const next = step.run();
    if (next === now || round === MOST_ROUNDS) {
      step.reportMissed();
      return next;
    }
    now = next;
  }
};

/** Two loops, one after the other, and the blocks between them. */
interface Neighbours {
  readonly first: BottomTested & { readonly id: number };
  readonly second: BottomTested & { readonly id: number };
  readonly before: BlockNo;
  readonly between: readonly BlockNo[];
}

/** Neighbours that may be fused, with the instructions between them that the second loop needs. */
interface Plan extends Neighbours {
  readonly early: ReadonlySet<Ins>;
}

const no = (name: string, why: string): Refusal => ({ name, why });

class Fusion {
  private readonly fn: Fn;
  private readonly forest: LoopForest;
  private readonly ctx: PassContext;
  private readonly missed: (Refusal & { readonly block: number })[] = [];
  private d!: Draft;
  private pinned!: ReadonlySet<BlockNo>;
  private readonly place: Int32Array;
  private readonly loopOfHeader: ReadonlyMap<BlockNo, number>;

  constructor(fn: Fn, forest: LoopForest, ctx: PassContext) {
    this.fn = fn;
    this.forest = forest;
    this.ctx = ctx;
    this.place = Int32Array.from(fn.blocks.keys());
    this.loopOfHeader = new Map(forest.loops.map((l) => [l.header, l.id]));
  }

  /** Reports why loops stay apart from the loop before them. */
  reportMissed(): void {
    for (const { name, why, block } of this.missed)
      this.ctx.remark(
        'missed',
        `not-fused-${name}`,
        `the loop after the one at BB${block} is not fused: ${why}`,
        {
          block,
        },
      );
  }

  /** Fuses pairs of neighbours, each loop at most once, because the analyses describe the function before any change. */
  run(): Fn {
    const { fn, ctx, forest } = this;
    return edit(
      fn,
      (d) => {
        this.d = d;
        this.pinned = pinnedBlocks(d);
        const used = new Set<number>();
        for (const { id, header } of forest.loops) {
          const block = fn.blocks[header].id;
          const found = used.has(id) ? null : this.neighbours(id);
          if (found === null) continue;
          const plan = isRefusal(found) ? found : this.judge(found);
          if (isRefusal(plan)) {
            this.missed.push({ ...plan, block });
            continue;
          }
          const { first, second } = plan;
          if (first.blocks.length + second.blocks.length > 2 && !ctx.budget('PerformLoopFusionBudget')) {
            this.missed.push({ ...no('budget', 'the budget is used up'), block });
            continue;
          }
          if (!ctx.mayRewrite('fused', block)) return;
          used.add(first.id).add(second.id);
          const message = `the loop at BB${d.id(second.header)} runs with the one at BB${block}`;
          this.fuse(plan);
          ctx.remark('passed', 'fused', message, { block });
        }
      },
      ctx.isa,
    );
  }

  /** The loop after a loop, if both have the required form, else what they lack; null if there is no such loop. */
  private neighbours(id: number): Neighbours | Refusal | null {
    const { d, forest } = this;
    const { header, latches } = forest.loops[id];
    const [latch] = latches;
    const leaves = d.successors(latch).filter((s) => s !== header);
    if (latches.length > 1 || leaves.length !== 1) return null;
    const between: BlockNo[] = [];
    let at = leaves[0];
    for (; !this.loopOfHeader.has(at); [at] = d.successors(at)) {
      if (d.predecessors(at).length !== 1 || d.successors(at).length !== 1) return null;
      between.push(at);
    }
    const next = this.loopOfHeader.get(at)!;
    if (between.length === 0 || forest.loops[next].parent !== forest.loops[id].parent || next === id)
      return null;
    const [first, second] = [id, next].map((l) => bottomTested(d, forest, l, this.pinned, this.place));
    if (isRefusal(first)) return first;
    if (isRefusal(second)) return second;
    const outside = d.predecessors(header).filter((p) => p !== latch);
    const entered = d.predecessors(second.header).every((p) => p === second.latch || p === between.at(-1));
    if (outside.length !== 1 || d.successors(outside[0]).length !== 1 || !entered)
      return no('form', 'no single block leads into each of both loops');
    if (
      between.some(
        (b) =>
          this.pinned.has(b) || (d.terminator(b) >= 0 && d.at(d.terminator(b)).op.primitive !== 'branch'),
      )
    )
      return no('between', 'a block between them is named by an instruction, or ends in more than a jump');
    return { first: { ...first, id }, second: { ...second, id: next }, before: outside[0], between };
  }

  /** The plan for fusing two loops, or why they stay apart. */
  private judge(pair: Neighbours): Plan | Refusal {
    const { d, fn } = this;
    const { first, second } = pair;
    if (this.pragmas(first.header) !== this.pragmas(second.header))
      return no('pragma', 'a pragma applies to only one of them');
    const counts = tripCountsOf(fn);
    const one = counts.of(first.id);
    if (!runEquallyOften(one, counts.of(second.id))) return no('count', 'their trip counts may differ');
    if (one.most === null) return no('endless', 'they may run forever');
    for (const loop of [first, second]) {
      const odd = this.odd(this.instructions(loop.blocks));
      if (odd !== undefined)
        return no('effect', `${d.at(odd).op.name} in BB${d.id(d.block(odd))} is not a value, load or store`);
    }
    const early = this.neededEarly(pair, counts);
    if (isRefusal(early)) return early;
    return this.orderOf(pair, counts, early) ?? this.pressureOf(pair) ?? { ...pair, early };
  }

  private pragmas(b: BlockNo): string {
    const { d } = this;
    const own = d.pragmas.filter((p) => p.block === d.id(b));
    return own
      .map((p) => p.text)
      .sort()
      .join();
  }

  /** An instruction that does more than compute, load or store. */
  private odd(list: readonly Ins[]): Ins | undefined {
    return list.find((n) => {
      const x = this.d.at(n);
      const plain = isPhi(x) || isControl(x) || isValue(x) || isPlainLoad(x);
      return !plain && storedElements(x) === null;
    });
  }

  private instructions(blocks: readonly BlockNo[]): Ins[] {
    const out: Ins[] = [];
    for (const b of blocks) for (let n = this.d.first(b); n >= 0; n = this.d.next(n)) out.push(n);
    return out;
  }

  /** Instructions between the loops that the second one needs; a refusal if one of them, or what it needs, must stay. */
  private neededEarly(pair: Neighbours, counts: TripCounts): ReadonlySet<Ins> | Refusal {
    const { d } = this;
    const { first, second, between } = pair;
    const inFirst = new Set(first.blocks);
    const within = new Set(between);
    const early = new Set<Ins>();
    const work: Ins[] = [];
    let refusal: Refusal | null = null;
    /** Handles a register that is read: in front of both loops, or else in the second one. */
    const need = (r: Reg, inFront: boolean): void => {
      d.eachDef(r, (n) => {
        const b = d.block(n);
        if (inFirst.has(b)) {
          const e = inFront ? null : counts.evolutions.evolutionOf(first.id, r);
          if (e === null || e.step.terms.length > 0 || e.step.constant !== 0n)
            refusal ??= no('scalar', `it uses what the loop at BB${d.id(first.header)} computes`);
        } else if (within.has(b) && !early.has(n)) {
          early.add(n);
          work.push(n);
        }
      });
    };
    const last = between[between.length - 1];
    for (const n of this.instructions(second.blocks))
      if (isPhi(d.at(n)) && d.block(n) === second.header) {
        const start = d.incoming(n, last);
        if (start !== null && start.reg !== NO_REG) need(start.reg, true);
        const next = d.incoming(n, second.latch);
        if (next !== null && next.reg !== NO_REG) need(next.reg, false);
      } else reads(d.at(n), (r) => need(r, false));
    for (let n = work.pop(); n !== undefined && refusal === null; n = work.pop()) {
      const x = d.at(n);
      if (isPhi(x)) return no('scalar', `it uses what the loop at BB${d.id(first.header)} computes`);
      if (!isValue(x) && !isSafeLoad(x)) return no('between', `it needs ${x.op.name} between both loops`);
      reads(x, (r) => need(r, true));
    }
    return refusal ?? early;
  }

  /**
   * Why memory accesses keep the loops apart: those of both, and those between them that would move after the second; null if none
   * does.
   */
  private orderOf(pair: Neighbours, counts: TripCounts, early: ReadonlySet<Ins>): Refusal | null {
    const { d, fn, ctx } = this;
    const { first, second } = pair;
    const a = accessesOf(fn, ctx.program.variables);
    const behind = this.instructions(pair.between).filter((n) => !early.has(n));
    const odd = this.odd(behind);
    if (odd !== undefined) return no('between', `${d.at(odd).op.name} is between them`);
    const [ones, twos, rest] = [
      this.instructions(first.blocks),
      this.instructions(second.blocks),
      behind,
    ].map((list) => list.filter((n) => rowsOf(a, n).end > 0));
    if ((ones.length + rest.length) * twos.length > Number(ctx.params['max-pairs']))
      return no('size', 'they have too many accesses to compare');
    const loops = { first: first.id, second: second.id };
    for (const m of twos) {
      const late = ones.find((n) => comesTooLate(a, counts, loops, n, m));
      if (late !== undefined)
        return no(
          'memory',
          `${d.at(late).op.name} may access what a later ${d.at(m).op.name} accesses in an earlier iteration`,
        );
      const bound = rest.find((n) => staysInOrder(a, n, m, true));
      if (bound !== undefined) return no('between', `${d.at(bound).op.name} is between them`);
    }
    return null;
  }

  /** Why both loops together would need too many registers: an estimate that counts what is live between them only once. */
  private pressureOf({ first, second, between }: Neighbours): Refusal | null {
    const p = pressureOf(this.fn);
    const [block] = between;
    const both = p.inLoop(first.id, Pool.R) + p.inLoop(second.id, Pool.R) - p.at(block, Pool.R)[0];
    const most = Number(this.ctx.params['max-pressure']);
    return both > most ? no('pressure', `both would keep ${both} registers, more than ${most}`) : null;
  }

  private fuse({ first, second, before, between, early }: Plan): void {
    const { d } = this;
    const [behind] = between;
    const last = between[between.length - 1];
    for (const n of this.instructions(between)) if (early.has(n)) d.moveToEnd(n, before);
    // Phi operands disappear with their edges, so they are kept until the new edges exist.
    const kept = (b: BlockNo, from: BlockNo): (() => void)[] =>
      d.phis(b).map((phi) => {
        const value = d.incoming(phi, from);
        const to = from === first.latch ? second.latch : last;
        return () => d.setIncoming(phi, to, value);
      });
    const updates = [
      ...kept(first.header, first.latch),
      ...kept(behind, first.latch),
      ...kept(second.exit, second.latch),
    ];
    for (const phi of d.phis(second.header).reverse()) {
      const x = d.at(phi);
      const src: Operand[] = [d.labelOf(before), d.incoming(phi, last)!];
      const next = d.incoming(phi, second.latch)!;
      d.remove(phi);
      const n = d.insertAtStart(first.header, instr(x.op, x.mods, x.dst, src, x.loc));
      updates.push(() => d.setIncoming(n, second.latch, next));
    }
    const gone = d.id(second.header);
    d.pragmas = d.pragmas.filter((p) => p.block !== gone);
    d.setTerminator(first.latch, null, second.header);
    d.redirect(second.latch, second.header, first.header);
    d.redirect(second.latch, second.exit, behind);
    d.redirect(last, second.header, second.exit);
    for (const set of updates) set();
    between.forEach((b, k) => void d.moveBlock(b, k === 0 ? second.latch : between[k - 1]));
    d.mergeWithSuccessor(first.latch);
  }
}

/** Do two loops have equal trip counts: the same constant, or both continue while the same values compare in the same way? */
function runEquallyOften(one: TripCount, two: TripCount): boolean {
  if (one.exact !== null || two.exact !== null) return one.exact === two.exact;
  const [p, q] = [one.symbolic, two.symbolic];
  return (
    p !== null &&
    q !== null &&
    p.relation === q.relation &&
    p.signed === q.signed &&
    sameForm(p.start, q.start) &&
    sameForm(p.step, q.step) &&
    sameForm(p.bound, q.bound)
  );
}
