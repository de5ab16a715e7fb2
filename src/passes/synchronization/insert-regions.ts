import { cfgOf } from '../../analysis/flow/cfg.ts';
import {
  type ConvergenceRegion,
  convergenceRegionsOf,
} from '../../analysis/synchronization/convergence-regions.ts';
import { type BlockNo, type Draft, edit, preheader, splitPredecessors } from '../../ir/draft/index.ts';
import { label, type Reg, RegFile, reg } from '../../ir/operand.ts';
import { type Fn, instr } from '../../ir/program.ts';
import type { Pass, PassContext } from '../pass.ts';

/**
 * Phase LateExpandSyncInstructions: lanes that diverge at a branch wait for each other where its paths meet.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           ISETP.EQ P3, R2, RZ                 ISETP.EQ P3, R2, RZ
 *       @P3 BRA BB2                             BSSY B4, BB2
 *     BB1:                                  @P3 BRA BB2
 *           STG [RD1], R2                 BB1:
 *     BB2:                                      STG [RD1], R2
 *           EXIT                          BB2:
 *                                               BSYNC B4
 *                                               EXIT
 *
 * The regions are those of `convergenceRegionsOf`: from a divergent branch to its immediate post-dominator, around a loop that lanes
 * leave at different times, one for all that end at the same place. A branch on which lanes agree has none. Each level of nesting has
 * one barrier register, which disjoint regions share. Regions nested deeper than the target has registers
 * (`limits.convergence-barriers`) are not set: lanes of these innermost regions then meet at the end of the enclosing one.
 *
 * If control also reaches the meeting place from outside the region, the region gets a block in front of it.
 *
 * Off until knob ExpandSyncInstLate: PTX has no such instructions, and ptxas inserts its own.
 *
 * Every path leaves a region through its meeting place or by ending the thread, for which nobody waits; so no lane must be taken off a
 * barrier (the BREAK of the hardware).
 *
 * Requires: control-last. Guarantees: control-last; equivalence; on every path each BSYNC has one BSSY before it. A function that has
 * convergence barriers keeps those that it has, so a second application changes nothing.
 * Bound: as `convergenceRegionsOf`; two instructions and at most two blocks for each region.
 */
export const insertRegions: Pass = (fn, ctx) => {
  const knob = ctx.knob('ExpandSyncInstLate');
  if (knob === null || knob === false || knob === 0) return fn;
  const { regions, without } = convergenceRegionsOf(fn);
  if (regions.length === 0 && without.length === 0) return fn;
  const most = Number(ctx.fact('limits.convergence-barriers'));
  if (most === 0) {
    ctx.remark(
      'missed',
      'region-none',
      'the target has no convergence barriers: its lanes reconverge where paths join',
    );
    return fn;
  }
  const own = fn.blocks.find((b) => b.ins.some((x) => x.op.primitive === 'convergence'));
  if (own !== undefined) {
    ctx.remark('missed', 'region-none', `BB${own.id} uses a convergence barrier: the function has regions`, {
      block: own.id,
    });
    return fn;
  }
  for (const { branch, why } of without) {
    const { id } = fn.blocks[branch];
    ctx.remark('missed', 'region-none', `lanes diverge at BB${id}: ${why}`, { block: id });
  }
  const set = regions.filter((r) => {
    if (r.level < most) return ctx.mayRewrite('region-set', fn.blocks[r.start].id);
    const { id } = fn.blocks[r.start];
    ctx.remark(
      'missed',
      'region-none',
      `lanes diverge at BB${id}: ${r.level} regions are around it, as many as registers`,
      {
        block: id,
      },
    );
    return false;
  });
  return set.length === 0 ? fn : edit(fn, (d) => new Inserter(fn, d, ctx).insert(set), ctx.isa);
};

class Inserter {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly ctx: PassContext;
  /** By nesting level. */
  private readonly registers: Reg[] = [];
  /** For blocks inserted in front of a meeting place: one of the blocks that lead to it. */
  private readonly behind = new Map<BlockNo, number>();

  constructor(fn: Fn, d: Draft, ctx: PassContext) {
    this.fn = fn;
    this.d = d;
    this.ctx = ctx;
  }

  /** @param regions by start, outer ones first */
  insert(regions: readonly ConvergenceRegion[]): void {
    const { d, fn } = this;
    const place = this.meetingPlaces(regions);
    for (const r of regions) {
      const to = d.id(place.get(r)!);
      const start = this.number(r.start);
      const at = r.aroundLoop
        ? preheader(d, { header: start, contains: (b) => r.blocks.has(this.position(b)) })
        : start;
      const set = instr(d.opcode('BSSY'), 0, [this.register(r.level)], [label(to)]);
      d.insertAtEnd(at, set);
      const { id } = fn.blocks[r.start];
      const n = r.branches.length;
      const from = r.aroundLoop ? `in front of the loop at BB${id}` : `BB${id}`;
      const branches = n === 1 ? 'one divergent branch' : `${n} divergent branches`;
      const what = `${from} to BB${fn.blocks[r.join].id}, level ${r.level}: ${branches}`;
      this.ctx.remark('passed', 'region-set', what, { block: id, ins: set });
    }
  }

  /** Makes the places where regions end, each with its BSYNC. Regions that end at one place share it. */
  private meetingPlaces(regions: readonly ConvergenceRegion[]): Map<ConvergenceRegion, BlockNo> {
    const { d } = this;
    const loops = new Map(regions.filter((r) => r.aroundLoop).map((r) => [r.start, r]));
    // Lanes that enter a loop wait in front of it, before the region around it begins; lanes that go around wait inside it.
    const outside = (r: ConvergenceRegion): boolean =>
      loops.has(r.join) && !loops.get(r.join)!.blocks.has(r.leaves[0]);
    const groups = new Map<string, ConvergenceRegion[]>();
    for (const r of regions) {
      const key = `${r.join}${outside(r) ? ' outside' : ''}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key)!.push(r);
    }
    const place = new Map<ConvergenceRegion, BlockNo>();
    for (const group of groups.values()) {
      const [{ join, level }] = group;
      const leaves = [...new Set(group.flatMap((r) => r.leaves))].map((b) => this.number(b));
      const target = this.number(join);
      const all = d.predecessors(target).every((p) => leaves.includes(p)) && target !== d.entryBlock;
      const at = all && !outside(group[0]) ? target : splitPredecessors(d, target, leaves);
      if (at !== target) this.behind.set(at, group[0].leaves[0]);
      d.insertAtStart(at, instr(d.opcode('BSYNC'), 0, [], [reg(this.register(level))]));
      for (const r of group) place.set(r, at);
    }
    return place;
  }

  private register(level: number): Reg {
    this.registers[level] ??= this.d.freshReg(RegFile.B);
    return this.registers[level];
  }

  private number(position: number): BlockNo {
    return this.d.blockById(this.fn.blocks[position].id);
  }

  /** Position of a block in the snapshot; for a new block, of one that leads to it; -1 if there is none. */
  private position(b: BlockNo): number {
    return this.behind.get(b) ?? cfgOf(this.fn).positionOf[this.d.id(b)] ?? -1;
  }
}
