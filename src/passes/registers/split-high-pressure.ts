import { isFixedRegister, mayRunAnywhere } from '../../analysis/calls/effects.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import {
  isLiveIn,
  type Liveness,
  LiveWalker,
  livenessOf,
  Pool,
  poolOf,
  reads,
  unitsIn,
} from '../../analysis/registers/liveness.ts';
import { type Limits, registersAllowed } from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { type Costs, instrCost } from '../../analysis/schedule/costs.ts';
import { type BlockNo, type Draft, edit, type Ins, readingInstead } from '../../ir/draft/index.ts';
import { withDst } from '../../ir/edit.ts';
import { NO_REG, type Reg, RegFile, regFile } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass, PassContext } from '../pass.ts';

/** Maximum number of rounds: after a split, another point may be the fullest of its block. */
const ROUNDS = 4;
/** Checks of values that may be live at a full point, per instruction of the function; our own bound. */
const MOST_LOOKS = 64;

/**
 * Phase 138, OriSplitHighPressureLiveRanges: the last resort where a thread would need more registers than it may have. The live range
 * of a value that can be recomputed without reading a register is split at the points of too high pressure.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           LDC.B64 RD1, c[0x0][0x168]          LDC.B64 RD1, c[0x0][0x168]
 *           STG [RD1], R2                       STG [RD1], R2
 *     BB1:  ...                           BB1:  ...                    (more registers live than a thread may have)
 *     BB2:                                BB2:
 *           STG [RD1+4], R3                     LDC.B64 RD9, c[0x0][0x168]
 *                                               STG [RD9+4], R3
 *
 * What is split: registers with one unguarded definition, before all uses, that reads no register: constants, fixed places of constant
 * banks, and special registers that are constant for a thread. Each block that uses the value computes it in front of its first use,
 * and once more after the point of highest pressure. Values with the lowest cost by frequency come first, as long as a point at which
 * they are live is too full. The cost has no bound, because ptxas would otherwise spill registers to memory.
 *
 * Unlike this phase, phase 69 works in SSA, aims at more warps below the limit, also recomputes from other registers, and stops at a
 * fraction of what the function executes.
 *
 * Requires: control-last; not SSA. Guarantees: blocks and edges stay; no point has more registers live than before. Device functions
 * stay: the registers that their callers can spare are not known. A second application continues where the rounds of the first ended;
 * otherwise it changes nothing. Bound: four rounds, each of which examines each instruction once and at most `MOST_LOOKS` values at
 * full points per instruction.
 */
export const splitHighPressure: Pass = (fn, ctx) => {
  if (fn.kind !== 'entry') return fn;
  const limit = registersAllowed((ctx.fact('limits') ?? {}) as Limits, fn);
  let out = fn;
  for (let round = 0; round < ROUNDS && pressureOf(out).most[Pool.R] > limit; round++) {
    const before = out;
    out = edit(before, (d) => new Splitting(before, d, ctx, limit).run(), ctx.isa);
    if (out === before) break;
  }
  const { most } = pressureOf(out);
  if (most[Pool.R] > limit)
    ctx.remark(
      'missed',
      'pressure',
      `${most[Pool.R]} registers live, ${limit} allowed: no more can be split`,
    );
  return out;
};

/** A point of too high pressure. */
interface Peak {
  /** The instruction after it; -1 for the end of the block. */
  readonly at: Ins;
  /** Units live there above the limit, less what has been split. */
  excess: number;
}

/** A value that is live at peaks, and its uses. */
interface Candidate {
  readonly r: Reg;
  readonly def: Ins;
  readonly peaks: Peak[];
  /** The first use in each part of a block, except the part with the definition. */
  readonly starts: Ins[];
  /** Weighted cycles of the computations in front of these uses. */
  cost: number;
}

class Splitting {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly live: Liveness;
  private readonly peaks = new Map<BlockNo, Peak>();

  constructor(fn: Fn, d: Draft, ctx: PassContext, limit: number) {
    this.fn = fn;
    this.d = d;
    this.ctx = ctx;
    this.live = livenessOf(fn);
    const pressure = pressureOf(fn);
    for (let b = 0; b < fn.blocks.length; b++) {
      const excess = pressure.inBlock(b, Pool.R) - limit;
      if (excess <= 0) continue;
      const at = pressure.at(b, Pool.R).indexOf(excess + limit);
      this.peaks.set(b, { at: this.insAt(b, at), excess });
    }
  }

  run(): void {
    const found = [...this.candidates().values()];
    for (const c of found) this.measure(c);
    found.sort((x, y) => x.cost / unitsIn(x.r) - y.cost / unitsIn(y.r) || x.r - y.r);
    for (const c of found) if (c.peaks.some((p) => p.excess > 0)) this.split(c);
  }

  /** Instruction number `i` of a block; -1 for its end. */
  private insAt(b: BlockNo, i: number): Ins {
    let n = this.d.first(b);
    for (let k = 0; k < i && n >= 0; k++) n = this.d.next(n);
    return n;
  }

  /**
   * Values that are live at a peak, not read right after it, and may be computed again. The fullest blocks come first, and at most
   * `MOST_LOOKS` values per instruction of the function are examined: where all blocks are full of constants, the least full ones stay
   * so.
   */
  private candidates(): Map<Reg, Candidate> {
    const { d, fn, live } = this;
    const out = new Map<Reg, Candidate>();
    const leaves = this.leaves();
    if (leaves.length === 0) return out;
    const walker = new LiveWalker(live);
    let budget = fn.blocks.reduce((n, b) => n + b.ins.length, 0) * MOST_LOOKS;
    for (const [b, peak] of [...this.peaks].sort((p, q) => q[1].excess - p[1].excess || p[0] - q[0])) {
      if ((budget -= leaves.length) < 0) break;
      walker.enter(b);
      for (let n = d.last(b), above: Ins; n >= 0 && peak.at >= 0; n = above) {
        above = d.previous(n);
        walker.step(d.at(n));
        if (n === peak.at) break;
      }
      const read = new Set<Reg>();
      if (peak.at >= 0) reads(d.at(peak.at), (r) => read.add(r));
      for (const r of leaves) {
        if (!walker.isLive(r) || read.has(r)) continue;
        const known = out.get(r);
        if (known === undefined) out.set(r, { r, def: d.def(r), peaks: [peak], starts: [], cost: 0 });
        else known.peaks.push(peak);
      }
    }
    return out;
  }

  /** Registers whose only definition may be repeated anywhere. */
  private leaves(): readonly Reg[] {
    return this.fn.blocks.flatMap((b) =>
      b.ins.flatMap((x) => (readsNothing(x) && this.definition(x.dst[0]) >= 0 ? [x.dst[0]] : [])),
    );
  }

  /** The only definition of a register, if it may be repeated anywhere; else -1. */
  private definition(r: Reg): Ins {
    if (poolOf(r) !== Pool.R) return -1;
    const def = this.d.def(r);
    return def >= 0 && readsNothing(this.d.at(def)) && !isLiveIn(this.live, r, this.d.entryBlock) ? def : -1;
  }

  /** Is the instruction after the peak of its block? */
  private isBehind(n: Ins): boolean {
    const peak = this.peaks.get(this.d.block(n));
    return peak !== undefined && peak.at >= 0 && (n === peak.at || this.d.precedes(peak.at, n));
  }

  /** The part of a block that an instruction is in: up to its peak, or behind. */
  private part(n: Ins): number {
    return 2 * this.d.block(n) + (this.isBehind(n) ? 1 : 0);
  }

  private measure(c: Candidate): void {
    const { d } = this;
    const own = this.part(c.def);
    const first = new Map<number, Ins>();
    d.eachUse(c.r, (u) => {
      const part = this.part(u);
      const before = first.get(part);
      if (part !== own && (before === undefined || d.precedes(u, before))) first.set(part, u);
    });
    const often = frequencyOf(this.fn).block;
    const each = instrCost(d.at(c.def), (this.ctx.fact('costs') ?? {}) as Costs);
    c.starts.push(...first.values());
    c.cost = c.starts.reduce((sum, n) => sum + each * (often[d.block(n)] ?? 0), 0);
  }

  private split(c: Candidate): void {
    const { d, ctx } = this;
    const x = d.at(c.def);
    const block = d.id(d.block(c.def));
    if (c.starts.length === 0 || !ctx.mayRewrite('split', block, x)) return;
    const places = [...new Set(c.starts.map((n) => `BB${d.id(d.block(n))}`))].join(', ');
    ctx.remark('passed', 'split', `${printInstr(x)} again in ${places}`, { block, ins: x });
    const named = new Map<number, Reg>();
    for (const n of c.starts) {
      const fresh = d.freshReg(regFile(c.r));
      named.set(this.part(n), fresh);
      d.insertBefore(n, withDst(x, [fresh]));
    }
    const users: Ins[] = [];
    d.eachUse(c.r, (u) => users.push(u));
    for (const u of users) {
      const fresh = named.get(this.part(u));
      if (fresh !== undefined) d.replace(u, readingInstead(d.at(u), c.r, fresh));
    }
    if (d.useCount(c.r) === 0) d.remove(c.def);
    for (const p of c.peaks) p.excess -= unitsIn(c.r);
  }
}

const GENERAL: ReadonlySet<number> = new Set([RegFile.R, RegFile.RD]);

/** Does it give the same result wherever it runs, without reading a register? */
function readsNothing(x: Instr): boolean {
  if (x.guard !== NO_REG || x.dst.length !== 1 || !GENERAL.has(regFile(x.dst[0]))) return false;
  let any = false;
  reads(x, () => {
    any = true;
  });
  return !any && (mayRunAnywhere(x) || isFixedRegister(x));
}
