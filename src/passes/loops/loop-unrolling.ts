import { controlIsLast } from '../../analysis/flow/cfg.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { edgeFrequency } from '../../analysis/flow/static-frequency.ts';
import { type LoopForest, loopsOf } from '../../analysis/loops/loops.ts';
import { type TripCounts, tripCountsOf } from '../../analysis/loops/trip-count.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import { type Limits, registersAllowed } from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type BlockNo, type Draft, edit, pinnedBlocks } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { Lanes } from '../../ir/opcode.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { constructSsa } from '../../ssa/construct.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { countedLoop } from './counted-loop.ts';
import {
  forcedFactor,
  halvedFactor,
  isAllowed,
  knownFactor,
  nestIsWorthIt,
  type Priced,
  partBudget,
  priced,
  tabledFactor,
} from './unroll-factor.ts';
import { unrollFully } from './unroll-full.ts';
import { groupsArePossible, ladderSizes, unrollKnown, unrollPartly } from './unroll-partly.ts';
import { type BottomTested, bottomTested, codeOf, isRefusal, type Refusal } from './unroll-shape.ts';

/** Maximum number of nested loops unrolled one after another; deeper nests need another application. */
const MOST_ROUNDS = 16;
/** Default of UnrollFullInstLimit in the original (reference passes-c). */
const MOST_FULL = 200;
/**
 * Size of a function, in instructions, beyond which full unrolling stops, unless `full-size` says otherwise: at 450,000 a run takes 1.2
 * GB (`npm run bench -- --scale`). The original's own limit is not known.
 */
const FULL_SIZE = 400_000;
/**
 * A latch that runs at least this often in a run of the function, and more than so many times for each entry of its loop, is hot
 * (reference passes-c).
 */
const HOT_RUNS = 1000;
const HOT_ROUNDS = 3;

/**
 * Phase 22, OriLoopUnrolling: unrolls loops.
 *
 *     before                         after
 *     BB0:                           BB0:
 *           MOV R1, RZ                     MOV R1, RZ
 *     BB1:                           BB1:
 *           STG [RD4], R1                  STG [RD4], R1
 *           IADD3 R1, R1, 1                IADD3 R1, R1, 1
 *           ISETP.LT P2, R1, 2             ISETP.LT P2, R1, 2
 *       @P2 BRA BB1                  BB3:
 *     BB2:                                 STG [RD4], R1
 *           EXIT                           IADD3 R1, R1, 1
 *                                          ISETP.LT P2, R1, 2
 *                                    BB2:
 *                                          EXIT
 *
 * 1. In full (`unrollFully`): a loop with a known trip count, if all its iterations together have at most `UnrollFullInstLimit`
 *    instructions, and the function stays below `full-size`. Inner loops come first: without them the surrounding loop may be small
 *    enough too. Tests that are no longer read are left to dead-code elimination.
 * 2. In part (`unrollPartly`): a loop that counts towards a bound, by UnrollUnknownCount. That is halved until the copies have at most
 *    UnrollBudget instructions and their values fit both `max-pressure` and the registers that the SM gives a thread, less `slack`. All
 *    lanes must run the loop equally often; otherwise lanes that are done with the unrolled loop would wait while others run the
 *    remaining iterations. With `partial: false`, only if a knob says so: 429 forces a factor of 2 to the power of its value, 896 this
 *    factor, and under UnrollFactorTable the table of the reference chooses it (`tabledFactor`). Then nests are unrolled too, and a loop
 *    with a known trip count gets the greatest factor within UnrollBudget, after the iterations that do not fill a group
 *    (`unrollKnown`).
 *
 * Both need a loop that control leaves only at its single latch (phase 18 puts most others into this form), without
 * operations between lanes. `.pragma "nounroll"` at the header, or at the function, is obeyed: no copies are made, and a loop that runs
 * once loses only the branch that is never taken. Partly unrolled loops get the pragma, which tells later phases and ptxas not to
 * unroll them again.
 *
 * Knobs: 437 off: nothing is unrolled; 897 off: no loop with several blocks; 902 off: no loop whose bound is in a register; 91: headers
 * of loops that stay, by block id; 427: `-` none, `-N-` not the loop at block N, `+` and `+N+` even where a pragma forbids it; 895: in
 * step 2, groups of powers of two run the remaining iterations of an outermost loop.
 *
 * Requires: control-last, phi-free; trip counts are those of the function in SSA. Guarantees: control-last,
 * loop-form. A second application changes nothing, except in nests deeper than 16.
 * Bound: linear in the output, for each level of nests that are unrolled in full; the output is bounded for each
 * loop.
 */
export const loopUnrolling: Pass = (fn, ctx) => {
  if (!isAllowed(ctx, 'Knob437')) return fn;
  if (!controlIsLast(fn) || fn.blocks.some((b) => b.ins.length > 0 && isPhi(b.ins[0]))) {
    ctx.remark(
      'missed',
      'form',
      'a control operation is in the middle of a block, or the function is in SSA',
    );
    return fn;
  }
  const { partial } = ctx.params;
  const full =
    (partial === false || partial === 0) &&
    forcedFactor(ctx) === null &&
    !isSet(ctx.knob('UnrollFactorTable'));
  const given = new Set(fn.attrs.pragmas.filter((p) => forbids(p.text)).map((p) => p.block));
  let now = fn;
  for (let round = 1; ; round++) {
    const step = new Unroller(now, ctx, given);
    const out = step.inFull();
    if (out !== now && round < MOST_ROUNDS) {
      now = out;
      continue;
    }
    const second = full || out !== now ? null : new Unroller(now, ctx, given);
    const inPart = second?.inPart() ?? out;
    if (inPart === now || round === MOST_ROUNDS) {
      step.reportMissed();
      second?.reportMissed();
      return inPart;
    }
    // The remainder of a loop may run only once, and the loop around it may then be an innermost one.
    now = inPart;
  }
};

const instructionsOf = (fn: Fn): number => fn.blocks.reduce((sum, b) => sum + b.ins.length, 0);

/** Does a directive, or the text of a pragma, forbid unrolling? */
const forbids = (text: string): boolean => text.includes('nounroll');

/** What knob 427 says: whether all loops, or those at some blocks, are unrolled against a pragma (true) or not at all (false). */
function overridesOf(text: unknown): { all: boolean | null; loops: ReadonlyMap<number, boolean> } {
  const loops = new Map<number, boolean>();
  let all: boolean | null = null;
  for (const [, of, block, alone] of String(text ?? '').matchAll(/([-+])(\d+)\1|([-+])/g))
    if (alone === undefined) loops.set(Number(block), of === '+');
    else all = alone === '+';
  return { all, loops };
}

class Unroller {
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly forest: LoopForest;
  private readonly place: Int32Array;
  /** Ids of blocks whose pragma forbids unrolling. */
  private readonly stays: ReadonlySet<number>;
  /** Whether a directive, or the pragma of the entry, forbids it in the whole function. */
  private readonly allStay: boolean;
  /** Ids of headers that knob 91 excepts. */
  private readonly excepted: ReadonlySet<number>;
  private readonly given: Set<number>;
  private readonly overrides: ReturnType<typeof overridesOf>;
  /** Whether the table of the reference chooses factors, and nests are unrolled. */
  private readonly tabled: boolean;
  private readonly missed: (Refusal & { readonly block: number })[] = [];
  private ssa: { readonly counts: TripCounts; readonly loops: ReadonlyMap<number, number> } | null = null;

  /** @param given ids of blocks whose pragma of the source forbids unrolling; others that do are ours */
  constructor(fn: Fn, ctx: PassContext, given: Set<number>) {
    this.fn = fn;
    this.given = given;
    this.ctx = ctx;
    this.forest = loopsOf(fn);
    this.place = Int32Array.from(fn.blocks.keys());
    this.stays = new Set(fn.attrs.pragmas.filter((p) => forbids(p.text)).map((p) => p.block));
    this.allStay = fn.attrs.directives.some(forbids) || this.stays.has(fn.blocks[0].id);
    this.excepted = new Set(ctx.knob('Knob91') as readonly number[] | null);
    this.overrides = overridesOf(ctx.knob('Knob427'));
    this.tabled = isSet(ctx.knob('UnrollFactorTable'));
  }

  /** Reports why loops were not unrolled. */
  reportMissed(): void {
    for (const { block, ...refusal } of this.missed) {
      const message = `the loop at BB${block} is not unrolled${codeOf(refusal)}: ${refusal.why}`;
      this.ctx.remark('missed', `not-unrolled-${refusal.name}`, message, { block });
    }
  }

  inFull(): Fn {
    const most = Number(this.ctx.knob('UnrollFullInstLimit') ?? MOST_FULL);
    let room = Number(this.ctx.params['full-size'] ?? FULL_SIZE) - instructionsOf(this.fn);
    return this.each(true, 'unrolled', (loop, d, stays) => {
      const again = this.tripCount(loop);
      if (stays && again !== 0n) return this.given.has(d.id(loop.header)) ? FORBIDDEN : null;
      if (again === null) return null;
      const rounds = `${again + 1n} ${again === 0n ? 'iteration' : 'iterations'} of ${loop.size} instructions`;
      const price = this.priceOf(loop, d);
      if (again > 0n && this.tooFewFetches(loop, price)) return FEW_FETCHES;
      if (again > 0n && (again + 1n) * BigInt(price.cost) > BigInt(most))
        return { name: 'size', why: `${rounds} are more than ${most}` };
      const copied = Number(again) * loop.size;
      if (copied > 0 && copied > room)
        return { name: 'function-size', why: `with ${rounds} the function would be too large` };
      return {
        what: again === 0n ? rounds : `${rounds}, one after the other`,
        apply: () => {
          room -= copied;
          unrollFully(d, loop, Number(again));
        },
      };
    });
  }

  inPart(): Fn {
    const { ctx } = this;
    return this.each(false, 'unrolled-partly', (loop, d, stays) => {
      if (stays) return null;
      const price = this.priceOf(loop, d);
      // Where the trip count is known, the first step has said so.
      if (this.tooFewFetches(loop, price)) return this.tripCount(loop) === null ? FEW_FETCHES : null;
      const again = this.tabled && forcedFactor(ctx) === null ? this.tripCount(loop) : null;
      return again === null ? this.unknown(d, loop, price) : this.known(d, loop, price, again + 1n);
    });
  }

  /** A loop that runs so many iterations, unrolled with a part of them in front. */
  private known(d: Draft, loop: BottomTested, price: Priced, iterations: bigint): Refusal | Unrolling {
    const wanted = knownFactor(iterations, price, this.ctx);
    if (wanted < 2) return tooLarge(loop);
    const { factor, fewer } = this.within(wanted, loop);
    if (factor < 2) return { name: 'pressure', why: fewer };
    if (mayWaitInLoops(this.fn)) return WAITING;
    const remainder = Number(iterations % BigInt(factor));
    const first = remainder === 0 ? '' : `, after ${remainder} in front`;
    return {
      what: `${factor} of ${iterations} iterations of ${loop.size} instructions at once${first}${after(fewer)}`,
      apply: () => unrollKnown(d, loop, factor, remainder),
    };
  }

  /** A loop that counts towards a bound, unrolled with a test for each group of iterations. */
  private unknown(d: Draft, loop: BottomTested, price: Priced): Refusal | Unrolling {
    const { fn, ctx, forest } = this;
    const counted = countedLoop(d, loop);
    if (isRefusal(counted)) return counted;
    if (counted.bound.kind !== Kind.Imm && !isAllowed(ctx, 'Knob902'))
      return { name: 'bound', why: 'its bound is in a register' };
    const wanted =
      forcedFactor(ctx) ??
      (this.tabled
        ? tabledFactor(price, loop.blocks.length, this.isHot(loop), ctx)
        : halvedFactor(loop.size, ctx));
    if (wanted === 0 && 2 * price.cost <= partBudget(ctx)) return SEVERAL_BLOCKS;
    if (wanted < 2) return tooLarge(loop);
    const { factor, fewer } = this.within(wanted, loop);
    if (factor < 2) return { name: 'pressure', why: fewer };
    if (!groupsArePossible(counted, factor))
      return {
        name: 'bound',
        why: 'its bound is so close to the end of the number range that a group of iterations would wrap',
      };
    if (mayWaitInLoops(fn)) return WAITING;
    if (divergenceOf(fn).branch[loop.latch] >= Lanes.Varying)
      return { name: 'divergent', why: 'lanes of a warp may have different trip counts' };
    const outermost = forest.loops[forest.innermost[loop.header]].parent < 0;
    const ladder = Number(ctx.knob('Knob895') ?? 0) !== 0 && outermost && factor > 2;
    const then = ladder ? `, then ${ladderSizes(factor).join(', ')} and 1` : '';
    return {
      what: `${factor} iterations of ${loop.size} instructions at once${then}${after(fewer)}`,
      apply: () => unrollPartly(d, loop, counted, factor, ctx.isa, ladder),
    };
  }

  /** Is it a nest that may not be unrolled? */
  private tooFewFetches({ header }: BottomTested, price: Priced): boolean {
    const { ctx, forest } = this;
    const isNest = forest.loops[forest.innermost[header]].children.length > 0;
    return isNest && forcedFactor(ctx) === null && !nestIsWorthIt(price, ctx);
  }

  /** The cost of an iteration: its size, unless the table of the reference is followed. */
  private priceOf(loop: BottomTested, d: Draft): Priced {
    const { ctx, forest, fn } = this;
    if (!this.tabled) return { cost: loop.size, textures: 0 };
    const own = forest.innermost[loop.header];
    const kept = new Set<BlockNo>();
    for (const b of loop.blocks)
      for (let l = forest.innermost[b]; l !== own && l >= 0; l = forest.loops[l].parent)
        if (this.stays.has(fn.blocks[forest.loops[l].header].id)) kept.add(b);
    return priced(d, loop, kept, ctx.fact('capabilities.constant-operands') === true, ctx);
  }

  private isHot({ header, latch }: BottomTested): boolean {
    const f = frequencyOf(this.fn);
    const { succ, succStart } = this.forest.cfg;
    let entries = f.block[header];
    for (let e = succStart[latch]; e < succStart[latch + 1]; e++)
      if (succ[e] === header) entries -= edgeFrequency(f, latch, e);
    return f.block[latch] >= HOT_RUNS && f.block[latch] > HOT_ROUNDS * entries;
  }

  /**
   * Examines each loop and performs the unrolling that `plan` finds.
   *
   * @param reportForm whether to report which form a loop lacks
   * @param plan decides about one loop; its `stays` says that the loop may get no copies
   */
  private each(
    reportForm: boolean,
    name: string,
    plan: (loop: BottomTested, d: Draft, stays: boolean) => Refusal | Unrolling | null,
  ): Fn {
    const { fn, ctx, forest } = this;
    if (forest.loops.length === 0) return fn;
    const tangled = new Set(forest.irreducible.flatMap((r) => r.blocks));
    return edit(
      fn,
      (d) => {
        const pinned = pinnedBlocks(d);
        const single = !isAllowed(ctx, 'Knob897');
        /** Loops whose blocks are no longer those of the function. */
        const changed = new Set<number>();
        // A nest comes after the loops inside it.
        for (const { id, header } of this.tabled ? [...forest.loops].reverse() : forest.loops) {
          const block = fn.blocks[header].id;
          const { all, loops } = this.overrides;
          const override = loops.get(block) ?? all;
          if (tangled.has(header) || this.excepted.has(block) || override === false || changed.has(id))
            continue;
          const stays = !(override === true && this.given.has(block)) && this.mustStay(id);
          const loop = bottomTested(d, forest, id, pinned, this.place, this.tabled);
          if (isRefusal(loop)) {
            if (reportForm && !stays) this.missed.push({ ...loop, block });
            continue;
          }
          if (single && loop.blocks.length > 1) continue;
          const found = plan(loop, d, stays);
          if (found === null) continue;
          if (isRefusal(found)) {
            this.missed.push({ ...found, block });
            continue;
          }
          if (!ctx.mayRewrite(name, block)) return;
          // Left there, it would apply to a loop around the block, or to the whole function once the block is its entry.
          if (!this.allStay) d.pragmas = d.pragmas.filter((p) => p.block !== block || !forbids(p.text));
          found.apply();
          this.given.delete(block);
          for (let l = id; l >= 0; l = forest.loops[l].parent) changed.add(l);
          ctx.remark('passed', name, `the loop at BB${block}: ${found.what}`, { block });
        }
      },
      ctx.isa,
    );
  }

  /** How often control returns to the header per entry of the loop, if known. */
  private tripCount(loop: BottomTested): bigint | null {
    if (this.ssa === null) {
      const ssa = constructSsa(this.fn, this.ctx.isa);
      const loops = new Map(loopsOf(ssa).loops.map((l) => [ssa.blocks[l.header].id, l.id]));
      this.ssa = { counts: tripCountsOf(ssa), loops };
    }
    const id = this.ssa.loops.get(this.fn.blocks[loop.header].id);
    return id === undefined ? null : this.ssa.counts.of(id).exact;
  }

  /** Does a pragma forbid it? In the original, that of a loop is for the loops inside it too, which the table follows. */
  private mustStay(id: number): boolean {
    const { fn, forest } = this;
    for (let l = id; l >= 0; l = this.tabled ? forest.loops[l].parent : -1)
      if (this.stays.has(fn.blocks[forest.loops[l].header].id)) return true;
    return this.allStay;
  }

  /**
   * The factor, halved until the copies fit the registers, and why it was halved. What is live through the loop counts once, the rest
   * of an iteration's pressure once for each copy: a scheduler may start the copies together, so that their loads overlap.
   */
  private within(wanted: number, loop: BottomTested): { factor: number; fewer: string } {
    const { fn, ctx, forest } = this;
    const slack = Number(ctx.params.slack ?? 0);
    const allowed = registersAllowed((ctx.fact('limits') ?? {}) as Limits, fn) - slack;
    const most = Math.min(allowed, Number(ctx.params['max-pressure'] ?? Number.POSITIVE_INFINITY));
    const pressure = pressureOf(fn);
    const through = pressure.at(loop.header, Pool.R)[0];
    const own = pressure.inLoop(forest.innermost[loop.header], Pool.R) - through;
    let factor = wanted;
    while (factor > 1 && through + factor * own > most) factor = Math.floor(factor / 2);
    if (factor === wanted) return { factor, fewer: '' };
    const next = Math.max(2, 2 * factor);
    return { factor, fewer: `${next} at once may need ${through + next * own} registers, more than ${most}` };
  }
}

const FORBIDDEN: Refusal = { name: 'nounroll', why: 'a pragma forbids it' };
const FEW_FETCHES: Refusal = { name: 'not-innermost', why: 'it holds another loop, and few texture fetches' };
const WAITING: Refusal = { name: 'waiting', why: 'lanes may wait for each other in a loop' };
const SEVERAL_BLOCKS: Refusal = {
  name: 'factor',
  why: 'it has several blocks, and an unknown trip count',
};
const tooLarge = (loop: BottomTested): Refusal => ({
  name: 'budget',
  why: `two iterations of ${loop.size} instructions are too many`,
});

/** A reason behind a colon, if there is one. */
const after = (why: string): string => (why === '' ? '' : `: ${why}`);

/** The unrolling chosen for a loop. */
interface Unrolling {
  readonly what: string;
  readonly apply: () => void;
}
