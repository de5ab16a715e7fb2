import { controlIsLast } from '../../analysis/flow/cfg.ts';
import { type LoopForest, loopsOf } from '../../analysis/loops/loops.ts';
import { type TripCounts, tripCountsOf } from '../../analysis/loops/trip-count.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import { type Limits, registersAllowed } from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type Draft, edit, pinnedBlocks } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { Lanes } from '../../ir/opcode.ts';
import type { Fn } from '../../ir/program.ts';
import { constructSsa } from '../../ssa/construct.ts';
import type { Pass, PassContext } from '../pass.ts';
import { countedLoop } from './counted-loop.ts';
import { unrollFully } from './unroll-full.ts';
import { groupsArePossible, unrollPartly } from './unroll-partly.ts';
import { type BottomTested, bottomTested, isRefusal, type Refusal } from './unroll-shape.ts';

/** Maximum number of nested loops unrolled one after another; deeper nests need another application. */
const MOST_ROUNDS = 16;
/** Defaults of UnrollFullInstLimit, UnrollUnknownCount and UnrollBudget in the original (reference passes-c). */
const MOST_FULL = 200;
const FACTOR = 4;
const PART_BUDGET = 140;
/**
 * Size of a function, in instructions, beyond which full unrolling stops, unless `full-size` says otherwise: at 450,000 a run takes 1.2
 * GB (`npm run bench -- --scale`). The original's own limit is not known.
 */
const FULL_SIZE = 400_000;
/** Knob 429 forces a factor of at most 2 to this power: 1,024 iterations at once. */
const MOST_FORCED = 10;

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
 * 2. In part (`unrollPartly`): a loop that counts towards a bound, by the factor `part-factor` of the binding. It is halved until the
 *    copies have at most `part-budget` instructions and their values fit both `max-pressure` and the registers that the SM gives a
 *    thread, less `slack`. All lanes must run the loop equally often; otherwise lanes that are done with the unrolled loop would wait
 *    while others run the remaining iterations. With `partial: false`, only if knob 429 is set: by 2 to the power of its value.
 *
 * Both need an innermost loop that control leaves only at its single latch (phase 18 puts most others into this form), without
 * operations between lanes. `.pragma "nounroll"` at the header, or at the function, is obeyed: no copies are made, and a loop that runs
 * once loses only the branch that is never taken. Partly unrolled loops get the pragma, which tells later phases and ptxas not to
 * unroll them again.
 *
 * Knobs: 437 off: nothing is unrolled; 897 off: no loop with several blocks; 429: factor of step 2; 91: headers of loops
 * that stay, by block id.
 *
 * Requires: control-last, phi-free; trip counts are those of the function in SSA. Guarantees: control-last,
 * loop-form. A second application changes nothing, except in nests deeper than 16.
 * Bound: linear in the output, for each level of nests that are unrolled in full; the output is bounded for each
 * loop.
 */
export const loopUnrolling: Pass = (fn, ctx) => {
  if (!isOn(ctx, 'Knob437')) return fn;
  if (!controlIsLast(fn) || fn.blocks.some((b) => b.ins.length > 0 && isPhi(b.ins[0]))) {
    ctx.remark(
      'missed',
      'form',
      'a control operation is in the middle of a block, or the function is in SSA',
    );
    return fn;
  }
  const { partial } = ctx.params;
  const full = (partial === false || partial === 0) && ctx.knob('Knob429') === null;
  let now = fn;
  for (let round = 1; ; round++) {
    const step = new Unroller(now, ctx);
    const out = step.inFull();
    if (out !== now && round < MOST_ROUNDS) {
      now = out;
      continue;
    }
    const second = full || out !== now ? null : new Unroller(now, ctx);
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

const isOn = (ctx: PassContext, knob: string): boolean => {
  const v = ctx.knob(knob);
  return v !== false && v !== 0;
};

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
  private readonly missed: (Refusal & { readonly block: number })[] = [];
  private ssa: { readonly counts: TripCounts; readonly loops: ReadonlyMap<number, number> } | null = null;

  constructor(fn: Fn, ctx: PassContext) {
    this.fn = fn;
    this.ctx = ctx;
    this.forest = loopsOf(fn);
    this.place = Int32Array.from(fn.blocks.keys());
    this.stays = new Set(fn.attrs.pragmas.filter((p) => forbids(p.text)).map((p) => p.block));
    this.allStay = fn.attrs.directives.some(forbids) || this.stays.has(fn.blocks[0].id);
    this.excepted = new Set(ctx.knob('Knob91') as readonly number[] | null);
  }

  /** Reports why loops were not unrolled. */
  reportMissed(): void {
    for (const { name, why, block } of this.missed)
      this.ctx.remark('missed', `not-unrolled-${name}`, `the loop at BB${block} is not unrolled: ${why}`, {
        block,
      });
  }

  inFull(): Fn {
    const most = Number(this.ctx.knob('UnrollFullInstLimit') ?? MOST_FULL);
    let room = Number(this.ctx.params['full-size'] ?? FULL_SIZE) - instructionsOf(this.fn);
    return this.each(true, 'unrolled', (loop, d, stays) => {
      const again = this.tripCount(loop);
      if (again === null || (stays && again > 0n)) return null;
      const rounds = `${again + 1n} ${again === 0n ? 'iteration' : 'iterations'} of ${loop.size} instructions`;
      if (again > 0n && (again + 1n) * BigInt(loop.size) > BigInt(most))
        return { name: 'size', why: `${rounds} are more than ${most}` };
      const copied = Number(again) * loop.size;
      if (copied > 0 && copied > room)
        return { name: 'function-size', why: `with ${rounds} the function would be too large` };
      return {
        what: again === 0n ? rounds : `${rounds}, one after the other`,
        apply: () => {
          room -= copied;
          unrollFully(d, loop, Number(again));
          // Left there, it would apply to a loop around the block, or to the whole function once the block is its entry.
          const block = d.id(loop.header);
          if (stays && !this.allStay)
            d.pragmas = d.pragmas.filter((p) => p.block !== block || !forbids(p.text));
        },
      };
    });
  }

  inPart(): Fn {
    const { fn, ctx } = this;
    return this.each(false, 'unrolled-partly', (loop, d, stays) => {
      if (stays) return null;
      const counted = countedLoop(d, loop);
      if (isRefusal(counted)) return counted;
      const wanted = this.factor(loop.size);
      if (wanted < 2)
        return { name: 'budget', why: `two iterations of ${loop.size} instructions are too many` };
      const { factor, fewer } = this.within(wanted, loop);
      if (factor < 2) return { name: 'pressure', why: fewer };
      if (!groupsArePossible(counted, factor))
        return {
          name: 'bound',
          why: 'its bound is so close to the end of the number range that a group of iterations would wrap',
        };
      if (mayWaitInLoops(fn)) return { name: 'waiting', why: 'lanes may wait for each other in a loop' };
      if (divergenceOf(fn).branch[loop.latch] >= Lanes.Varying)
        return { name: 'divergent', why: 'lanes of a warp may have different trip counts' };
      return {
        what: `${factor} iterations of ${loop.size} instructions at once${fewer === '' ? '' : `: ${fewer}`}`,
        apply: () => unrollPartly(d, loop, counted, factor, ctx.isa),
      };
    });
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
        const single = !isOn(ctx, 'Knob897');
        for (const { id, header } of forest.loops) {
          const block = fn.blocks[header].id;
          if (tangled.has(header) || this.excepted.has(block)) continue;
          const stays = this.allStay || this.stays.has(block);
          const loop = bottomTested(d, forest, id, pinned, this.place);
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
          found.apply();
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

  /** The unroll factor: forced, or that of the binding, halved until the copies fit its budget. */
  private factor(size: number): number {
    const { ctx } = this;
    const forced = ctx.knob('Knob429');
    if (forced !== null) return 2 ** Math.min(Number(forced), MOST_FORCED);
    let factor = Number(ctx.params['part-factor'] ?? FACTOR);
    while (factor > 1 && factor * size > Number(ctx.params['part-budget'] ?? PART_BUDGET))
      factor = Math.floor(factor / 2);
    return factor;
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

/** The unrolling chosen for a loop. */
interface Unrolling {
  readonly what: string;
  readonly apply: () => void;
}
