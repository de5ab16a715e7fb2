import { cfgOf, targets } from '../analysis/cfg.ts';
import { defCount, defUseOf } from '../analysis/defuse.ts';
import { postDominatorsOf } from '../analysis/dominators.ts';
import { reads } from '../analysis/liveness.ts';
import { memo } from '../analysis/memo.ts';
import { isControl, isPhi } from '../ir/flow.ts';
import { modOf, OpFlag } from '../ir/opcode.ts';
import { NO_REG, regIndex } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';

/** Where the threads of a warp may part. */
export interface Divergence {
  /** Positions of blocks with a branch at which they may. */
  readonly points: readonly number[];
  /** Most regions of parted threads around one block; regions that end at one place are one. */
  readonly depth: number;
}

/**
 * Branches that may part the threads of a warp, for a function all of whose threads come in together. A value is the same in
 * all threads unless it stems from a thread's number, a shuffle, an atomic, local memory or a call, or was chosen by a branch
 * that parts them (the join's values, by post-dominators; Coutinho et al., "Divergence Analysis and Optimizations", 2011).
 * What a loop with such an exit leaves behind counts as differing, so the answer is an upper bound.
 */
export const divergenceOf: (fn: Fn) => Divergence = memo((fn) => {
  const differs = new Uint8Array(fn.regCount);
  if (fn.kind === 'func') for (const p of fn.params) if (p.reg !== NO_REG) differs[regIndex(p.reg)] = 1;
  const uses = defUseOf(fn);
  const region = new Uint8Array(fn.blocks.length);
  for (let changed = true; changed; ) {
    changed = false;
    for (let b = 0; b < fn.blocks.length; b++)
      for (const ins of fn.blocks[b].ins) {
        if (ins.dst.length === 0) continue;
        const parted = region[b] === 1;
        const all = differing(ins, differs) || (parted && isPhi(ins));
        for (const r of ins.dst) {
          if (r === NO_REG || differs[regIndex(r)] === 1) continue;
          if (!all && !(parted && (defCount(uses, r) > 1 || ins.guard !== NO_REG))) continue;
          differs[regIndex(r)] = 1;
          changed = true;
        }
      }
    for (const b of points(fn, differs))
      for (const inside of regionOf(fn, b, true))
        if (region[inside] === 0) {
          region[inside] = 1;
          changed = true;
        }
  }
  const found = points(fn, differs);
  return { points: found, depth: depthOf(fn, found) };
});

/** Reads something that is not the same in all threads, or makes it. */
function differing(ins: Instr, differs: Uint8Array): boolean {
  const { op } = ins;
  let any = false;
  reads(ins, (r) => {
    if (differs[regIndex(r)] === 1) any = true;
  });
  // A vote, a reduction or the active mask has one result for all who take part.
  if (/^(VOTE|REDUX|ACTIVEMASK)$/.test(op.name)) return false;
  if (any || (op.flags & OpFlag.Convergent) !== 0 || op.space === 'local') return true;
  const memory = OpFlag.ReadsMemory | OpFlag.WritesMemory;
  if ((op.flags & memory) === memory) return true;
  return op.name === 'S2R' && /^(TID|LANE)/.test(modOf(op, ins.mods, 'sr'));
}

/** Blocks that end, for some threads, elsewhere than for others. */
function points(fn: Fn, differs: Uint8Array): number[] {
  const out: number[] = [];
  for (let b = 0; b < fn.blocks.length; b++)
    if (fn.blocks[b].ins.some((x) => isControl(x) && parts(fn, x, differs))) out.push(b);
  return out;
}

function parts(fn: Fn, ins: Instr, differs: Uint8Array): boolean {
  let goes = false;
  targets(fn, ins, () => {
    goes = true;
  });
  if (!goes) return false;
  let any = ins.guard !== NO_REG && differs[regIndex(ins.guard)] === 1;
  for (const o of ins.src) if (o.reg !== NO_REG && differs[regIndex(o.reg)] === 1) any = true;
  return any;
}

/** Blocks between a branch and the place where all who part there are together again; with `join`, that too. */
function regionOf(fn: Fn, b: number, join: boolean): Set<number> {
  const g = cfgOf(fn);
  const end = postDominatorsOf(fn).idom[b];
  const seen = new Set<number>();
  const work: number[] = [];
  for (let e = g.succStart[b]; e < g.succStart[b + 1]; e++) work.push(g.succ[e]);
  for (let x = work.pop(); x !== undefined; x = work.pop()) {
    if (x === end || seen.has(x)) continue;
    seen.add(x);
    for (let e = g.succStart[x]; e < g.succStart[x + 1]; e++) work.push(g.succ[e]);
  }
  if (join && end >= 0 && end < g.count) seen.add(end);
  return seen;
}

function depthOf(fn: Fn, points: readonly number[]): number {
  const end = postDominatorsOf(fn).idom;
  const byEnd = new Map<number, Set<number>>();
  for (const b of points) {
    const blocks = byEnd.get(end[b]) ?? new Set();
    for (const x of regionOf(fn, b, false)) blocks.add(x);
    byEnd.set(end[b], blocks);
  }
  const depth = new Int32Array(fn.blocks.length);
  for (const blocks of byEnd.values()) for (const b of blocks) depth[b]++;
  let most = 0;
  for (const d of depth) if (d > most) most = d;
  return most;
}
