import { isPlainLoad, isValue } from '../../analysis/calls/effects.ts';
import { controlIsLast } from '../../analysis/flow/cfg.ts';
import { type LoopBody, loopBodyOf } from '../../analysis/loops/loop-dependences.ts';
import { loopsOf } from '../../analysis/loops/loops.ts';
import {
  type ModuloSchedule,
  moduloSchedule,
  registersOf,
  roundOrder,
  roundTime,
  stageOf,
} from '../../analysis/loops/modulo-schedule.ts';
import { mostRounds } from '../../analysis/loops/trip-bounds.ts';
import { tripCountsOf } from '../../analysis/loops/trip-count.ts';
import { storedElements } from '../../analysis/memory/loads-stores.ts';
import { isBarrier, isStrong } from '../../analysis/memory/memory-ops.ts';
import { liveInOf, livenessOf, Pool, poolOf, reads, unitsIn } from '../../analysis/registers/liveness.ts';
import type { Costs } from '../../analysis/schedule/costs.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { type BlockNo, edit, pinnedBlocks } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { Lanes, OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, RegFile, regFile } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { overlapRounds } from './overlap-rounds.ts';

/**
 * Phase 24, OriPipelining: the loads of an iteration start while the previous one still computes.
 *
 *     before                                      after
 *     BB1:                                        BB3:
 *           MOVPHI RD1, {BB0: RD9, BB1: RD2}            LDG.NC R3, [RD9]
 *           LDG.NC R3, [RD1]                            IADD3.64 RD4, RD9, 4
 *           (computes and stores with R3)               ISETP.NE.U64 P5, RD4, RD8
 *           IADD3.64 RD2, RD1, 4                  @!P5 BRA BB5
 *           ISETP.NE.U64 P4, RD2, RD8             BB4:
 *       @P4 BRA BB1                                     MOVPHI R6, {BB3: R3, BB4: R7}
 *     BB2:                                              MOVPHI RD10, {BB3: RD4, BB4: RD11}
 *                                                       (computes and stores with R6)
 *                                                       LDG.NC R7, [RD10]
 *                                                       IADD3.64 RD11, RD10, 4
 *                                                       ISETP.NE.U64 P12, RD11, RD8
 *                                                   @P12 BRA BB4
 *                                                 BB5:
 *                                                       MOVPHI R13, {BB3: R3, BB4: R7}
 *                                                       (computes and stores with R13)
 *                                                 BB2:
 *
 * Modulo scheduling (`moduloSchedule`) gives each instruction of a loop of one block a time within its iteration, for the shortest
 * interval between iterations that dependences and units allow with at most `stages` iterations under way; `overlapRounds` writes the
 * loop that follows from it. The test is always in the first stage, so exactly the iterations of the loop run, without a trip count
 * and without an access that would not have run. A register that a load writes gets no copy, because a copy would wait for the
 * load: it is read before the next load writes it, or the loop gets up to `copies` bodies that take turns.
 *
 * A loop stays, with a remark that says why, if it has several blocks (because it calls, or has several exits), synchronizes, or
 * accesses memory other than by plain loads and stores; if lanes may leave it at different times; if its test is not of a value that
 * advances by a constant, or it certainly runs fewer than `least-rounds` times; if a round is not faster by at least `least-gain`, or no
 * load starts earlier; if its values would take more than `max-pressure` registers; or if it is longer than `max-instructions`. ptxas
 * unrolls loops itself, which also brings loads of several iterations together, so by default only loops are taken that it must not
 * unroll any more (`nounroll`, which phase 22 also puts at loops that it has unrolled); OkToPipelineNoUnroll takes all.
 *
 * Requires: control-last, ssa. Guarantees: control-last, ssa. A second application changes nothing: a loop that already loads for its
 * next iteration stays, whoever wrote it.
 * Bound: for each loop of at most `max-instructions` the square of its accesses, and its dependences times its instructions for
 * each of a bounded number of intervals.
 */
export const pipelining: Pass = (fn, ctx) => {
  const { loops } = loopsOf(fn);
  if (loops.length === 0 || !controlIsLast(fn)) return fn;
  return edit(
    fn,
    (d) => {
      const pinned = pinnedBlocks(d);
      for (const { id, header, children } of loops) {
        if (children.length > 0) continue;
        const block = fn.blocks[header].id;
        const found = new Candidate(fn, ctx, id, pinned).plan();
        if ('why' in found) {
          ctx.remark('missed', `not-pipelined-${found.name}`, `the loop at BB${block}: ${found.why}`, {
            block,
          });
          continue;
        }
        if (!ctx.mayRewrite('pipelined', block)) return;
        const { body, schedule, what } = found;
        const kernel = overlapRounds(
          d,
          { block: header, body: body.instructions.map((_, i) => body.first + i) },
          schedule,
          ctx.isa,
        );
        d.pragmas = [...d.pragmas, { block: d.id(kernel), text: 'nounroll' }];
        ctx.remark('passed', 'pipelined', `the loop at BB${block}: ${what}`, { block });
      }
    },
    ctx.isa,
  );
};

interface Refusal {
  readonly name: string;
  readonly why: string;
}
interface Found {
  readonly body: LoopBody;
  readonly schedule: ModuloSchedule;
  readonly what: string;
}
const no = (name: string, why: string): Refusal => ({ name, why });

/** An innermost loop, and whether its iterations can overlap with profit. */
class Candidate {
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly loop: number;
  private readonly block: BlockNo;
  private readonly pinned: ReadonlySet<BlockNo>;

  constructor(fn: Fn, ctx: PassContext, loop: number, pinned: ReadonlySet<BlockNo>) {
    this.fn = fn;
    this.ctx = ctx;
    this.loop = loop;
    this.block = loopsOf(fn).loops[loop].header;
    this.pinned = pinned;
  }

  plan(): Found | Refusal {
    return this.form() ?? this.policy() ?? this.rounds() ?? this.schedule();
  }

  private number(name: string, otherwise: number): number {
    return Number(this.ctx.params[name] ?? otherwise);
  }

  /** Why the form of the loop rules out overlapping; null if it does not. */
  private form(): Refusal | null {
    const { fn, block } = this;
    const { size } = loopsOf(fn).loops[this.loop];
    if (size > 1) return no('blocks', `it has ${size} blocks`);
    if (this.pinned.has(block)) return no('blocks', 'a convergence label names it');
    const { ins } = fn.blocks[block];
    const end = ins[ins.length - 1];
    if (end.op.primitive !== 'branch' || end.guard === NO_REG || end.src[0].kind !== Kind.Label)
      return no('exit', 'it does not end in an exit test');
    const most = this.number('max-instructions', MOST_INSTRUCTIONS);
    if (ins.length > most) return no('size', `${ins.length} instructions are more than ${most}`);
    for (const x of ins) {
      const why = x === end ? null : (oddInstruction(x) ?? (isPhi(x) ? oddPhi(x, ins) : null));
      if (why !== null) return why;
    }
    return null;
  }

  /** Refuses a loop that ptxas may still unroll, unless the knob takes all. */
  private policy(): Refusal | null {
    const { attrs, blocks } = this.fn;
    if (Number(this.ctx.knob('OkToPipelineNoUnroll') ?? 0) !== 0) return null;
    const stays = [blocks[0].id, blocks[this.block].id];
    const isHeld =
      attrs.directives.some((x) => x.includes('nounroll')) ||
      attrs.pragmas.some((p) => p.text.includes('nounroll') && stays.includes(p.block));
    return isHeld ? null : no('unroll', 'ptxas may still unroll it');
  }

  /** Refuses a loop that runs too rarely, or not equally often for every lane. */
  private rounds(): Refusal | null {
    const { fn } = this;
    if (divergenceOf(fn).branch[this.block] >= Lanes.Varying)
      return no('divergent', 'lanes of a warp may have different trip counts');
    if (!this.counts()) return no('count', 'its exit test is not of a value that advances by a constant');
    const least = this.number('least-rounds', LEAST_ROUNDS);
    const most = mostRounds(fn, this.loop);
    return most < least ? no('short', `it runs at most ${most} times, not ${least}`) : null;
  }

  /** Does every operand of the test change by the same amount in each iteration, or not at all? */
  private counts(): boolean {
    const { fn, block, loop } = this;
    const { ins } = fn.blocks[block];
    const { evolutions } = tripCountsOf(fn);
    const { guard } = ins[ins.length - 1];
    const test = ins.find((x) => !isPhi(x) && x.dst.includes(guard));
    if (test === undefined) return false;
    let counts = true;
    reads(test, (r) => {
      if (evolutions.evolutionOf(loop, r) === null) counts = false;
    });
    return counts;
  }

  private schedule(): Found | Refusal {
    const { fn, ctx } = this;
    const times = {
      costs: ctx.fact('costs') as Costs,
      latencies: (ctx.fact('latencies') ?? {}) as Readonly<Record<string, number>>,
    };
    const stages = this.number('stages', 2);
    const body = loopBodyOf(fn, ctx.program.variables, this.loop, times, stages);
    const isLoad = (i: number): boolean => isPlainLoad(body.instructions[i]);
    const carried = new Set(body.carried.map((c) => c.next.reg));
    if (!body.instructions.some((_, i) => isLoad(i))) return no('loads', 'it loads nothing');
    if (body.instructions.some((x, i) => isLoad(i) && x.dst.some((r) => carried.has(r))))
      return no('pipelined', 'it loads for its next iteration already');

    const inTurn = [...body.instructions.keys()];
    const flat = moduloSchedule(body, times, { stages: 1, copies: 1 }, () => false, MOST_CYCLES);
    if (flat === null) return no('long', `an iteration takes more than ${MOST_CYCLES} cycles`);
    const alone = Math.min(
      roundTime(body, times, inTurn, () => 0),
      roundTime(body, times, roundOrder(flat), () => 0),
    );
    let best: { readonly s: ModuloSchedule; readonly time: number } | null = null;
    const gain = this.number('least-gain', LEAST_GAIN);
    for (let copies = 1; copies <= this.number('copies', 1); copies++) {
      const s = moduloSchedule(body, times, { stages, copies }, isLoad, flat.interval);
      if (s === null) continue;
      const time = roundTime(body, times, roundOrder(s), (i) => stageOf(s, i));
      if (time <= (best?.time ?? alone) * (1 - gain)) best = { s, time };
    }
    const cycles = Math.round(alone);
    if (best === null)
      return no('gain', `no other order takes notably less than ${cycles} cycles per iteration`);
    const { s, time } = best;
    const registers = registersOf(body, s) + this.around();
    const most = this.number('max-pressure', Number.POSITIVE_INFINITY);
    if (registers > most) return no('pressure', `${registers} registers are more than ${most}`);
    const rounds = s.copies > 1 ? ` in ${s.copies} bodies` : '';
    const what = `${s.stages} iterations at once${rounds}, about ${Math.round(time)} of ${cycles} cycles per iteration`;
    return { body, schedule: s, what };
  }

  /** Registers of values from outside that are live in the loop. */
  private around(): number {
    const { fn, block } = this;
    const phis = new Set(fn.blocks[block].ins.filter(isPhi).map((x) => x.dst[0]));
    let units = 0;
    for (const r of liveInOf(livenessOf(fn), block))
      if (poolOf(r) === Pool.R && !phis.has(r)) units += unitsIn(r);
    return units;
  }
}

const MOST_INSTRUCTIONS = 128;
const LEAST_ROUNDS = 8;
const LEAST_GAIN = 0.25;
/** Longer iterations are not scheduled: tables have an entry for each cycle. */
const MOST_CYCLES = 4096;

const UNIFORM: ReadonlySet<number> = new Set([RegFile.UR, RegFile.URD, RegFile.UP]);

/** The property of an instruction that prevents overlapping its iterations; null if there is none. */
function oddInstruction(x: Instr): Refusal | null {
  if (isBarrier(x) || (x.op.flags & OpFlag.Convergent) !== 0)
    return no('barrier', `lanes or threads wait for each other at ${x.op.name}`);
  if (isStrong(x)) return no('atomic', `other threads may observe ${x.op.name}`);
  const plain = isPhi(x) || isValue(x) || isPlainLoad(x) || storedElements(x) !== null;
  if (!plain) return no('effect', `${x.op.name} does more than compute, load or store`);
  const isUniform = [...x.dst, ...x.src.map((o) => o.reg)].some(
    (r) => r !== NO_REG && UNIFORM.has(regFile(r)),
  );
  return allInSsa(x) && !isUniform
    ? null
    : no('registers', `${x.op.name} uses registers that are not in SSA`);
}

/** Refuses a phi whose operand is another phi of the loop: a value from two iterations back. */
function oddPhi(x: Instr, all: readonly Instr[]): Refusal | null {
  const phis = new Set(all.filter(isPhi).map((p) => p.dst[0]));
  return x.src.some((o) => o.mods !== 0 || phis.has(o.reg))
    ? no('distance', 'it reads a value from more than one iteration back')
    : null;
}
