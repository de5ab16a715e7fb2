import { isPlainLoad, isSafeLoad } from '../../analysis/calls/effects.ts';
import { HoistPolicy } from '../../analysis/loops/hoist-policy.ts';
import { loopsOf } from '../../analysis/loops/loops.ts';
import { sharedBytes } from '../../analysis/memory/shared-layout.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import {
  freeRegisters,
  type Limits,
  registersAllowed,
  statedThreads,
  USUAL_BLOCK,
} from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { BlockOrder, mayChangePlaces } from '../../analysis/schedule/block-order.ts';
import { blockTime, latency, type Times } from '../../analysis/schedule/block-time.ts';
import type { Costs } from '../../analysis/schedule/costs.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass, PassContext } from '../pass.ts';
import { lowerValues } from './lower-values.ts';
import { type Rise, raiseLoads } from './raise-loads.ts';

/**
 * Phases 67, DoKillMovement (`direction: down`), and 68, DoTexMovement (`direction: up`): instructions move within a block. Slow loads
 * move up, so that independent work separates them from their uses (`raise-loads.ts`); a value moves down to its only use where
 * registers are scarce (`lower-values.ts`).
 *
 *     before                              after, up
 *     BB0:                                BB0:
 *           LDG R1, [RD8]                       LDG R1, [RD8]
 *           FADD R2, R1, R3                     IADD_64 RD9, RD8, R4
 *           IADD_64 RD9, RD8, R4                LDG R5, [RD9]
 *           LDG R5, [RD9]                       FADD R2, R1, R3
 *           FADD R6, R5, R2                     FADD R6, R5, R2
 *
 *     before                              after, down
 *     BB0:                                BB0:
 *           SHL R1, R2, 3                       ...                    (many registers live, R2 among them)
 *           ...                                 SHL R1, R2, 3
 *           STG [RD4], R1                       STG [RD4], R1
 *
 * Registers: a load may rise as long as no point exceeds the function's current maximum, or the number that leaves an SM all the warps
 * that it could hold (less `slack`, since ptxas needs some of its own), whichever is more; never more than `.maxnreg` and
 * `.minnctapersm` allow. A value that sinks raises the number at no point.
 *
 * Everything runs as often as before: no instruction leaves its block, because an access must not run where it did not, and phases 35,
 * 66 and 77 have moved what may move between blocks. No load passes control operations, barriers and volatile accesses. Uniform
 * registers stay: lanes that arrive later share them.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing, unless the first one freed
 * registers, or stopped at one of its bounds.
 * Bound: each instruction once in each direction, and a bounded number of passed instructions in total.
 */
export const moveInstructions: Pass = (fn, ctx) => {
  const policy = Number(ctx.knob('Knob381') ?? HoistPolicy.Always);
  if (policy !== HoistPolicy.Always && policy !== HoistPolicy.Inner) return fn;
  const down = ctx.params.direction === 'down';
  const times: Times = {
    costs: (ctx.fact('costs') ?? {}) as Costs,
    latencies: (ctx.fact('latencies') ?? {}) as Times['latencies'],
  };
  const least = Number(ctx.params['least-latency'] ?? 0);
  const isSlow = (x: Instr): boolean =>
    isPlainLoad(x) && !isSafeLoad(x) && latency(x, times) >= least && mayChangePlaces(x);
  if (!down && !fn.blocks.some((b) => b.ins.some(isSlow))) return fn;
  const { most: peaks, inBlock } = pressureOf(fn);
  const { spared, allowed } = registersOf(fn, ctx);
  if (down && peaks[Pool.R] <= spared) return fn;
  const isCandidate = (b: number): boolean =>
    (policy === HoistPolicy.Always || isInnermost(fn, b)) &&
    (down ? inBlock(b, Pool.R) > spared : fn.blocks[b].ins.some(isSlow));
  const most = Math.min(Math.max(peaks[Pool.R], spared), allowed);
  const rise = { isSlow, times, most, leastGain: Number(ctx.params['least-gain'] ?? 1) };
  return edit(
    fn,
    (d) => {
      for (let b = 0; b < fn.blocks.length; b++)
        if (isCandidate(b)) moveWithin(d, b, ctx, times, down ? spared : rise);
    },
    ctx.isa,
  );
};

/** @param how settings for loads that rise; or, for values that sink, the registers that may be live without costing warps */
function moveWithin(d: Draft, b: BlockNo, ctx: PassContext, times: Times, how: Rise | number): void {
  const block = d.id(b);
  const order = new BlockOrder(d, b);
  const ins = order.instructions();
  const refuse = (n: Ins, name: string, message: string): void =>
    ctx.remark('missed', name, `${printInstr(d.at(n))}: ${message}`, { block, ins: d.at(n) });
  const down = typeof how === 'number';
  const moves = down ? lowerValues(d, order, how, refuse) : raiseLoads(d, order, how, ctx, refuse);
  if (moves.length === 0) return;
  const was = blockTime({ ins }, times).alone;
  const now = blockTime({ ins: order.instructions() }, times).alone;
  if (!down && now >= was)
    return ctx.remark('missed', 'not-faster', `${was} cycles before, ${now} after`, { block });
  for (const { group, before } of moves) {
    const n = group[group.length - 1];
    const x = d.at(n);
    if (!ctx.mayRewrite('moved', block, x)) break;
    const what = `${printInstr(x)} above ${printInstr(d.at(before))}`;
    ctx.remark('passed', down ? 'lowered' : 'raised', what, { block, ins: x });
    for (const m of group) d.move(m, before);
  }
}

/** Registers that may be live at once without costing warps, and the maximum that may be live. */
function registersOf(fn: Fn, ctx: PassContext): { spared: number; allowed: number } {
  const limits = (ctx.fact('limits') ?? {}) as Limits;
  const slack = Number(ctx.params.slack ?? 0);
  const most = Number(ctx.params['max-pressure'] ?? Number.POSITIVE_INFINITY);
  const allowed = Math.min(most, registersAllowed(limits, fn) - slack);
  const use = { threads: statedThreads(fn) ?? USUAL_BLOCK, shared: sharedBytes(ctx.program, fn) };
  return { spared: Math.min(allowed, freeRegisters(limits, use) - slack), allowed };
}

function isInnermost(fn: Fn, b: number): boolean {
  const { innermost, loops } = loopsOf(fn);
  return innermost[b] >= 0 && loops[innermost[b]].children.length === 0;
}
